"""Pooling over 1, 2 or 3 spatial axes, layout (N, C, *spatial).

Every pool is taken along one axis after the other, the last one first. A table of positions
(output, tap) says where along its axis each window reads; regular, adaptive and fractional pools
differ in nothing but that table.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np

from nnkit.backend.dtype import HALF
from nnkit.backend.windows import window_count

Array = np.ndarray
Ints = tuple[int, ...]


BLOCK = 1 << 18  # elements of the input at a time: the temporaries then stay in the cache

# For one place in a window, along one axis: what reads it for all outputs (the index of a slice
# where the positions are evenly spaced), and what it adds to an element's index in the plane.
Tap = tuple[tuple | Array, Array]


def _taps(table: Array, axis: int, stride: int, dtype: type) -> list[Tap]:
    """The columns of a table of positions (output, tap) along ``axis`` (negative)."""
    after = (slice(None),) * (-1 - axis)
    taps = []
    for positions in table.T:
        steps = np.diff(positions)
        step = int(steps[0]) if steps.size else 1
        where = positions
        if step > 0 and (steps == step).all() and positions.size:
            where = (..., slice(int(positions[0]), int(positions[-1]) + 1, step), *after)
        offsets = (positions * stride).astype(dtype).reshape(-1, *(1,) * (-1 - axis))
        taps.append((where, offsets))
    return taps


def _plan(spatial: Ints, tables: list[Array]) -> list[list[Tap]]:
    """The taps of each axis, last axis first, for planes of size ``spatial``."""
    plane = math.prod(spatial)
    dtype = np.int16 if plane < 1 << 15 else np.int32 if plane < 1 << 31 else np.int64
    strides = [math.prod(spatial[axis + 1 :]) for axis in range(len(spatial))]
    return [
        _taps(tables[axis], axis, strides[axis], dtype) for axis in range(-1, -1 - len(spatial), -1)
    ]


@lru_cache(256)
def _regular(
    spatial: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool
) -> list[list[Tap]]:
    """The plan of a regular pool. A place in the padding is replaced by the nearest one of its
    window inside the input: reading an element twice does not change which is the largest."""
    tables = []
    for size, k, s, p, d in zip(spatial, kernel, stride, padding, dilation):
        start, first, last = _ends(size, window_count(size, k, s, p, d, ceil), s, p, d)
        # Of a window much longer than the axis the places inside are taken alone.
        places = np.arange(k) if k <= 2 * size else first + np.arange(size)
        tables.append(np.clip(start + d * np.clip(places, first, last), 0, size - 1))
    return _plan(spatial, tables)


def _ends(size: int, count: int, stride: int, padding: int, dilation: int) -> tuple[Array, ...]:
    """The start of each window, and its first and last place inside the input."""
    start = np.arange(count)[:, None] * stride - padding
    return start, np.maximum(0, -(start // dilation)), (size - 1 - start) // dilation


@lru_cache(256)
def _holes(
    spatial: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool
) -> tuple[Array, Array] | None:
    """Whether each window of a regular pool steps over the whole input, and torch's indices of
    those that do: of their first place that is not before the input. None if no window does."""
    empty, index = np.zeros((), bool), np.zeros((), np.int64)
    for size, k, s, p, d in zip(spatial, kernel, stride, padding, dilation):
        start, first, last = _ends(size, window_count(size, k, s, p, d, ceil), s, p, d)
        empty = empty[..., None] | (first > last)[:, 0]
        index = index[..., None] * size + (start + d * first)[:, 0]
    return (empty, index[empty]) if empty.any() else None


def _bounds(size: int, count: int) -> tuple[Array, Array]:
    """The starts and the ends of the windows of an adaptive pool."""
    index = np.arange(count)
    return index * size // count, -(-(index + 1) * size // count)


@lru_cache(256)
def _adaptive(spatial: Ints, size: Ints) -> list[list[Tap]]:
    """The plan of an adaptive pool: where windows differ in length, the shorter ones read their
    last element twice."""
    tables = []
    for n, count in zip(spatial, size):
        start, end = _bounds(n, count)
        longest = int((end - start).max(initial=1))
        tables.append(np.minimum(start[:, None] + np.arange(longest), end[:, None] - 1))
    return _plan(spatial, tables)


def _after(axis: int) -> tuple[slice, ...]:
    """Full slices for the axes behind ``axis`` (negative)."""
    return (slice(None),) * (-1 - axis)


def _largest(x: Array, plan: list[list[Tap]], larger_than: Callable) -> tuple[Array, Array]:
    """The largest element of each window and its index in the flat plane of the input."""
    out, index = x, None
    for axis, taps in enumerate(plan, 1):
        place, where = taps[0]
        best = _read(out, place, -axis)
        if index is not None:
            where = _read(index, place, -axis) + where
        for place, at in taps[1:]:
            values = _read(out, place, -axis)
            if index is not None:
                at = _read(index, place, -axis) + at
            # Arithmetic, since `np.where` takes five times as long on these types.
            where = where + larger_than(values, best) * (at - where)
            best = np.maximum(best, values)
        out, index = best, np.broadcast_to(where, best.shape)
    assert index is not None
    return out, index


def _read(x: Array, where: tuple | Array, axis: int) -> Array:
    return x[where] if isinstance(where, tuple) else x.take(where, axis)


def _larger_or_nan(values: Array, best: Array) -> Array:
    return (values > best) | (values != values)


def _max_pool(x: Array, plan: list[list[Tap]]) -> tuple[Array, Array]:
    shape = x.shape[:2] + tuple(len(taps[0][1]) for taps in reversed(plan))
    out, index = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    count, plane = x.shape[0] * x.shape[1], math.prod(x.shape[2:])
    planes = x.reshape(count, *x.shape[2:])
    outs, indices = (a.reshape(count, *shape[2:]) for a in (out, index))
    step = max(1, BLOCK // max(1, plane))
    for start in range(0, count, step):
        some = slice(start, start + step)
        block = planes[some].astype(np.float32) if x.dtype in HALF else planes[some]
        values, where = _largest(block, plan, np.greater)
        if values.dtype.kind == "f" and np.isnan(values).any():
            # `maximum` carries each NaN along; its index takes a comparison of its own.
            values, where = _largest(block, plan, _larger_or_nan)
        outs[some], indices[some] = values, where
    return out, index


def max_pool(
    x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[Array, Array]:
    """The largest element of each window, and its index in the flat spatial plane.

    The first of equal elements wins; the last NaN wins over everything.
    """
    windows = (x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    out, index = _max_pool(x, _regular(*windows))
    holes = _holes(*windows)
    if holes is not None:
        where, at = holes
        out[..., where] = -np.inf if x.dtype.kind not in "iu" else np.iinfo(x.dtype).min
        index[..., where] = at
    return out, index


def adaptive_max_pool(x: Array, size: Ints) -> tuple[Array, Array]:
    """`max_pool` with windows that divide each axis into ``size`` parts as evenly as can be."""
    if 0 in size:
        shape = (*x.shape[:2], *size)
        return np.zeros(shape, x.dtype), np.zeros(shape, np.int64)
    return _max_pool(x, _adaptive(x.shape[2:], size))


def _starts(samples: Array, size: int, kernel: int, count: int) -> Array:
    """The starts of a fractional pool's windows: (..., count) for samples (...) in [0, 1)."""
    last = np.full((*samples.shape, 1), size - kernel)
    if count < 2:
        return last[..., :count]
    alpha = samples.dtype.type(size - kernel) / samples.dtype.type(count - 1)
    sample = samples[..., None]
    steps = (np.arange(count - 1).astype(samples.dtype) + sample) * alpha
    return np.concatenate((steps.astype(np.int64) - (sample * alpha).astype(np.int64), last), -1)


