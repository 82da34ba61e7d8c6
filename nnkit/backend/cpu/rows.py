"""Maxima and sums along one axis, by whichever of NumPy's ways is fastest for the shape, and the
loop that walks a large array in blocks whose temporaries stay in the cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.cpu.summation import large_sum

BLOCK = 1 << 16  # elements of a block
SMALL = 1024  # elements up to which NumPy's plain reductions are fastest
SHORT = 32  # a NumPy reduction pays 30 ns a row, so shorter ones are transposed first

_maximum: Any = np.maximum.reduce
_add: Any = np.add.reduce


def max_along(x: np.ndarray, axis: int) -> np.ndarray:
    """The maximum along ``axis``, which is kept with length 1."""
    last = axis == -1 or axis == x.ndim - 1
    if x.size >= SMALL and last and x.shape[-1] <= SHORT:
        shape = (*x.shape[:-1], 1)
        return _maximum(x.reshape(-1, x.shape[-1]).T.copy(), 0).reshape(shape)
    return _maximum(x, axis, keepdims=True)


def sum_along(x: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """The sum along one or several axes, which are kept with length 1."""
    return large_sum(x, axis, True) if x.size >= SMALL else _add(x, axis, keepdims=True)


def by_blocks(kernel: Callable[..., None], axis: int, out: np.ndarray, *arrays: np.ndarray) -> None:
    """Call ``kernel(*arrays, axis, out)``, which treats each slice along ``axis`` by itself, on
    blocks of the other dimensions."""
    last = axis == -1 or axis == out.ndim - 1
    if out.size <= BLOCK or out.ndim < 2 or not (last or axis > 0):
        kernel(*arrays, axis, out)
        return
    if last and out.ndim > 2:
        arrays = tuple(a.reshape(-1, a.shape[-1]) for a in arrays)
        out = out.reshape(-1, out.shape[-1])
        axis = 1
    step = max(1, BLOCK * len(out) // out.size)
    for start in range(0, len(out), step):
        block = slice(start, start + step)
        kernel(*(a[block] for a in arrays), axis, out[block])
