"""Ordering, searching and counting on the GPU, by the stable sorts that CuPy takes from CUB.

NaN is the greatest value, as in torch, and of equal elements the one with the lower index comes
first, as on the CPU.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nnkit.backend.cuda.creation import copy
from nnkit.backend.cuda.differences import array_module, contiguous, on_bits, same_dtype
from nnkit.backend.dtype import HALF

F4, I8 = np.dtype(np.float32), np.dtype(np.int64)


def _comparable(x: Any) -> Any:
    """float32 keeps the order of both half types."""
    return same_dtype(x, F4) if x.dtype in HALF else x


def _sortable(keys: Any) -> Any:
    """Keys that a radix sort, which compares bits, orders as numbers: one zero, one NaN."""
    if keys.dtype.kind == "b":
        return same_dtype(keys, np.dtype(np.uint8))
    if keys.dtype.kind != "f":
        return keys
    from nnkit.backend.cuda import BACKEND as B

    return B.where(B.isnan(keys), math.nan, B.add(keys, 0))


@on_bits
def _pick(x: Any, order: Any, axis: int) -> Any:
    return array_module(x).take_along_axis(x, order, axis)


def argsort(x: Any, axis: int, descending: bool) -> Any:
    xp = array_module(x)
    if not x.ndim:
        return xp.zeros((), np.int64)
    keys = _sortable(_comparable(x))
    if not descending:
        return xp.argsort(keys, axis, kind="stable")
    # Ties keep their order if the reversed array is sorted and the result read backwards.
    backwards = (slice(None),) * (axis % x.ndim) + (slice(None, None, -1),)
    order = xp.argsort(contiguous(keys[backwards]), axis, kind="stable")
    return contiguous(x.shape[axis] - 1 - order[backwards])


def sort(x: Any, axis: int, descending: bool) -> tuple:
    order = argsort(x, axis, descending)
    return (_pick(x, order, axis) if x.ndim else copy(x)), order


def topk(x: Any, k: int, axis: int, largest: bool, sorted: bool) -> tuple:
    if not x.ndim:
        values, indices = topk(x.reshape(1), k, 0, largest, sorted)
        return values.reshape(x.shape[:k]), indices.reshape(x.shape[:k])
    order = argsort(x, axis, largest)
    best = contiguous(order[(slice(None),) * (axis % x.ndim) + (slice(k),)])
    return _pick(x, best, axis), best


def _at(x: Any, order: Any, place: Any, axis: int, keepdims: bool) -> tuple:
    """The element whose place in the order is ``place``, a number or an array, and its index."""
    xp = array_module(x)
    if isinstance(place, int):
        place = xp.full([1 if a == axis % x.ndim else n for a, n in enumerate(x.shape)], place)
    indices = xp.take_along_axis(order, place, axis)
    values = _pick(x, indices, axis)
    return (values, indices) if keepdims else (values.squeeze(axis), indices.squeeze(axis))


def kthvalue(x: Any, k: int, axis: int, keepdims: bool) -> tuple:
    if not x.ndim:
        return copy(x), array_module(x).zeros((), np.int64)
    return _at(x, argsort(x, axis, False), k - 1, axis, keepdims)


def median(x: Any, axis: int, keepdims: bool) -> tuple:
    """The lower median; NaN and where it is, if there is one."""
    xp = array_module(x)
    if not x.ndim:
        return copy(x), xp.zeros((), np.int64)
    order, n = argsort(x, axis, False), x.shape[axis]
    place = xp.full([1 if a == axis % x.ndim else m for a, m in enumerate(x.shape)], (n - 1) // 2)
    keys = _comparable(x)
    if keys.dtype.kind == "f":
        # NaN stands last; the first of them is the one with the lowest index.
        missing = xp.isnan(keys).sum(axis, keepdims=True)
        place = xp.where(missing > 0, n - missing, place)
    return _at(x, order, place, axis, keepdims)


def nanmedian(x: Any, axis: int, keepdims: bool) -> tuple:
    """The lower median of what is not NaN; NaN where nothing else is."""
    if not x.ndim or (x.dtype.kind != "f" and x.dtype not in HALF):
        return median(x, axis, keepdims)
    xp = array_module(x)
    count = (~xp.isnan(_comparable(x))).sum(axis, keepdims=True)
    return _at(x, argsort(x, axis, False), xp.maximum(count - 1, 0) // 2, axis, keepdims)


def mode(x: Any, axis: int, keepdims: bool) -> tuple:
    """The most frequent value, the smallest of several; the last index at which it stands."""
    xp = array_module(x)
    if not x.ndim:
        return copy(x), xp.zeros((), np.int64)
    order = argsort(x, axis, False)
    values = xp.moveaxis(_pick(_comparable(x), order, axis), axis, -1)
    n = values.shape[-1]
    rows = contiguous(values).reshape(-1, n)
    new = xp.ones(rows.shape, bool)
    new[:, 1:] = rows[:, 1:] != rows[:, :-1]
    # Each run of equal values begins at a place of its own in the flat array.
    starts = xp.flatnonzero(new)
    run = xp.arange(rows.size) - starts[xp.cumsum(new.reshape(-1)) - 1]
    last = run.reshape(rows.shape).argmax(-1).reshape(values.shape[:-1])
    return _at(x, order, xp.expand_dims(last, axis), axis, keepdims)


def unique(x: Any, axis: int | None) -> tuple:
    """The distinct values in order (slices where an axis is given), where each element went, and
    how often each occurs. NaN differs from NaN."""
    xp = array_module(x)
    keys = _comparable(x)
    values, inverse, counts = xp.unique(
        keys, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    inverse = inverse.reshape(x.shape if axis is None else -1)
    return same_dtype(values, x.dtype), inverse, counts


def unique_consecutive(x: Any, axis: int | None) -> tuple:
    """`unique` with only neighbours compared, so that nothing is sorted."""
    xp = array_module(x)
    keys = _comparable(x)
    rows = contiguous(keys).reshape(-1) if axis is None else xp.moveaxis(keys, axis, 0)
    n = rows.shape[0]
    new = xp.ones(n, bool)
    if n > 1:
        new[1:] = (rows[1:] != rows[:-1]).reshape(n - 1, -1).any(1)
    starts = xp.flatnonzero(new)
    values = rows[starts] if axis is None else xp.moveaxis(rows[starts], 0, axis)
    inverse = xp.cumsum(new) - 1
    counts = xp.diff(xp.concatenate((starts, xp.asarray([n]))))
    shaped = inverse.reshape(x.shape) if axis is None else inverse
    return same_dtype(contiguous(values), x.dtype), shaped, counts


def searchsorted(boundaries: Any, values: Any, right: bool) -> Any:
    """The insertion points of ``values``: in one sorted sequence for all, or one for each row."""
    xp = array_module(boundaries)
    side = "right" if right else "left"
    boundaries, values = _comparable(boundaries), _comparable(values)
    if boundaries.ndim == 1:
        return same_dtype(xp.asarray(xp.searchsorted(boundaries, values, side)), I8)
    rows = contiguous(boundaries).reshape(-1, boundaries.shape[-1])
    wanted = contiguous(values).reshape(len(rows), values.shape[-1])
    found = [xp.searchsorted(row, want, side) for row, want in zip(rows, wanted)]
    out = xp.stack(found) if found else xp.zeros(wanted.shape, np.int64)
    return same_dtype(out.reshape(values.shape), I8)


def bincount(x: Any, weights: Any, minlength: int) -> Any:
    """Weights are added up in order, which atomic additions would not do."""
    xp = array_module(x)
    counts = xp.bincount(x, minlength=minlength)
    if weights is None:
        return same_dtype(counts, I8)
    from nnkit.backend.cuda.accumulation import add_at

    out = xp.zeros(counts.shape, np.float64)
    add_at(out, same_dtype(x, I8), same_dtype(weights, out.dtype))
    return same_dtype(out, weights.dtype) if weights.dtype == F4 else out


def histc(x: Any, bins: int, low: float, high: float) -> Any:
    """The histogram of ``x`` over ``bins`` equal parts of [low, high], in the dtype of ``x``."""
    xp = array_module(x)
    x = contiguous(x).reshape(-1)
    inside = x[(x >= low) & (x <= high)]
    part = (inside - low) * (bins / (high - low))
    position = xp.minimum(same_dtype(part, I8), bins - 1)
    return same_dtype(xp.bincount(position, minlength=bins), x.dtype)


def isin(x: Any, values: Any) -> Any:
    xp = array_module(x)
    return xp.asarray(xp.isin(_comparable(x), _comparable(values)))