def fractional_max_pool(x: Array, samples: Array, kernel: Ints, size: Ints) -> tuple[Array, Array]:
    """`max_pool` with windows at pseudo-random distances (Graham, 2014).

    ``samples`` is (N, C, axes), uniform in [0, 1): it places the windows of each plane.
    """
    if x.dtype in HALF:
        out, index = fractional_max_pool(x.astype(np.float32), samples, kernel, size)
        return out.astype(x.dtype), index
    planes = x.shape[:2]
    flat = x.reshape(*planes, math.prod(x.shape[2:]))
    corner, steps = np.zeros((1,) * x.ndim, np.int64), []
    for axis in range(len(size)):
        step = math.prod(x.shape[3 + axis :])
        start = _starts(samples[..., axis], x.shape[2 + axis], kernel[axis], size[axis]) * step
        shape = (1,) * axis + start.shape[-1:] + (1,) * (len(size) - axis - 1)
        corner = corner + start.reshape(*planes, *shape)
        steps.append(step)
    index, count = corner, math.prod(size)
    best = np.take_along_axis(flat, index.reshape(*planes, count), 2).reshape(index.shape)
    for tap in np.ndindex(*kernel):
        at = corner + sum(t * step for t, step in zip(tap, steps))
        values = np.take_along_axis(flat, at.reshape(*planes, count), 2).reshape(at.shape)
        larger = _larger_or_nan(values, best)
        best, index = np.where(larger, values, best), np.where(larger, at, index)
    return best, index


