"""What programs ask about casting, and functions that note it."""

from __future__ import annotations

from types import ModuleType

import pytest


def test_the_state_of_casting(lib: ModuleType) -> None:
    assert not lib.is_autocast_enabled() and not lib.is_autocast_enabled("cpu")
    assert lib.get_autocast_dtype("cpu") is lib.bfloat16
    assert lib.get_autocast_dtype("cuda") is lib.float16
    assert lib.amp.is_autocast_available("cpu")
    assert lib.is_autocast_cache_enabled()
    lib.set_autocast_cache_enabled(False)
    assert not lib.is_autocast_cache_enabled()
    lib.set_autocast_cache_enabled(True)
    lib.set_autocast_dtype("cpu", lib.float16)
    assert lib.get_autocast_dtype("cpu") is lib.float16
    lib.set_autocast_dtype("cpu", lib.bfloat16)
    lib.set_autocast_enabled("cpu", False)
    for ask in (lib.get_autocast_dtype, lib.amp.is_autocast_available, lib.is_autocast_enabled):
        with pytest.raises(RuntimeError):
            ask("nowhere")
    with pytest.raises(RuntimeError):
        lib.is_autocast_enabled("meta")


def test_custom_functions(lib: ModuleType) -> None:
    class Twice(lib.autograd.Function):
        @staticmethod
        @lib.amp.custom_fwd(device_type="cpu", cast_inputs=lib.float16)
        def forward(ctx, x):
            assert ctx._dtype is lib.bfloat16 and not ctx._fwd_used_autocast
            return x * 2

        @staticmethod
        @lib.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            return g * 2

    x = lib.ones(2, requires_grad=True)
    Twice.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and Twice.apply(x).dtype is lib.float32
    for decorate in (lib.amp.custom_fwd, lib.amp.custom_bwd):
        with pytest.raises(ValueError, match="device_type"):
            decorate(device_type=0)
