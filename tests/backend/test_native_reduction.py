"""The compiled reductions against their twins in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from ml_dtypes import bfloat16

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import (
    FLOATS,
    LAYOUTS,
    close,
    compare,
    needs_native,
    numbers,
    served,
)

pytestmark = needs_native

# What is combined inside a row, in folded short rows, over several tiles, over several tasks.
SHAPES = ((), (1,), (70,), (5, 3), (3, 130), (700, 3), (300, 40), (2, 3, 17), (4, 5, 1, 49))
LARGE = ((70_000,), (300, 1100), (40_000, 2), (3, 500, 70))
INTEGERS = tuple(np.dtype(d) for d in ("int64", "int32", "uint8"))
TOLERANCES = {"float32": 1e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 1.6e-2}


def near_one(shape: tuple, dtype: np.dtype, edges: bool) -> np.ndarray:
    """Factors whose products neither overflow nor vanish on the way, in whatever order."""
    return (1 + 0.01 * numbers(shape)).astype(dtype)


def arrays(
    dtypes: tuple, edges: bool = False, make: Callable[..., np.ndarray] = numbers
) -> Iterator[np.ndarray]:
    for dtype in dtypes:
        for shape in SHAPES:
            for layout in LAYOUTS.values():
                yield layout(make(shape, dtype, edges))
        for shape in LARGE:
            yield make(shape, dtype, edges)
            yield LAYOUTS["permuted"](make(shape, dtype, edges))


def axes_of(x: np.ndarray) -> list:
    every = range(x.ndim)
    return [None, *every] + [axes for k in every for axes in combinations(every, k + 1)]


def along_axes(*before: object, dtypes: tuple = FLOATS, edges: bool = False) -> Iterator[tuple]:
    for x in arrays(dtypes, edges):
        for i, axis in enumerate(axes_of(x)):
            yield (x, *before, axis, bool(i % 2))


def products() -> Iterator[tuple]:
    for x in arrays(FLOATS, make=near_one):
        if x.size < 10_000:
            yield from ((x, axis, False) for axis in axes_of(x))


def spreads() -> Iterator[tuple]:
    for x in arrays(FLOATS):
        for i, axis in enumerate(axes_of(x)):
            yield (x, axis, i % 2, i % 3 == 0)


def positions(with_all: bool) -> Iterator[tuple]:
    for x in (*arrays(FLOATS, True), *arrays(INTEGERS)):
        for i, axis in enumerate([None, *range(x.ndim)] if with_all else range(x.ndim)):
            yield (x, axis, bool(i % 2))


def targets() -> Iterator[tuple]:
    for x in arrays((*FLOATS, *INTEGERS)):
        shape = x.shape
        for i in range(x.ndim):
            yield x, shape[i:]
            yield x, (*shape[:i], 1, *shape[i + 1 :])
        yield x, ()


def norms() -> Iterator[tuple]:
    yield from along_axes(2)
    for p in (1, math.inf, -math.inf):
        yield from along_axes(p, dtypes=FLOATS[:2])


def with_nans() -> Iterator[tuple]:
    for x, *rest in along_axes():
        third = np.arange(x.size).reshape(x.shape) % 3 == 1
        yield (np.where(third, np.nan, x).astype(x.dtype), *rest)


def truths() -> Iterator[tuple]:
    for density in (0.0, 0.5, 1.0):
        for dtype in (np.dtype("bool"), np.dtype("float32")):
            for shape in (*SHAPES, (0,), (3, 0, 2), (70_000,)):
                for layout in LAYOUTS.values():
                    x = layout((numbers(shape) < 9) if density == 1.0 else numbers(shape, "bool"))
                    x = (x & (density > 0)).astype(dtype)
                    for i, axis in enumerate([None, *axes_of(x)[1:]]):
                        yield x, axis, bool(i % 2)


SUMMED = partial(along_axes, dtypes=(*FLOATS, *INTEGERS))
COMPARED = partial(along_axes, dtypes=(*FLOATS, *INTEGERS), edges=True)
CASES = {
    "sum": SUMMED, "nansum": with_nans, "mean": along_axes, "prod": products, "norm": norms,
    "sum_to": targets,
    "amax": COMPARED, "amin": COMPARED, "var": spreads, "std": spreads, "var_mean": spreads,
    "std_mean": spreads,
    "max": partial(positions, False), "min": partial(positions, False),
    "logsumexp": along_axes, "all": truths, "any": truths,
    "argmax": partial(positions, True), "argmin": partial(positions, True),
}  # fmt: skip
EXACT = {"all", "any", "amax", "amin", "max", "min", "argmax", "argmin"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        x = arguments[0]
        tolerance = 0.0
        if name not in EXACT and x.dtype.kind not in "iu":
            relative = TOLERANCES[x.dtype.newbyteorder("=").name]
            # Sums of terms of both signs are as inexact as the sum of their sizes.
            scale = float(np.sqrt(x.size)) if name in ("sum", "nansum", "sum_to") else 1.0
            # A product of n numbers is off by up to n roundings of the type it is computed in.
            eps = 2.0**-53 if x.dtype.itemsize == 8 else 2.0**-24
            products = x.size * eps if name == "prod" else 0.0
            tolerance = close(4 * relative + products, 4 * relative * scale)
        compare(getattr(B, name), *arguments, tolerance=tolerance, same_order=False)


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype("int64")])
def test_are_served(dtype: np.dtype) -> None:
    x = numbers((6, 7), dtype)
    for layout in (x, x.T, x[::-1], x[:, ::2]):
        assert served(B.sum, layout, (0,), False)
        assert served(B.amax, layout, None, False)
        assert served(B.max, layout, 1, True)
        assert served(B.sum_to, layout, (1, layout.shape[1]))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_sums(dtype: type) -> None:
    for shape in ((), (6,), (5, 3), (700, 3), (2, 3, 17), (300, 1100)):
        x = np.asarray(numbers(shape, dtype))
        for layout in [x, x.T, x[::2]] if shape else [x]:
            size = 20 * np.finfo(dtype).eps * np.sqrt(x.size) * (np.abs(x).max() + 1)
            for axis in axes_of(layout):
                for kernel in (B.sum, B.mean):
                    assert served(kernel, layout, axis, True)
                    compare(kernel, layout, axis, False, tolerance=size, same_order=False)
            for i in range(layout.ndim):
                target = (*layout.shape[:i], 1, *layout.shape[i + 1 :])
                assert layout.shape[i] == 1 or served(B.sum_to, layout, target)
                compare(B.sum_to, layout, target, tolerance=size, same_order=False)


POWERS = (0.0, 0.7, 1.0, 2.0, 3.0, math.inf)
ROWS = ((5, 4, 3), (2, 1, 1), (40, 30, 16), (9, 300, 21), (20, 20, 130))


@pytest.mark.parametrize("p", POWERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances(dtype: str, p: float) -> None:
    """Of rows shorter than a vector too, from one matrix to several, and their gradients."""
    relative = 20 * np.finfo(dtype).eps
    rng = np.random.default_rng(0)

    def make(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(dtype)

    def check(kernel: Callable, *arguments: object) -> None:
        if p or not kernel.__name__.endswith("_grad"):
            assert served(kernel, *arguments)
        size = max(float(np.abs(x).max()) for x in arguments if isinstance(x, np.ndarray))
        compare(kernel, *arguments, tolerance=close(relative, 300 * relative * (1 + size)))

    for n, m, d in ROWS:
        for x, y in (
            (make(n, d), make(m, d)), (make(3, n, d), make(m, d)), (make(n, d), make(2, 1, m, d)),
            (make(2, n, d), make(2, m, d)), (make(d, n).T, make(m, 2 * d)[:, ::2]),
        ):  # fmt: skip
            check(B.cdist, x, y, p)
            out = B.cdist(x, y, p)
            check(B.cdist_grad, make(*out.shape), x, y, out, p)
        x = make(n, d)
        check(B.pdist, x, p)
        pairs = B.pdist(x, p)
        check(B.pdist_grad, make(*pairs.shape), x, pairs, p)
        upper = np.triu_indices(n, 1)
        np.testing.assert_array_equal(B.cdist(x, x, p)[upper], pairs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_sums_are_exact_like_pairwise_ones(dtype: str, axis: int) -> None:
    rng = np.random.default_rng(0)
    x = rng.random((1_000_000, 2) if axis == 0 else (2, 1_000_000)).astype(dtype)
    exact = [math.fsum(row) for row in (x.T if axis == 0 else x)]
    errors = np.abs(B.sum(x, (axis,), False).astype(np.longdouble) - exact)
    assert errors.max() <= 2 * np.finfo(dtype).eps * max(exact)


def test_variance_of_numbers_far_from_zero() -> None:
    x = (np.random.default_rng(0).standard_normal((50, 2000)) + 1e4).astype(np.float32)
    exact = x.astype(np.float64).var(1)
    np.testing.assert_allclose(B.var(x, (1,), 0, False), exact, rtol=1e-4)
    np.testing.assert_allclose(B.var(x.T, (0,), 0, False), exact, rtol=1e-4)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [np.float32, bfloat16])
def test_the_first_nan_and_the_first_of_equals_win(name: str, dtype: type) -> None:
    x = np.zeros((3, 3000), dtype)
    x[1, [1500, 2900]] = np.nan
    x[2] = 1.0
    assert getattr(B, name)(x, 1, False).tolist() == [0, 1500, 0]
    assert getattr(B, name)(np.ascontiguousarray(x.T), 0, False).tolist() == [0, 1500, 0]
