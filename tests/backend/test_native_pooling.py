"""The compiled pools against their twins."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import close, compare, needs_native, numbers, served

pytestmark = needs_native
FLOATS = (np.dtype("float32"), np.dtype("float64"))
SPACES = ((9,), (33,), (9, 8), (12, 12), (5, 40), (5, 6, 7), (4, 4, 20))
# Kernel, stride, padding, dilation.
WINDOWS = (
    (2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 1), (3, 3, 0, 1), (2, 1, 0, 2), (3, 1, 1, 2),
    (1, 1, 0, 1), (4, 5, 2, 1), (5, 2, 2, 1),
)  # fmt: skip
SIZES = (1, 2, 3, 5, 7)
LARGE = (8, 64, 40, 40)  # several pieces of work


def _images() -> Iterator[np.ndarray]:
    """Images with equal elements, with infinities and NaN, and without."""
    for space, dtype in product(SPACES, FLOATS):
        x = numbers((2, 3, *space), dtype)
        yield x
        yield np.round(x)
        yield numbers((2, 3, *space), dtype, edges=True)
    yield numbers(LARGE)


def _statics(x: np.ndarray) -> Iterator[tuple]:
    """Kernel, stride, padding, dilation and ceil_mode that fit an image."""
    axes = x.ndim - 2
    for (k, *rest), ceil in product(WINDOWS, (False, True)):
        stride, padding, dilation = rest
        if all(n + 2 * padding > dilation * (k - 1) for n in x.shape[2:]):
            yield *((n,) * axes for n in (k, stride, padding, dilation)), ceil


def _max_pool() -> Iterator[tuple]:
    for x in _images():
        for statics in _statics(x):
            yield x, *statics


def _adaptive() -> Iterator[tuple]:
    for x, size in product(_images(), SIZES):
        yield x, (size,) * (x.ndim - 2)


def _fractional() -> Iterator[tuple]:
    """Also with samples from the ends of [0, 1), and with windows that fill the image."""
    random = np.random.default_rng(0)
    for x, k, count in product(_images(), (1, 2, 4), SIZES):
        axes = x.ndim - 2
        size = tuple([min(count, n - k + 1) for n in x.shape[2:]])
        samples = random.random((*x.shape[:2], axes))
        samples[0, 0], samples[0, 1] = 0, 1 - 2.0**-24
        yield x, samples.astype(x.dtype), (k,) * axes, size


def _max_pool_grad() -> Iterator[tuple]:
    for x, *statics in _max_pool():
        indices = B.max_pool.twin(x, *statics)[1]
        yield numbers(indices.shape, x.dtype), indices, x.shape


def _max_pool_gather() -> Iterator[tuple]:
    for x, *statics in _max_pool():
        yield x, B.max_pool.twin(x, *statics)[1]


def _avg_pool() -> Iterator[tuple]:
    for x in (numbers((2, 3, *space), dtype) for space, dtype in product(SPACES, FLOATS)):
        for *statics, dilation, ceil in _statics(x):
            if max(dilation) == 1:
                for include, divisor in ((True, None), (False, None), (True, 5)):
                    yield x, *statics, ceil, include, divisor
    yield numbers(LARGE), (3, 3), (2, 2), (1, 1), False, True, None


def _avg_pool_grad() -> Iterator[tuple]:
    for x, *statics in _avg_pool():
        yield numbers(B.avg_pool.twin(x, *statics).shape, x.dtype), x.shape, *statics


def _adaptive_avg_pool_grad() -> Iterator[tuple]:
    for x, size in _adaptive():
        yield numbers((*x.shape[:2], *size), x.dtype), x.shape


CASES = {
    "max_pool": _max_pool,
    "max_pool_grad": _max_pool_grad,
    "max_pool_gather": _max_pool_gather,
    "adaptive_max_pool": _adaptive,
    "fractional_max_pool": _fractional,
    "avg_pool": _avg_pool,
    "avg_pool_grad": _avg_pool_grad,
    "adaptive_avg_pool": _adaptive,
    "adaptive_avg_pool_grad": _adaptive_avg_pool_grad,
}


@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        if name == "adaptive_avg_pool" and not np.abs(arguments[0]).max() < 100:
            continue  # the mean of huge numbers of both signs is whatever its order gives
        single = arguments[0].dtype == np.float32
        tolerance = close(1e-5, 1e-5) if single else close(1e-13, 1e-13)
        compare(getattr(B, name), *arguments, tolerance=tolerance)


@pytest.mark.parametrize("name", CASES)
def test_is_served(name: str) -> None:
    assert all(served(getattr(B, name), *arguments) for arguments in CASES[name]())


def test_indices_outside_are_the_twins() -> None:
    g, indices = numbers((1, 1, 2)), np.array([[[0, 9]]])
    assert not served(B.max_pool_grad, g, indices, (1, 1, 4))
    assert B.max_pool_grad(g, indices, (1, 1, 4)).tolist() == [[[g[0, 0, 0], 0, 0, 0]]]
    assert not served(B.max_pool_gather, numbers((1, 1, 4)), indices)
    assert B.max_pool_gather(numbers((1, 1, 4)), indices)[0, 0, 1] == 0


def test_windows_that_step_over_the_input() -> None:
    for dtype, lowest in ((np.float32, -np.inf), (np.int64, np.iinfo(np.int64).min)):
        x = np.ones((1, 1, 2, 1), dtype)
        out, index = B.max_pool(x, (1, 2), (1, 2), (0, 1), (1, 2), False)
        assert out.tolist() == [[[[lowest], [lowest]]]]
        assert index.tolist() == [[[[1], [2]]]]  # torch's: of the first place behind the input
        assert B.max_pool_grad(x, index, (1, 1, 2, 1)).tolist() == [[[[0], [1]]]]
