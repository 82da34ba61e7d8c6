"""A compiled module is the module, with programs behind its call."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import pytest

import nnkit
from nnkit import Tensor, nn, optim
from nnkit.compiler.module import OptimizedModule
from nnkit.nn import functional as F
from nnkit.nn.modules.module import register_module_forward_hook
from tests.compiler.programs import features, mlp
from tests.compiler.test_programs import bits, state


def net() -> nn.Sequential:
    return mlp(nn.BatchNorm1d(16), nn.Dropout(0.2))


def train(model: Any, holder: nn.Module, steps: int = 12) -> list:
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    seen = []
    for i in range(steps):
        x, y = features(i)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if i % 4 == 3:
            model.eval()
            with nnkit.no_grad():
                seen.append(bits(model(x)))
            with nnkit.inference_mode():
                seen.append(bits(model(x).argmax(1)))
            model.train()
        seen.append((bits(loss), state([holder, optimizer])))
    return seen


def in_place(model: nn.Module) -> nn.Module:
    model.compile()
    return model


@pytest.mark.parametrize("compile_", [nnkit.compile, in_place])
def test_training_has_the_eager_bits(compile_: Any) -> None:
    nnkit.manual_seed(0)
    model = net()
    expected = train(model, model)
    nnkit.manual_seed(0)
    model = net()
    assert train(compile_(model), model) == expected


def test_it_is_replayed() -> None:
    model = nnkit.compile(net())
    train(model, model)
    assert "dropout" in str(model._compiled.program()) or "linear" in str(model.program())
    runs = [e for entries in model._compiled.entries.values() for e in entries if e.run]
    assert len(runs) == 3  # training, evaluation, inference
    assert sum(e.backward is not None for e in runs) == 1


def test_state_and_attributes_are_the_modules() -> None:
    model = net()
    compiled = nnkit.compile(model)
    assert isinstance(compiled, OptimizedModule)
    assert compiled._orig_mod is model
    assert list(compiled.state_dict()) == [f"_orig_mod.{k}" for k in model.state_dict()]
    assert [n for n, _ in compiled.named_parameters()] == [
        f"_orig_mod.{n}" for n, _ in model.named_parameters()
    ]
    compiled.load_state_dict(compiled.state_dict())
    assert compiled[0] is model[0] and len(compiled) == len(model)  # type: ignore[index,arg-type]
    compiled.eval()
    assert not model.training and not compiled.training
    model.train()
    assert compiled.training
    compiled.extra = 3
    assert model.extra == 3
    del compiled.extra
    with pytest.raises(AttributeError):
        _ = compiled.extra
    assert "extra_repr" in dir(compiled)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_compiled_anew(copied: Any) -> None:
    model = nnkit.compile(net().eval())
    x, _ = features(0)
    for _ in range(3):
        expected = model(x)
    other = copied(model)
    assert isinstance(other, OptimizedModule)
    assert other._orig_mod is not model._orig_mod
    for _ in range(4):
        assert nnkit.equal(other(x), expected)
    plain = net().eval()
    plain.compile()
    again = copied(plain)
    assert again._compiled_call_impl is None
    assert nnkit.equal(again(x), plain(x))


def test_hooks_registered_later_run() -> None:
    before: Any = None
    model = nn.Linear(3, 2)
    compiled = nnkit.compile(model)
    x = nnkit.ones(1, 3)
    for _ in range(3):
        before = compiled(x)
    with model.register_forward_hook(lambda m, args, out: out * 2):
        for _ in range(3):
            assert nnkit.equal(compiled(x), before * 2)
    assert nnkit.equal(compiled(x), before)
    with register_module_forward_hook(lambda m, args, out: out + 1):
        assert nnkit.equal(model(x), before + 1)
        calls = compiled(x)
    assert nnkit.equal(calls, before + 2)  # of the module, and of the compiled one


def test_a_frozen_module_and_a_thawed_one() -> None:
    model = nn.Linear(3, 2).requires_grad_(False)
    compiled = nnkit.compile(model)
    for wants in (False, True, False, True):
        model.requires_grad_(wants)
        for _ in range(3):
            assert compiled(nnkit.ones(1, 3)).requires_grad is wants


def test_loaded_weights_are_used() -> None:
    model, other = nn.Linear(3, 2), nn.Linear(3, 2)
    compiled = nnkit.compile(model)
    x = nnkit.ones(1, 3)
    for _ in range(3):
        compiled(x)
    model.load_state_dict(other.state_dict())
    assert nnkit.equal(compiled(x), other(x))
    third = nn.Linear(3, 2)
    model.load_state_dict(third.state_dict(), assign=True)
    assert nnkit.equal(compiled(x), third(x))
    model.double()
    assert compiled(x.double()).dtype is nnkit.float64


def test_several_outputs_and_gradients_of_some() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(3, 2), nn.Linear(3, 2)

        def forward(self, x):
            return {"a": self.a(x).exp(), "b": self.b(x).tanh(), "x": x, "n": 3}

    model = Two()
    compiled = nnkit.compile(model)
    for i in range(6):
        x = nnkit.randn(4, 3)
        model.zero_grad()
        expected, found = model(x), compiled(x)
        assert found["x"] is x and found["n"] == 3
        names = ("a", "b") if i % 2 else ("a",)
        nnkit.stack([expected[n].sum() for n in names]).sum().backward()
        grads = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        nnkit.stack([found[n].sum() for n in names]).sum().backward()
        for p, g in zip(model.parameters(), grads, strict=True):
            assert (p.grad is None or not p.grad.any()) if g is None else nnkit.equal(p.grad, g)


class Halves(NamedTuple):
    low: Tensor
    high: Tensor


class Halving(nn.Module):
    def forward(self, x: Tensor) -> Halves:
        return Halves(x.clamp(max=0.0), x.clamp(min=0.0))


def test_named_tuples_may_be_made_and_returned() -> None:
    module = Halving()
    compiled = nnkit.compile(module, fullgraph=True)
    for _ in range(4):
        x: Any = nnkit.randn(3, requires_grad=True)
        found, expected = compiled(x), module(x)
        assert type(found) is Halves
        for one, other in zip(found, expected, strict=True):
            assert nnkit.equal(one, other)
        (found.low * 2 + found.high).sum().backward()
        assert nnkit.equal(x.grad, nnkit.where(x < 0, 2.0, 1.0))