def _in_batch(indices: Array, plane: int) -> Array:
    """Indices into planes of ``plane`` elements as indices into all of them."""
    count = indices.shape[0] * indices.shape[1]
    planes = indices.reshape(count, math.prod(indices.shape[2:]))
    return (planes + np.arange(count)[:, None] * plane).ravel()


def _is_inside(indices: Array, plane: int) -> Array:
    """Whether each index is that of an element: of a window without elements it may be of none."""
    return (indices >= 0) & (indices < plane)


def max_pool_grad(g: Array, indices: Array, shape: Ints) -> Array:
    """Zeros of ``shape`` to which ``g`` is added at ``indices`` (into each spatial plane).

    As in torch half precision is rounded after each addition.
    """
    out = np.zeros(shape, g.dtype)
    plane = math.prod(shape[2:])
    where, g = _in_batch(indices, plane), g.ravel()
    inside = _is_inside(indices, plane).ravel()
    if not inside.all():
        where, g = where[inside], g[inside]
    np.add.at(out.reshape(-1), where, g)
    return out


def max_pool_gather(x: Array, indices: Array) -> Array:
    """Elements of each spatial plane of ``x``, by flat index: the adjoint of `max_pool_grad`."""
    plane = math.prod(x.shape[2:])
    inside = _is_inside(indices, plane)
    where = _in_batch(np.where(inside, indices, 0), plane)
    found = x.reshape(-1)[where].reshape(indices.shape)
    return found if inside.all() else np.where(inside, found, 0).astype(x.dtype)


def max_unpool(x: Array, indices: Array, shape: Ints) -> Array:
    """Zeros of ``shape`` in which ``x`` is written at ``indices`` (into each spatial plane).

    RuntimeError where an index is outside the plane.
    """
    plane = math.prod(shape[2:])
    wrong = indices[(indices < 0) | (indices >= plane)]
    if wrong.size:
        volume = "x".join(map(str, shape[2:]))
        raise RuntimeError(
            f"max_unpool(): Found an invalid max index: {wrong.flat[0]} "
            f"(output volumes are of size {volume})"
        )
    out = np.zeros(shape, x.dtype)
    out.reshape(-1)[_in_batch(indices, plane)] = x.ravel()
    return out


def _divisors(
    size: int, kernel: int, stride: int, padding: int, ceil: bool, include_pad: bool
) -> Array:
    """The number of elements along its axis that each window of an average pool counts."""
    start = np.arange(window_count(size, kernel, stride, padding, 1, ceil)) * stride - padding
    if include_pad:
        return np.minimum(start + kernel, size + padding) - start
    return np.minimum(start + kernel, size) - np.maximum(start, 0)


def _zeros_like(x: Array, axis: int, count: int) -> Array:
    """Zeros in the shape of ``x``, with ``count`` of them along ``axis`` (negative)."""
    after = x.ndim + axis + 1
    return np.zeros((*x.shape[: after - 1], count, *x.shape[after:]), x.dtype)


@lru_cache(256)
def _divisor(
    spatial: Ints, kernel: Ints, stride: Ints, padding: Ints,
    ceil: bool, include_pad: bool, dtype: np.dtype,
) -> Array:  # fmt: skip
    """The divisor of each window's sum."""
    out = np.ones((), np.int64)
    for row in zip(spatial, kernel, stride, padding):
        out = out[..., None] * _divisors(*row, ceil, include_pad)
    return out.astype(dtype)


