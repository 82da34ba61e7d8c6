"""The compiled Fourier transforms against their twins in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import LAYOUTS, compare, needs_native, served

pytestmark = needs_native

REAL = (np.dtype(np.float32), np.dtype(np.float64))
# Each factor alone and with others; lengths that are matrices where lines are few, or always; in
# the last row those of a prime so large that NumPy transforms them.
LENGTHS = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 15, 16, 30, 49, 61, 64, 91, 100, 122, 128, 210, 243),
    *(256, 360, 510, 768, 1000, 1024, 2046, 2048, 2304, 2310, 3721, 4096, 6144, 16000),
    *(67, 134, 1009),
)


def is_smooth(n: int) -> bool:
    for factor in range(2, 62):
        while n % factor == 0:
            n //= factor
    return n == 1


def random(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def to_complex(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"c{2 * dtype.itemsize}")


def within(dtype: np.dtype) -> Any:
    """What the roundings of the passes leave, of the largest number (NumPy's twin computes single
    precision in double)."""
    return lambda want: 3 * np.finfo(dtype).eps * np.abs(want).max(initial=0)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n: int, dtype: np.dtype) -> None:
    """A single line, some, more than a register has lanes; along the last axis and another one."""
    for shape, axis in (((n,), 0), ((3, n), 1), ((19, n), 1), ((n, 5), 0), ((2, n, 19), 1)):
        x, real = random(shape, to_complex(dtype)), random(shape, dtype)
        for inverse in (False, True):
            assert served(B.fft_c2c, x, (axis,), 0.5, inverse) == is_smooth(n)
            compare(B.fft_c2c, x, (axis,), 0.5, inverse, tolerance=within(dtype))
        for onesided in (True, False):
            assert served(B.fft_r2c, real, (axis,), 0.5, onesided) == (is_smooth(n) and n > 1)
            compare(B.fft_r2c, real, (axis,), 0.5, onesided, tolerance=within(dtype))
        if n > 1 and x.ndim < 3:
            half = random((*shape[:axis], n // 2 + 1, *shape[axis + 1 :]), to_complex(dtype))
            assert served(B.fft_c2r, half, (axis,), 0.5, n) == (is_smooth(n) and n > 1)
            compare(B.fft_c2r, half, (axis,), 0.5, n, tolerance=within(dtype))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_axes_and_layouts(dtype: np.dtype, layout: str) -> None:
    """Several axes in any order; the axes of the result lie in memory as the twin's do."""
    x = LAYOUTS[layout](random((4, 6, 10), to_complex(dtype)))
    real = LAYOUTS[layout](random((4, 6, 10), dtype))
    for axes in ((0,), (1,), (0, 1), (2, 0), (1, 2), (2, 0, 1), (0, 1, 2)):
        compare(B.fft_c2c, x, axes, 2.0, True, tolerance=within(dtype))
        compare(B.fft_r2c, real, axes, 2.0, True, tolerance=within(dtype))
        size = 2 * (x.shape[axes[-1]] - 1)
        compare(B.fft_c2r, x, axes, 2.0, size, tolerance=within(dtype))


def test_what_is_no_number_stays_in_its_line() -> None:
    x = random((16, 64), np.dtype("c8"))
    x[3, 5] = np.nan
    x[7, 0] = np.inf
    found = B.fft_c2c(x, (1,), 1.0, False)
    assert (np.isfinite(found).all(1) == np.isfinite(x).all(1)).all()


def test_more_lengths_than_are_kept() -> None:
    for n in (2**20, 2**20, 3 * 2**18, 2**19, 5 * 2**17):
        x = random((n,), np.dtype("c8"))
        wanted = np.fft.fft(x)
        found = B.fft_c2c(x, (0,), 1.0, False)
        assert np.abs(found - wanted).max() <= within(np.dtype(np.float32))(wanted)


def test_nothing_to_transform() -> None:
    empty = np.zeros((0, 8), "c8")
    assert not served(B.fft_c2c, empty, (1,), 1.0, False)
    assert not served(B.fft_c2c, random((8,), np.dtype("c8")), (), 1.0, False)
    assert B.fft_c2c(empty, (1,), 1.0, False).shape == (0, 8)
