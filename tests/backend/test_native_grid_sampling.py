"""The compiled reading of images at the places of a grid against its twin."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from nnkit.backend.cpu import BACKEND as B
from tests.backend.native_cases import FLOATS, LAYOUTS, compare, needs_native, numbers, served

pytestmark = needs_native
# The image's shape, and the grid's.
SHAPES = (
    ((2, 3, 5, 4), (2, 3, 6, 2)),
    ((1, 9, 1, 7), (1, 1, 70, 2)),
    ((3, 1, 1, 1), (3, 2, 2, 2)),
    ((2, 2, 3, 4, 5), (2, 2, 3, 4, 3)),
    ((1, 17, 2, 1, 3), (1, 1, 1, 5, 3)),
    ((0, 2, 3, 3), (0, 2, 2, 2)),
)
MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def _images() -> Iterator[tuple]:
    """Image, grid, mode, padding, aligned."""
    kinds = product(SHAPES, MODES, PADDINGS, (False, True))
    for i, ((shape, places), mode, padding, aligned) in enumerate(kinds):
        if mode == "bicubic" and len(shape) == 5:
            continue
        dtype = FLOATS[i % 2]
        grid = numbers(places, dtype)  # a third of it lies outside
        yield numbers(shape, dtype), grid, mode, padding, aligned
    for layout in LAYOUTS.values():
        x, grid = numbers((2, 3, 5, 4)), numbers((2, 3, 6, 2))
        yield layout(x), layout(grid), "bilinear", "zeros", False
    for odd in (np.nan, np.inf, -1e30, 3e9):
        grid = numbers((2, 3, 6, 2)) * np.float32(0.3)
        grid[0, 1, 2, 0] = grid[1, 0, 0, 1] = odd
        for mode, padding in product(MODES, PADDINGS):
            yield numbers((2, 3, 5, 4)), grid, mode, padding, False


def _gradients() -> Iterator[tuple]:
    for x, grid, *rest in _images():
        shape = (*x.shape[:2], *grid.shape[1:-1])
        yield numbers(shape, x.dtype), x, grid, rest


CASES = {
    "grid_sample": _images,
    "grid_sample_grad_input": lambda: (
        (g, grid, x.shape, *rest) for g, x, grid, rest in _gradients()
    ),
    "grid_sample_grad_grid": lambda: ((g, x, grid, *rest) for g, x, grid, rest in _gradients()),
}


def _tolerance(want: np.ndarray) -> float:
    finite = np.abs(want[np.isfinite(want)].astype(np.float64))
    return (1e-5 if want.dtype == np.float32 else 1e-13) * max(1.0, finite.max(initial=0))


@pytest.mark.filterwarnings("ignore:invalid value|overflow")
@pytest.mark.parametrize("name", CASES)
def test_equals_twin(name: str) -> None:
    for arguments in CASES[name]():
        with np.errstate(all="ignore"):
            compare(getattr(B, name), *arguments, tolerance=_tolerance, same_order=False)


@pytest.mark.parametrize("name", CASES)
def test_is_served(name: str) -> None:
    for arguments in CASES[name]():
        assert served(getattr(B, name), *arguments)


def test_halves_are_computed_in_float32() -> None:
    for dtype in FLOATS[2:]:
        x, grid = numbers((2, 3, 5, 4), dtype), numbers((2, 3, 6, 2), dtype)
        wide = [a.astype(np.float32) for a in (x, grid)]
        found = B.grid_sample(x, grid, "bilinear", "zeros", False)
        wanted = B.grid_sample(*wide, "bilinear", "zeros", False).astype(dtype)
        assert found.dtype == dtype and (found == wanted).all()
