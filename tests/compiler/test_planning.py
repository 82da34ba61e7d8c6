"""The memory of a compiled step: an arena of its own, and results that lie elsewhere."""

from __future__ import annotations

from typing import Any

import nnkit
from nnkit import Tensor, nn, optim
from nnkit.backend.cpu import BACKEND
from nnkit.backend.program.lifetimes import Lifetimes
from nnkit.nn import functional as F
from tests.backend.native_cases import needs_native
from tests.compiler.test_programs import bits, state


def program_of(step: Any) -> Any:
    """What runs the program of a compiled step."""
    return step.last.run.__globals__["run"]


@needs_native
def test_what_is_made_and_freed_lies_over_what_was_there_before() -> None:
    def chain(x: Tensor) -> Tensor:
        for _ in range(10):
            x = x.cumsum(0)
        return x

    step = nnkit.compile(chain)
    x = nnkit.randn(128, 256)
    for _ in range(4):
        step(x)
    assert program_of(step).bytes == 2 * x.nbytes
    assert len(step.program().calls) == 11


def test_small_steps_are_as_they_are() -> None:
    step = nnkit.compile(lambda x: x.cumsum(0) * 2)
    for _ in range(4):
        step(nnkit.ones(3, 4))
    assert not hasattr(program_of(step), "bytes")


def training(compiled: bool) -> tuple[list, list[Tensor], Any]:
    """Losses and states of a step that keeps results of all runs, and whose batches differ."""
    nnkit.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 16, 3), nn.Dropout(0.1), nn.Flatten(), nn.Linear(16 * 36, 10),
    )  # fmt: skip
    optimizer = optim.Adam(model.parameters())

    def step(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        return loss, out.detach()

    run = nnkit.compile(step) if compiled else step
    seen, kept = [], []
    for i in range(12):
        batch = 24 if i % 4 == 3 else 32
        loss, out = run(nnkit.randn(batch, 2, 16, 16), nnkit.randint(0, 10, (batch,)))
        kept += [loss, out, model[0].weight.grad]
        seen.append((bits(loss), state([model, optimizer])))
    return seen, kept, run


def test_results_of_all_runs_are_the_eager_ones() -> None:
    eager, known, _ = training(compiled=False)
    found, kept, step = training(compiled=True)
    assert eager == found
    assert bits(known) == bits(kept)  # those of earlier runs too, at the end
    if BACKEND.plan is not None:
        program = step.program()
        assert 0 < program_of(step).bytes < 1.5 * Lifetimes(program).peak()


def test_a_model_whose_backward_is_outside() -> None:
    def trained(compiled: bool) -> list:
        nnkit.manual_seed(0)
        model: Any = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256))
        called = nnkit.compile(model) if compiled else model
        outputs = [called(nnkit.randn(64, 64)) for _ in range(6)]
        for out in reversed(outputs):  # what a forward saves outlives it
            out.square().sum().backward()
        return [bits(outputs), state([model])]

    assert trained(False) == trained(True)
