"""Weights that stay packed: outputs are the eager module's, whatever becomes of the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nnkit
from nnkit import Tensor, nn, optim
from nnkit.backend.cpu import BACKEND
from tests.compiler.test_planning import program_of
from tests.compiler.test_programs import bits

FREEZING = {"freezing": True}


class Recurrent(nn.Module):
    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.layers = kind(16, 32, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)[0]


MODELS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "linear layers": (
        lambda: nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 96), nn.GELU()),
        (8, 64),
    ),
    "convolutions": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1),
            nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, 2), nn.ConvTranspose2d(32, 16, 2, 2),
        ),
        (2, 3, 20, 20),
    ),
    "an LSTM": (lambda: Recurrent(nn.LSTM), (5, 4, 16)),
    "a GRU": (lambda: Recurrent(nn.GRU), (5, 4, 16)),
    "an RNN": (lambda: Recurrent(nn.RNN), (5, 4, 16)),
    "attention": (
        lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True),
        (3, 7, 32),
    ),
}  # fmt: skip


def doubled(model: Any) -> None:
    with nnkit.no_grad():
        for p in model.parameters():
            p.mul_(2)


def trained(model: Any) -> None:
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for p in model.parameters():
        p.grad = nnkit.ones_like(p)
    optimizer.step()


def loaded(model: Any) -> None:
    model.load_state_dict({k: v * 0.5 for k, v in model.state_dict().items()})


def replaced(model: Any) -> None:
    for p in model.parameters():
        p.data = p.data * 3


@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_the_eager_ones(name: str) -> None:
    make, shape = MODELS[name]
    nnkit.manual_seed(0)
    model = make().eval()
    compiled = nnkit.compile(model, options=FREEZING)
    for change in (None, doubled, trained, loaded, replaced, doubled):
        if change is not None:
            change(model)
        for _ in range(4):
            x = nnkit.randn(*shape)
            with nnkit.no_grad():
                assert bits(compiled(x)) == bits(model(x)), change


def step_of(model: Any) -> Any:
    def step(x: Tensor) -> Tensor:
        with nnkit.no_grad():
            return model(x)

    compiled = nnkit.compile(step, options=FREEZING)
    for _ in range(4):
        compiled(nnkit.randn(4, 8, 6, 6))
    return compiled


def test_a_program_that_writes_memory_from_outside_is_not_frozen() -> None:
    def layers(training: bool) -> Any:
        return nn.Sequential(nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16)).train(training)

    frozen = program_of(step_of(layers(False)))
    assert BACKEND.freeze is None or type(frozen).__name__ == "Frozen"
    assert type(program_of(step_of(layers(True)))).__name__ != "Frozen"


def test_weights_whose_writes_nobody_counts_are_not_frozen() -> None:
    with nnkit.inference_mode():
        model = nn.Conv2d(8, 16, 3)
    step = step_of(model)
    x = nnkit.randn(4, 8, 6, 6)
    before = bits(step(x))
    with nnkit.inference_mode():
        model.weight.mul_(2)
    assert bits(step(x)) != before


def test_what_trains_has_the_bits_of_the_eager_step() -> None:
    def losses(compiled: bool) -> list:
        nnkit.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 8))
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

        def step(x: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        called = nnkit.compile(model, options=FREEZING) if compiled else model
        run = nnkit.compile(step, options=FREEZING) if compiled else step
        seen = [bits(run(nnkit.randn(8, 64))) for _ in range(6)]
        for _ in range(6):  # a forward and a backward of the module's own
            optimizer.zero_grad()
            out = called(nnkit.randn(8, 64))
            out.square().mean().backward()
            optimizer.step()
            seen.append(bits(out.detach()))
        return seen

    assert losses(False) == losses(True)
