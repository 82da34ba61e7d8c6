"""Pooling over 1, 2 or 3 spatial axes, layout (N, C, *spatial).

Every pool is taken along one axis after the other, the last one first. A table of positions
(output, tap) says where along its axis each window reads; regular, adaptive and fractional pools
differ in nothing but that table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from nnkit.backend.dtype import HALF

Array = np.ndarray
Ints = tuple[int, ...]


BLOCK = 1 << 16  # elements of the input at a time: the temporaries then stay in the cache

# What a tap of a window reads along an axis, for all outputs: a slice where the positions are
# evenly spaced, and the positions themselves.
Tap = tuple[slice | Array, Array]


def _count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> int:
    """How many windows lie along an axis; with ``ceil`` one may run over the end of it."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    count = -(-span // stride) + 1 if ceil else span // stride + 1
    # A window may run over the end, but not start in the padding behind it.
    return count - 1 if ceil and (count - 1) * stride >= size + padding else count


def _taps(table: Array) -> list[Tap]:
    """The columns of a table of positions (output, tap)."""
    taps = []
    for positions in table.T:
        steps = np.diff(positions)
        step = int(steps[0]) if steps.size else 1
        if step > 0 and (steps == step).all() and positions.size:
            taps.append((slice(int(positions[0]), int(positions[-1]) + 1, step), positions))
        else:
            taps.append((positions, positions))
    return taps


@lru_cache(256)
def _regular(
    size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool
) -> list[Tap]:
    """The taps of a regular pool. A place in the padding is replaced by the nearest one of its
    window inside the input: reading an element twice does not change which is the largest."""
    count = _count(size, kernel, stride, padding, dilation, ceil)
    start = np.arange(count)[:, None] * stride - padding
    first = np.maximum(0, -(start // dilation))
    last = (size - 1 - start) // dilation
    return _taps(start + dilation * np.clip(np.arange(kernel), first, last))


def _bounds(size: int, count: int) -> tuple[Array, Array]:
    """Where the windows of an adaptive pool start and end."""
    index = np.arange(count)
    return index * size // count, -(-(index + 1) * size // count)


@lru_cache(256)
def _adaptive(size: int, count: int) -> list[Tap]:
    start, end = _bounds(size, count)
    longest = int((end - start).max(initial=1))
    return _taps(np.minimum(start[:, None] + np.arange(longest), end[:, None] - 1))


def _take(x: Array, where: slice | Array, axis: int) -> Array:
    if isinstance(where, slice):
        return x[(..., where, *_after(axis))]
    return x.take(where, axis)


def _after(axis: int) -> tuple[slice, ...]:
    """What follows index ``axis`` (negative) when an array is indexed from its end."""
    return (slice(None),) * (-1 - axis)


def _largest(
    x: Array, axes: Sequence[list[Tap]], larger: Callable, dtype: type
) -> tuple[Array, Array]:
    """The largest element of each window and its index in the flat plane of the input."""
    out, index, stride = x, None, 1
    for axis in range(-1, -1 - len(axes), -1):
        best = where = None
        for places, positions in axes[axis]:
            values = _take(out, places, axis)
            at = (positions * stride).astype(dtype).reshape(-1, *(1,) * (-1 - axis))
            if index is not None:
                at = _take(index, places, axis) + at
            if best is None:
                best, where = values, at
            else:
                where = np.where(larger(values, best), at, where)
                best = np.maximum(best, values)
        stride *= x.shape[axis]
        out, index = best, where
    return out, index


def _larger_or_nan(values: Array, best: Array) -> Array:
    return (values > best) | (values != values)


def _max_pool(x: Array, axes: Sequence[list[Tap]]) -> tuple[Array, Array]:
    shape = x.shape[:2] + tuple(len(taps[0][1]) for taps in axes)
    out, index = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    planes = x.reshape(-1, *x.shape[2:])
    outs, indices = out.reshape(-1, *shape[2:]), index.reshape(-1, *shape[2:])
    plane = math.prod(x.shape[2:])
    small = np.int16 if plane < 1 << 15 else np.int32 if plane < 1 << 31 else np.int64
    step = max(1, BLOCK // max(1, plane))
    for start in range(0, len(planes), step):
        some = slice(start, start + step)
        block = planes[some].astype(np.float32) if x.dtype in HALF else planes[some]
        values, where = _largest(block, axes, np.greater, small)
        if values.dtype.kind == "f" and np.isnan(values).any():
            # `maximum` carries each NaN along; its index takes a comparison of its own.
            values, where = _largest(block, axes, _larger_or_nan, small)
        outs[some], indices[some] = values, where
    return out, index


def max_pool(
    x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[Array, Array]:
    """The largest element of each window, and its index in the flat spatial plane.

    The first of equal elements wins; the last NaN wins over everything.
    """
    sizes = zip(x.shape[2:], kernel, stride, padding, dilation)
    return _max_pool(x, [_regular(*row, ceil_mode) for row in sizes])


def adaptive_max_pool(x: Array, size: Ints) -> tuple[Array, Array]:
    """`max_pool` with windows that divide each axis into ``size`` parts as evenly as can be."""
    return _max_pool(x, [_adaptive(n, m) for n, m in zip(x.shape[2:], size)])
