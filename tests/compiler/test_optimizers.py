"""Updates in a program: what is changed in an optimizer between two replays counts."""

from __future__ import annotations

import copy
import gc
from typing import Any

import pytest

import nnkit
from nnkit import Tensor, nn, optim
from nnkit.nn import functional as F
from tests.compiler.programs import features, mlp
from tests.compiler.test_programs import bits, state

MAKE = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: optim.Adam(p, lr=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.1),
}


def rate(optimizer: Any, model: Any) -> None:
    optimizer.param_groups[0]["lr"] *= 0.5


def decay(optimizer: Any, model: Any) -> None:
    optimizer.param_groups[0]["weight_decay"] = 0.1


def maximize(optimizer: Any, model: Any) -> None:
    optimizer.param_groups[0]["maximize"] = True


def load(optimizer: Any, model: Any) -> None:
    saved = copy.deepcopy(optimizer.state_dict())
    for entries in saved["state"].values():
        for value in entries.values():
            value.add_(0.5)
    optimizer.load_state_dict(saved)


def forget(optimizer: Any, model: Any) -> None:
    optimizer.state.clear()


def replace(optimizer: Any, model: Any) -> None:
    entries = optimizer.state[model[0].weight]
    for name, value in entries.items():
        entries[name] = value + 1


def hook(optimizer: Any, model: Any) -> None:
    def shrink(optimizer, args, kwargs):
        for p in model.parameters():
            p.grad.mul_(0.5)

    optimizer.register_step_pre_hook(shrink)


def group(optimizer: Any, model: Any) -> None:
    optimizer.add_param_group({"params": [nnkit.ones(3, requires_grad=True)], "lr": 3.0})


def freeze(optimizer: Any, model: Any) -> None:
    model[0].requires_grad_(False)


def tensor_rate(optimizer: Any, model: Any) -> None:
    optimizer.param_groups[0]["lr"] = nnkit.tensor(0.25)


CHANGES = [rate, decay, maximize, load, forget, replace, hook, group, freeze, tensor_rate]


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_a_change_between_two_replays(name: str, change: Any) -> None:
    seen = []
    for compiled in (False, True):
        nnkit.manual_seed(0)
        model = mlp()
        optimizer = MAKE[name](model.parameters())

        def step(x, y, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        called: Any = nnkit.compile(step) if compiled else step
        found = []
        for i in range(12):
            if i == 6:
                change(optimizer, model)
            found.append((bits(called(*features(i))), state([model, optimizer])))
        seen.append(found)
        if compiled:
            assert called.program()
    assert seen[0] == seen[1]


def test_an_update_is_a_call_of_the_program() -> None:
    model = mlp()
    optimizer = optim.AdamW(model.parameters())

    @nnkit.compile
    def step(x, y):
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()

    for i in range(4):
        step(*features(i))
    assert "\nadam([" in str(step.program())
    assert "AdamW.step" not in str(step.program())


def test_a_subclass_is_called() -> None:
    class Half(optim.SGD):
        def update_group(self, group: dict, params: list) -> None:
            super().update_group({**group, "lr": group["lr"] / 2}, params)

    w = nnkit.ones(2, requires_grad=True)
    optimizer = Half([w], lr=1.0)

    @nnkit.compile
    def step():
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()

    for i in range(6):
        optimizer.param_groups[0]["lr"] = 1.0 + i
        before = w.detach().clone()
        step()
        assert nnkit.equal(w.detach(), before - (1.0 + i) / 2)
    assert "Half.step" in str(step.program())


@pytest.mark.parametrize(("name", "runs"), [("sgd", 3), ("adam", 2), ("adamw", 2)])
def test_the_first_run_counts_where_it_made_the_calls_of_the_next(name: str, runs: int) -> None:
    model = mlp()
    optimizer = MAKE[name](model.parameters())

    @nnkit.compile
    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    for i in range(runs):
        with pytest.raises(RuntimeError, match="has no program"):
            step.program()
        step(*features(i))
        gc.collect()  # which puts objects into another order
    assert "\nzeros" not in str(step.program())


def test_gradients_that_a_step_drops_first_are_gone_while_it_is_replayed() -> None:
    table = nn.Embedding(64, 128)
    optimizer = optim.Adam(table.parameters())

    @nnkit.compile
    def step(places: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = table(places).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    places = nnkit.tensor([1, 2, 3])
    for _ in range(4):
        step(places)
    step.program()
    assert table.weight.grad is not None
    with pytest.raises(IndexError):
        step(nnkit.tensor([1, 2, 64]))
    assert table.weight.grad is None  # as eagerly
    step(places)
    assert table.weight.grad is not None


def test_a_gradient_that_is_put_back_is_not_dropped() -> None:
    layer = nn.Linear(128, 128)
    layer(nnkit.ones(1, 128)).sum().backward()

    @nnkit.compile
    def step(x: Tensor) -> Tensor:
        before = layer.weight.grad
        layer.weight.grad = None
        y = layer(x).sum()
        layer.weight.grad = before
        return y

    before = layer.weight.grad
    for _ in range(4):
        step(nnkit.ones(1, 128))
        assert layer.weight.grad is before
    step.program()