def _share(x: Array, divisor: Array | int) -> Array:
    """``x / divisor``; integers are rounded towards zero."""
    if x.dtype.kind == "i":
        return np.sign(x) * np.sign(divisor) * (np.abs(x) // np.abs(divisor))
    return x / divisor


def _overlaps(
    size: int, count: int, kernel: int, stride: int, padding: int
) -> list[tuple[slice, slice]]:
    """For each tap of a window: the outputs for which it is inside the input, and where there."""
    pairs = []
    taps: Iterable[int] = range(kernel)
    if kernel > size * count:  # most of them are in the padding, for all outputs
        inside = {i + padding - o * stride for o in range(count) for i in range(size)}
        taps = sorted(tap for tap in inside if 0 <= tap < kernel)
    for tap in taps:
        offset = tap - padding
        first = max(0, -(offset // stride))
        stop = min(count, (size - 1 - offset) // stride + 1)
        if stop > first:
            start, last = first * stride + offset, (stop - 1) * stride + offset
            pairs.append((slice(first, stop), slice(start, last + 1, stride)))
    return pairs


def avg_pool(
    x: Array, kernel: Ints, stride: Ints, padding: Ints,
    ceil_mode: bool, count_include_pad: bool, divisor: int | None,
) -> Array:  # fmt: skip
    """The sum of each window over ``divisor``, or over the number of its elements."""
    out = x.astype(np.float32) if x.dtype in HALF else x
    axes = len(kernel)
    for axis in range(-1, -1 - axes, -1):
        size, k, s, p = x.shape[axis], kernel[axis], stride[axis], padding[axis]
        count = window_count(size, k, s, p, 1, ceil_mode)
        total = _zeros_like(out, axis, count)
        for windows, places in _overlaps(size, count, k, s, p):
            view = total[(..., windows, *_after(axis))]
            np.add(view, out[(..., places, *_after(axis))], out=view)
        out = total
    over = divisor or _divisor(
        x.shape[2:], kernel, stride, padding, ceil_mode, count_include_pad, out.dtype
    )
    return _share(out, over).astype(x.dtype, copy=False)


def avg_pool_grad(
    g: Array, shape: Ints, kernel: Ints, stride: Ints, padding: Ints,
    ceil_mode: bool, count_include_pad: bool, divisor: int | None,
) -> Array:  # fmt: skip
    """The adjoint of `avg_pool`: each window hands its share of ``g`` to its elements.

    As in torch one window after the other, and half precision is rounded after each addition.
    """
    wide = g.astype(np.float32) if g.dtype in HALF else g
    over = divisor or _divisor(
        shape[2:], kernel, stride, padding, ceil_mode, count_include_pad, wide.dtype
    )
    share = _share(wide, over).astype(g.dtype, copy=False)
    out = np.zeros(shape, g.dtype)
    rows = zip(shape[2:], g.shape[2:], kernel, stride, padding)
    # The later a tap, the earlier the window in which an element stands there.
    for taps in itertools.product(*[_overlaps(*row)[::-1] for row in rows]):
        windows, places = zip(*taps)
        view = out[(..., *places)]
        np.add(view, share[(..., *windows)], out=view)
    return out


def _regular_arguments(spatial: Ints, size: Ints) -> tuple | None:
    """The arguments of the `avg_pool` that an adaptive one is where the parts come out even."""
    if any(m == 0 or n % m for n, m in zip(spatial, size)) or 0 in spatial:
        return None
    kernel = tuple(n // m for n, m in zip(spatial, size))
    return kernel, kernel, (0,) * len(kernel), False, True, None


def adaptive_avg_pool(x: Array, size: Ints) -> Array:
    """The means of windows that divide each axis into ``size`` parts as evenly as can be."""
    if 0 in size:  # beside which the others may be huge
        return np.zeros((*x.shape[:2], *size), x.dtype)
    if math.prod(size) == 1:
        wide = np.float32 if x.dtype in HALF else x.dtype
        planes = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
        means = planes.mean(2, dtype=wide).astype(x.dtype, copy=False)
        return means.reshape(*x.shape[:2], *size)
    regular = _regular_arguments(x.shape[2:], size)
    if regular:
        return avg_pool(x, *regular)
    out = x.astype(np.float32) if x.dtype in HALF else x
    for axis, count in zip(range(-len(size), 0), size):
        start, end = _bounds(x.shape[axis], count)
        means = _zeros_like(out, axis, count)
        for o, (a, b) in enumerate(zip(start.tolist(), end.tolist())):
            window = out[(..., slice(a, b), *_after(axis))]
            means[(..., o, *_after(axis))] = window.mean(axis)
        out = means
    return out.astype(x.dtype, copy=False)


def adaptive_avg_pool_grad(g: Array, shape: Ints) -> Array:
    """The adjoint of `adaptive_avg_pool` on an input of ``shape``."""
    if not g.size:
        return np.zeros(shape, g.dtype)
    regular = _regular_arguments(shape[2:], g.shape[2:])
    if regular and math.prod(g.shape[2:]) > 1:
        return avg_pool_grad(g, shape, *regular)
    out = g.astype(np.float32) if g.dtype in HALF else g
    for axis in range(2 - len(shape), 0):
        start, end = _bounds(shape[axis], g.shape[axis])
        total = _zeros_like(out, axis, shape[axis])
        share = out / (end - start).astype(out.dtype).reshape(-1, *(1,) * (-1 - axis))
        for o, (a, b) in enumerate(zip(start.tolist(), end.tolist())):
            view = total[(..., slice(a, b), *_after(axis))]
            np.add(view, share[(..., slice(o, o + 1), *_after(axis))], out=view)
        out = total
    return out.astype(g.dtype, copy=False)
