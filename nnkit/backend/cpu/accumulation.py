"""Flat positions of what an index names, and adding to them, repeated ones included.

Everything here is deterministic: repeated positions are added in their order, in double precision
where `numpy.bincount` does it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.dtype import HALF
from nnkit.backend.index import ALL

Array = np.ndarray


def check_bounds(index: Array, size: int, axis: int, error: type[Exception] = RuntimeError) -> None:
    """Refuse an index that is negative or not below ``size``."""
    if not index.size:
        return
    low, high = index.min(), index.max()
    if low < 0 or high >= size:
        bad = int(low if low < 0 else high)
        raise error(f"index {bad} is out of bounds for dimension {axis} with size {size}")


def positions(shape: tuple[int, ...], index: Array, axis: int) -> Array:
    """The flat positions of the elements of a ``shape`` that ``index`` names along ``axis``."""
    check_bounds(index, shape[axis] if shape else 1, axis)
    if not shape:
        return index.astype(np.intp)
    stride = 1
    out: Any = 0
    for d in range(len(shape) - 1, -1, -1):
        if d == axis:
            out = out + index * np.intp(stride)
        elif index.shape[d] > 1:
            steps = np.arange(index.shape[d]) * stride
            out = out + steps.reshape((-1,) + (1,) * (len(shape) - d - 1))
        stride *= shape[d]
    return out


def wrap_index(index: Array, size: int) -> Array:
    """A flat index with its negative elements counted from the end; IndexError outside."""
    if index.size and (index.min() < -size or index.max() >= size):
        bad = int(index.min() if index.min() < -size else index.max())
        raise IndexError(
            f"out of range: tried to access index {bad} on a tensor of {size} elements"
        )
    return np.where(index < 0, index + size, index)


def whole_slices(index: Array, axis: int, shape: tuple[int, ...]) -> Array:
    """A 1-dim index as the index of whole slices, for kernels that take one for each element."""
    return np.broadcast_to(index.reshape((-1,) + (1,) * (len(shape) - axis - 1)), shape)


def add_at(out: Array, places: Array, values: Array) -> None:
    """``out[places[i]] += values[i]`` for flat arrays, repeated places included."""
    if out.dtype in HALF:
        wide = out.astype(np.float32)
        add_at(wide, places, values.astype(np.float32))
        out[...] = wide
    elif out.dtype.kind == "f" and 4 * places.size > out.size:
        # Measured: five times as fast as ufunc.at where the output is not much larger.
        out += np.bincount(places, values, out.size).astype(out.dtype, copy=False)
    elif out.dtype.kind == "b":
        np.logical_or.at(out, places, values)
    else:
        np.add.at(out, places, values)


def add_in_order(out: Array, places: Any, values: Array) -> None:
    """`add_at`, of which each sum is one of the dtype of ``out``: torch rounds half precision after
    each of these additions."""
    (np.add.at if out.dtype in HALF else add_at)(out, places, values)


def add_slices(out: Array, index: Array, source: Array, axis: int) -> None:
    """``out[..., index[i], ...] += source[..., i, ...]`` along ``axis``, repeated indices included.

    First occurrences are added at once, then second ones, and so on: each time the indices are
    distinct, so whole slices move at the speed of memory. With short slices and an index that
    repeats very often, `add_at` wins.
    """
    if out.dtype in HALF:
        wide = out.astype(np.float32)
        add_slices(wide, index, source.astype(np.float32), axis)
        out[...] = wide
        return
    count = index.size
    lead = (ALL,) * axis
    # Sorting a short index costs less than counters for each row of a long table.
    few = out.shape[axis] > 64 * count
    repeats = np.unique(index, return_counts=True)[1] if few else np.bincount(index)
    rounds = int(repeats.max()) if count else 0
    if rounds <= 1:
        out[(*lead, index)] += source
    elif 700 * rounds > source.size:  # measured: 4 us a round, 6 ns an element
        target = np.ascontiguousarray(out)
        places = positions(out.shape, whole_slices(index, axis, source.shape), axis)
        add_at(target.reshape(-1), places.reshape(-1), source.reshape(-1))
        if target is not out:
            out[...] = target
    else:
        order = np.argsort(index, kind="stable")
        ordered = index[order]
        new = np.ones(count, bool)
        new[1:] = ordered[1:] != ordered[:-1]
        here = np.arange(count)
        rank = here - np.maximum.accumulate(np.where(new, here, 0))
        by_rank = order[np.argsort(rank, kind="stable")]
        for chosen in np.split(by_rank, np.cumsum(np.bincount(rank))[:-1]):
            out[(*lead, index[chosen])] += source[(*lead, chosen)]
