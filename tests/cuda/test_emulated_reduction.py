"""Reductions and running totals, emulated, against the CPU backend."""

from __future__ import annotations

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as cpu
from nnkit.backend.cuda import reduction
from tests.cuda.arrays import on_arrays
from tests.cuda.compare import F2, F4, F8, assert_same
from tests.cuda.marks import needs_compiler

reduction = on_arrays(reduction)

pytestmark = needs_compiler
# Rows for a warp, for a block, in parts; columns, many and few; strided, and with no elements.
# In packs: columns, rows of several pieces; rows that begin at odd places.
SHAPES = (((7, 300), None), ((5, 6, 7), (0, 2)), ((5, 6, 7), 1), ((2, 20000), 1), ((3, 20000), 0),
          ((20000, 2), 0), ((), None), ((0, 3), 0), ((300, 64), 0), ((40, 3, 640), (0, 2)),
          ((5, 2001), 1))  # fmt: skip
LAYOUTS = {"C": lambda x: x, "turned": lambda x: x[::-1, ..., ::-1].T if x.ndim > 1 else x}


def numbers(shape: tuple, dtype: np.dtype = F4) -> np.ndarray:
    return np.asarray(np.random.default_rng(0).standard_normal(shape) * 2 + 1).astype(dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape, axis", SHAPES, ids=str)
def test_sums(shape, axis, layout):
    x = LAYOUTS[layout](numbers(shape))
    for keepdims in (False, True):
        for name in ("sum", "mean"):
            given = (x, axis, keepdims)
            assert_same(getattr(reduction, name), getattr(cpu, name), *given, tolerance=1e-4)
    if x.size:
        assert_same(reduction.var_mean, cpu.var_mean, x, axis, 1, False, tolerance=1e-4)
        assert_same(reduction.logsumexp, cpu.logsumexp, x, axis, False, tolerance=1e-4)
        assert_same(reduction.amax, cpu.amax, x, axis, False)
        if not isinstance(axis, tuple):
            assert_same(reduction.argmin, cpu.argmin, x, axis, False)


@pytest.mark.parametrize("dtype", (F8, F2, np.dtype(np.int64), np.dtype(np.bool_)), ids=str)
def test_dtypes(dtype):
    x = numbers((32, 48), dtype)
    for axis in (0, 1):
        for name in ("sum", "prod", "any", "all"):
            given = x // 3 if dtype == F2 or name == "prod" else x
            assert_same(getattr(reduction, name), getattr(cpu, name), given, axis, False)
    assert_same(reduction.max, cpu.max, x, 0, True)
    assert_same(reduction.cumsum, cpu.cumsum, x, 1)
    if dtype.kind == "f":
        assert_same(reduction.std, cpu.std, x, 1, 0, False)


def test_not_finite():
    x = np.array([[1, np.nan, 2, np.nan], [np.inf, 1, np.inf, -np.inf], [-np.inf] * 4], F4)
    for axis in (0, 1):
        for name in ("max", "min", "logsumexp", "any"):
            assert_same(getattr(reduction, name), getattr(cpu, name), x, axis, False)
        for name in ("cummax", "cummin", "logcumsumexp"):
            assert_same(getattr(reduction, name), getattr(cpu, name), x, axis)


@pytest.mark.parametrize("dtype", (F4, np.dtype(np.int32), np.dtype(np.bool_)), ids=str)
def test_extremes_of_nothing_but_the_least_and_the_largest(dtype):
    values = {"f": (-np.inf, np.inf), "i": (-(2**31), 2**31 - 1), "b": (False, True)}
    for value in values[dtype.kind]:
        x = np.full((3, 40), value).astype(dtype)
        for axis in (0, 1):
            for name in ("max", "min", "argmax", "argmin"):
                assert_same(getattr(reduction, name), getattr(cpu, name), x, axis, False)


@pytest.mark.parametrize("p", (0, 1, 2, 3.5, np.inf, -np.inf))
def test_norms(p):
    assert_same(reduction.norm, cpu.norm, numbers((4, 50)), p, (1,), True, tolerance=1e-4)


@pytest.mark.parametrize(
    "shape, axis", (((3, 700), 1), ((3, 700), 0), ((701,), 0), ((2, 2500), 1), ((), 0))
)
def test_running(shape, axis):
    x = numbers(shape)
    for name in ("cumsum", "cummax", "cummin", "logcumsumexp"):
        assert_same(getattr(reduction, name), getattr(cpu, name), x, axis, tolerance=1e-4)
    assert_same(reduction.cumprod, cpu.cumprod, np.asarray(np.abs(x) ** 0.01), axis, tolerance=1e-3)
    if shape:
        given = (np.tanh(x), numbers(shape), axis)
        assert_same(reduction.recurrence, cpu.recurrence, *given, tolerance=1e-4)


@pytest.mark.parametrize("dtype", (F4, F2, np.dtype(np.bool_)), ids=str)
def test_running_where_rows_begin_and_end_within_loads(dtype):
    x = numbers((3, 2061), F8)
    x = (x > 1 if dtype == np.bool_ else x / 64).astype(dtype)
    for given in (x, x.reshape(-1)[1:2061].reshape(4, -1), x[:, :13].copy()):
        assert_same(reduction.cumsum, cpu.cumsum, given, 1, tolerance=1e-3)
        assert_same(reduction.cummax, cpu.cummax, given, 1)


def test_same_bits_in_every_run():
    from tests.cuda.emulation import emulated

    x = numbers((2, 20000))
    with emulated() as machine:
        first = reduction.sum(x, 1, False)
        machine.processors = 100
        assert first.tobytes() == reduction.sum(x, 1, False).tobytes()
