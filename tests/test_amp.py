"""The gradient scaler does torch's arithmetic."""

from __future__ import annotations

import math
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises


def scaler(lib: ModuleType, **options: Any) -> Any:
    return import_module(f"{lib.__name__}.amp").GradScaler("cpu", **options)


def test_scales_skips_and_adapts(lib: ModuleType) -> None:
    w = lib.ones(2, requires_grad=True)
    optimizer, s = lib.optim.SGD([w], lr=0.1), scaler(lib, growth_interval=2, init_scale=8.0)
    seen = []
    for step in range(5):
        optimizer.zero_grad()
        s.scale([w.sum() * 2])[0].backward()
        assert w.grad.tolist() == [2 * s.get_scale()] * 2
        if step == 1:
            w.grad[0] = float("inf")
        if step == 2:
            s.unscale_(optimizer)
            assert w.grad.tolist() == [2, 2]
        s.step(optimizer)
        s.update()
        seen += [s.get_scale(), w[0].item()]
    assert seen == pytest.approx([8, 0.8, 4, 0.8, 4, 0.6, 8, 0.4, 8, 0.2])
    state = s.state_dict()
    assert state["scale"] == 8 and state["_growth_tracker"] == 1
    other = scaler(lib)
    other.load_state_dict(state)
    assert other.state_dict() == state
    other.scale(lib.ones(1))
    other.update(2.0)
    assert other.get_scale() == 2
    for name, value in (("growth_factor", 3.0), ("backoff_factor", 0.25), ("growth_interval", 7)):
        getattr(other, f"set_{name}")(value)
        assert getattr(other, f"get_{name}")() == other.state_dict()[name] == value


