"""Pooling, emulated, against the CPU backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nnkit.backend.cpu import pooling as cpu
from nnkit.backend.cuda import failures, pooling
from tests.cuda.arrays import on_arrays
from tests.cuda.compare import BF, F4, F8, assert_same
from tests.cuda.emulation import emulated
from tests.cuda.marks import needs_compiler

pooling = on_arrays(pooling)

pytestmark = needs_compiler
# shape; kernel, stride, padding, dilation
WINDOWS: dict[str, Any] = {
    "1d": ((2, 3, 11), (3,), (2,), (1,), (1,)),
    "2d": ((2, 2, 7, 6), (3, 2), (2, 1), (1, 0), (1, 2)),
    "more planes than a thread takes": ((3, 3, 7, 6), (3, 2), (3, 2), (1, 1), (1, 1)),
    "3d": ((1, 2, 4, 5, 4), (2, 3, 2), (2, 2, 1), (0, 1, 1), (1, 1, 1)),
}


def numbers(shape: tuple, dtype: np.dtype = F4) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("ceil_mode", (False, True))
@pytest.mark.parametrize("name", WINDOWS)
def test_max_pool(name, ceil_mode):
    shape, *windows = WINDOWS[name]
    for dtype in (F4, F8, BF) if name == "2d" else (F4,):
        x = np.round(numbers(shape, F8) * 2).astype(dtype)  # many equal elements
        x.reshape(-1)[5] = np.nan
        assert_same(pooling.max_pool, cpu.max_pool, x, *windows, ceil_mode)
        given: Any = (x, *windows, ceil_mode)
        out, indices = cpu.max_pool(*given)
        g = numbers(out.shape, dtype)
        assert_same(pooling.max_pool_grad, cpu.max_pool_grad, g, indices, shape)
        assert_same(pooling.max_pool_gather, cpu.max_pool_gather, x, indices)


@pytest.mark.parametrize("include", (False, True))
@pytest.mark.parametrize("name", WINDOWS)
def test_avg_pool(name, include):
    shape, *windows = WINDOWS[name]
    kernel, stride, padding = windows[:3]
    for divisor, ceil_mode in ((None, False), (None, True), (3, False)):
        x = numbers(shape)
        statics = (kernel, stride, padding, ceil_mode, include, divisor)
        assert_same(pooling.avg_pool, cpu.avg_pool, x, *statics)
        g = numbers(cpu.avg_pool(x, *statics).shape)
        assert_same(pooling.avg_pool_grad, cpu.avg_pool_grad, g, shape, *statics)


@pytest.mark.parametrize(
    "shape, size", (((2, 3, 7), (3,)), ((1, 2, 7, 5), (3, 5)), ((2, 2, 6, 4), (1, 1)),
                    ((1, 1, 3, 4, 5), (2, 7, 4))), ids=str,
)  # fmt: skip
def test_adaptive(shape, size):
    x = numbers(shape)
    assert_same(pooling.adaptive_max_pool, cpu.adaptive_max_pool, x, size)
    assert_same(pooling.adaptive_avg_pool, cpu.adaptive_avg_pool, x, size)
    g = numbers((*shape[:2], *size))
    assert_same(pooling.adaptive_avg_pool_grad, cpu.adaptive_avg_pool_grad, g, shape)


def test_fractional():
    samples = np.random.default_rng(1).random((2, 3, 2)).astype(F4)
    given = (numbers((2, 3, 9, 8)), samples, (2, 3), (4, 3))
    assert_same(pooling.fractional_max_pool, cpu.fractional_max_pool, *given)


def test_unpool():
    x = numbers((2, 3, 2, 2))
    indices = np.random.default_rng(1).permutation(24).reshape(x.shape) % 9
    assert_same(pooling.max_unpool, cpu.max_unpool, x, indices, (2, 3, 3, 3))
    indices[1, 2, 1, 1] = 9
    with emulated():
        pooling.max_unpool(x, indices, (2, 3, 3, 3))
    with pytest.raises(RuntimeError, match="invalid max index: 9"):
        failures.check()