@pytest.mark.parametrize("start, factor", [(2.0**126, 2.0), (1000.0, 1.3)])
def test_the_scale_is_a_float32_that_does_not_grow_to_infinity(
    lib: ModuleType, start: float, factor: float
) -> None:
    w = lib.zeros(1, requires_grad=True)
    optimizer = lib.optim.SGD([w], lr=0.1)
    scaler = lib.amp.GradScaler("cpu", start, factor, growth_interval=1)
    expected = np.float32(start)
    for _ in range(4):
        optimizer.zero_grad()
        scaler.scale((w * 1e-3).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        with np.errstate(over="ignore"):
            grown = np.float32(float(expected) * factor)
        expected = grown if np.isfinite(grown) else expected
        assert scaler.get_scale() == expected
    assert w.item() == pytest.approx(-4e-4)


def test_disabled(lib: ModuleType) -> None:
    w = lib.ones(1, requires_grad=True)
    optimizer, s = lib.optim.SGD([w], lr=0.1), scaler(lib, enabled=False)
    s.scale(w.sum()).backward()
    s.unscale_(optimizer)
    s.step(optimizer)
    s.update()
    assert w.item() == pytest.approx(0.9)
    assert s.get_scale() == 1 and s.state_dict() == {} and not s.is_enabled()
    with lib.autocast("cpu", enabled=False):
        assert lib.ones(1, 1).mm(lib.ones(1, 1)).dtype is lib.float32

    @lib.autocast("cpu", enabled=False)
    def run() -> int:
        return 3

    assert run() == 3


def test_without_a_gpu(lib: ModuleType) -> None:
    if lib.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.warns(UserWarning):
        assert not lib.amp.GradScaler().is_enabled()
    with pytest.warns(UserWarning), lib.autocast("cuda"):
        assert lib.ones(1, 1).mm(lib.ones(1, 1)).dtype is lib.float32
    if lib is nnkit:
        amp = import_module("nnkit.cuda.amp")
        with pytest.warns(FutureWarning, match="'cuda'"):
            assert not amp.GradScaler(enabled=False).is_enabled()
        with pytest.warns(FutureWarning, match="'cuda'"), amp.autocast(enabled=False):
            pass


def test_refuses(lib: ModuleType) -> None:
    optimizer, s = lib.optim.SGD([lib.ones(1, requires_grad=True)]), scaler(lib)
    optimizer.param_groups[0]["params"][0].grad = lib.ones(1)
    with raises(lib, AssertionError, "growth_factor must be > 1"):
        scaler(lib, growth_factor=0.5)
    with raises(lib, AssertionError, "backoff_factor must be < 1"):
        scaler(lib, backoff_factor=2.0)
    s.scale(lib.ones(1))
    s.unscale_(optimizer)
    with raises(lib, RuntimeError, "already been called"):
        s.unscale_(optimizer)
    with raises(lib, RuntimeError, "no closure"):
        s.step(optimizer, closure=None)
    s.step(optimizer)
    with raises(lib, RuntimeError, "already been called since"):
        s.step(optimizer)
    with raises(lib, RuntimeError, "state dict is empty"):
        s.load_state_dict({})
    if lib is nnkit:
        used = scaler(lib)
        used.scale(lib.ones(1))
        with pytest.raises(AssertionError, match="No inf checks"):
            used.update()


def test_capsules(lib: ModuleType) -> None:
    dlpack, x = import_module(f"{lib.__name__}.utils.dlpack"), lib.ones(2, 3)
    y = dlpack.from_dlpack(dlpack.to_dlpack(x))
    y[0, 0] = 5
    assert x[0, 0].item() == 5
    assert dlpack.from_dlpack(x.numpy()).shape == (2, 3)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_optimizers_that_unscale_themselves(lib: ModuleType) -> None:
    class Own(lib.optim.SGD):
        def __init__(self, params: Any) -> None:
            super().__init__(params, lr=1.0)
            self._step_supports_amp_scaling = True

    class Told(Own):
        def step(self, closure: Any = None) -> Any:
            seen.append((self.grad_scale.item(), self.found_inf.item()))

    class Given(Own):
        def step(self, closure: Any = None, *, grad_scaler: Any = None) -> Any:
            grad_scaler.unscale_(self)
            seen.append(grad_scaler.get_scale())

    seen: list = []
    for factor in (1.0, math.inf):
        for kind in (Told, Given):
            w = lib.ones(1, requires_grad=True)
            s = scaler(lib, init_scale=4.0)
            s.scale(w.sum() * factor).backward()
            optimizer = kind([w])
            s.step(optimizer)
            assert not hasattr(optimizer, "grad_scale")
            s.update()
            seen.append(s.get_scale())
    assert seen == [(4.0, 0.0), 4.0, 4.0, 4.0, (4.0, 1.0), 2.0, 4.0, 2.0]


def test_gradients_of_half_precision(lib: ModuleType) -> None:
    """They are no gradients of the parameters of mixed precision, unless a scaler allows them."""

    class Allowing(lib.amp.GradScaler):
        def _unscale_grads_(
            self, optimizer: Any, inv_scale: Any, found_inf: Any, allow_fp16: bool
        ) -> Any:
            seen.append((inv_scale.item(), found_inf.item(), allow_fp16))
            return super()._unscale_grads_(optimizer, inv_scale, found_inf, True)

        def _maybe_opt_step(self, optimizer: Any, optimizer_state: Any, *args: Any) -> Any:
            found = optimizer_state["found_inf_per_device"]
            seen.append([value.item() for value in found.values()])
            return super()._maybe_opt_step(optimizer, optimizer_state, *args)

    seen: list = []
    w = lib.ones(2, dtype=lib.float16, requires_grad=True)
    for kind in (lib.amp.GradScaler, Allowing):
        optimizer, s = lib.optim.SGD([w], lr=0.5), kind("cpu", init_scale=4.0)
        s.scale(w.sum()).backward()
        if kind is not Allowing:
            with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
                s.step(optimizer)
            optimizer.zero_grad()
            continue
        s.step(optimizer)
    assert w.tolist() == [0.5, 0.5] and seen == [(0.25, 0.0, False), [0.0]]


def test_sparse_gradients_and_none(lib: ModuleType) -> None:
    weight = lib.ones(4, 2, requires_grad=True)
    optimizer, s = lib.optim.SGD([weight], lr=1.0), scaler(lib, init_scale=4.0)
    for factor, expected in ((1.0, -1.0), (math.inf, -1.0)):
        row = lib.nn.functional.embedding(lib.tensor([1, 1]), weight, sparse=True)
        s.scale(row.sum() * factor).backward()
        s.step(optimizer)
        s.update()
        optimizer.zero_grad()
        assert weight.tolist() == [[1.0, 1.0], [expected] * 2, [1.0, 1.0], [1.0, 1.0]]
    assert s.get_scale() == 2.0
    s.scale(lib.ones(1))
    with raises(lib, AssertionError, "No inf checks were recorded for this optimizer"):
        s.step(optimizer)
