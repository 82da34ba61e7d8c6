"""Kernels that order, search and count.

NaN is the greatest value, as in torch. Every order is stable: of equal elements the one with the
lower index comes first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.cpu.half import truth
from nnkit.backend.cpu.memory import arranged
from nnkit.backend.dtype import HALF

Array = np.ndarray
SMALL = 16  # so many items are sorted by insertion alone, where NaN leaves them no order


def _comparable(x: Array) -> Array:
    """bfloat16 sorts slowly or not at all, and float32 keeps the order of both half types."""
    return x.astype(np.float32) if x.dtype in HALF else truth(x)


def _pick(x: Array, order: Array, axis: int) -> Array:
    """`take_along_axis`, in half the time along the last axis."""
    if axis not in (-1, x.ndim - 1) or not x.flags.c_contiguous:
        return np.take_along_axis(x, order, axis)
    rows = np.arange(math.prod(x.shape[:-1])) * x.shape[-1]
    return x.reshape(-1).take(order + rows.reshape((*x.shape[:-1], 1)))


def argsort(x: Array, axis: int, descending: bool) -> Array:
    if not x.ndim:
        return np.zeros((), np.int64)
    return arranged(_order(x, axis, descending), x)


def _order(x: Array, axis: int, descending: bool) -> Array:
    keys = _comparable(x)
    if not descending:
        return np.argsort(keys, axis, kind="stable")
    # Ties keep their order if the reversed array is sorted and the result read backwards.
    backwards = (slice(None),) * (axis % x.ndim) + (slice(None, None, -1),)
    order = np.argsort(keys[backwards], axis, kind="stable")
    return np.subtract(x.shape[axis] - 1, order[backwards], order="C")


def sort(x: Array, axis: int, descending: bool) -> tuple[Array, Array]:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    order = _order(x, axis, descending)
    return arranged(_pick(x, order, axis), x), arranged(order, x)


def topk(x: Array, k: int, axis: int, largest: bool, sorted: bool) -> tuple[Array, Array]:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)  # for k = 0 too, as in torch
    n = x.shape[axis]
    # Measured: below this a full sort costs less than selecting first.
    if n < 256 or 4 * k > n or not k:
        order = _order(x, axis, largest)
        best = order[(slice(None),) * (axis % x.ndim) + (slice(k),)].copy()
        return _pick(x, best, axis), best
    keys = _comparable(x)
    border = n - k if largest else k - 1
    chosen = np.argpartition(keys, border, axis)
    chosen = chosen.take(np.arange(border, n) if largest else np.arange(k), axis)
    chosen.sort(axis)
    best = _pick(chosen, _order(_pick(keys, chosen, axis), axis, largest), axis)
    return _pick(x, best, axis), best


def kthvalue(x: Array, k: int, axis: int, keepdims: bool) -> tuple[Array, Array]:
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    order = _order(x, axis, False).take([k - 1], axis)
    return _reduced(_pick(x, order, axis), order, axis, keepdims)


def _reduced(values: Array, indices: Array, axis: int, keepdims: bool) -> tuple[Array, Array]:
    return (values, indices) if keepdims else (values.squeeze(axis), indices.squeeze(axis))


def median(x: Array, axis: int, keepdims: bool) -> tuple[Array, Array]:
    """The lower median; NaN and where it is, if there is one."""
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    keys = _comparable(x)
    indices = _order(x, axis, False).take([(x.shape[axis] - 1) // 2], axis)
    if keys.dtype.kind == "f":
        missing = np.isnan(keys)
        first = np.expand_dims(missing.argmax(axis), axis)
        indices = np.where(missing.any(axis, keepdims=True), first, indices)
    return _reduced(_pick(x, indices, axis), indices, axis, keepdims)


def nanmedian(x: Array, axis: int, keepdims: bool) -> tuple[Array, Array]:
    """The lower median of what is not NaN; NaN where nothing else is."""
    if not x.ndim or x.dtype.kind != "f" and x.dtype not in HALF:
        return median(x, axis, keepdims)
    order = _order(x, axis, False)
    count = np.sum(~np.isnan(_comparable(x)), axis, keepdims=True)
    indices = _pick(order, np.maximum(count - 1, 0) // 2, axis)
    return _reduced(_pick(x, indices, axis), indices, axis, keepdims)


def mode(x: Array, axis: int, keepdims: bool) -> tuple[Array, Array]:
    """The most frequent value, the smallest of several; the last index at which it stands."""
    if not x.ndim:
        return x.copy(), np.zeros((), np.int64)
    order = _order(x, axis, False)
    values = np.moveaxis(_pick(_comparable(x), order, axis), axis, -1)
    n = values.shape[-1]
    here = np.arange(n)
    new = np.ones(values.shape, bool)
    new[..., 1:] = values[..., 1:] != values[..., :-1]
    run = here - np.maximum.accumulate(np.where(new, here, 0), axis=-1)
    last = np.expand_dims(run.argmax(-1), -1 if axis == -1 else axis)
    indices = _pick(order, last, axis)
    return _reduced(_pick(x, indices, axis), indices, axis, keepdims)


def unique(x: Array, axis: int | None) -> tuple[Array, Array, Array]:
    """The distinct values in order (slices where an axis is given), where each element went, and
    how often each occurs. NaN differs from NaN."""
    if axis is None and x.size and x.dtype.kind in "iu" and x.dtype != np.uint64:
        low, high = int(x.min()), int(x.max())
        if high - low < x.size:
            return _unique_of_range(x, low)
    keys = _comparable(x)
    if axis is not None and x.dtype.kind == "f" and np.isnan(keys).any():
        return _unique_of_unordered(x, np.moveaxis(keys, axis, 0), axis)
    values, inverse, counts = np.unique(
        keys, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    inverse = inverse.reshape(x.shape if axis is None else -1)
    return values.astype(x.dtype, copy=False), inverse, counts


def _unique_of_unordered(x: Array, keys: Array, axis: int) -> tuple[Array, Array, Array]:
    """The same of slices that hold NaN, in the order in which torch's sort leaves them."""
    rows = keys.reshape(len(keys), -1).tolist()

    def less(one: int, other: int) -> bool:
        for a, b in zip(rows[one], rows[other], strict=True):
            if a < b or a > b:
                return a < b
        return False

    order = np.array(_introsort(len(rows), less))
    values, places, counts = unique_consecutive(np.take(x, order, axis), axis)
    inverse = np.empty_like(order)
    inverse[order] = places
    return values, inverse, counts


def _unique_of_range(x: Array, low: int) -> tuple[Array, Array, Array]:
    """The order of integers close together, from ``low`` on: they are counted, not sorted."""
    places = x.reshape(-1).astype(np.int64) - low
    counts = np.bincount(places)
    occurs = counts > 0
    values = (np.flatnonzero(occurs) + low).astype(x.dtype)
    inverse = (np.cumsum(occurs) - 1)[places]
    return values, inverse.reshape(x.shape), counts[occurs]


def unique_consecutive(x: Array, axis: int | None) -> tuple[Array, Array, Array]:
    """`unique` with only neighbours compared, so that nothing is sorted."""
    rows = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
    n = rows.shape[0]
    new = np.ones(n, bool)
    if n > 1:
        new[1:] = (rows[1:] != rows[:-1]).reshape(n - 1, -1).any(1)
    starts = np.flatnonzero(new)
    values = rows[starts] if axis is None else np.moveaxis(rows[starts], 0, axis)
    inverse = np.cumsum(new) - 1
    counts = np.diff(starts, append=n)
    shaped = inverse.reshape(x.shape) if axis is None else inverse
    return np.ascontiguousarray(values), shaped, counts


def searchsorted(boundaries: Array, values: Array, right: bool) -> Array:
    """The insertion points of ``values``: in one sorted sequence for all, or one for each row."""
    side = "right" if right else "left"
    boundaries, values = _comparable(boundaries), _comparable(values)
    search = np.searchsorted
    if any(a.dtype.kind == "f" and np.isnan(a).any() for a in (boundaries, values)):
        search = _bisect
    if boundaries.ndim == 1:
        return np.asarray(search(boundaries, values, side))
    out = np.empty(values.shape, np.int64)
    for row in np.ndindex(values.shape[:-1]):
        out[row] = search(boundaries[row], values[row], side)
    return out


def _bisect(boundaries: Array, values: Array, side: str) -> Array:
    """`numpy.searchsorted` where no comparison with a NaN holds, as in torch."""
    start, end = np.zeros(values.shape, np.int64), np.full(values.shape, len(boundaries))
    while (searching := start < end).any():
        middle = (start + end) // 2
        met = boundaries[np.minimum(middle, len(boundaries) - 1)]
        before = met > values if side == "right" else met >= values
        end = np.where(searching & before, middle, end)
        start = np.where(searching & ~before, middle + 1, start)
    return start


def bincount(x: Array, weights: Array | None, minlength: int) -> Array:
    if weights is None:
        return np.bincount(x, minlength=minlength)
    out = np.bincount(x, weights, minlength)
    return out.astype(weights.dtype if weights.dtype == np.float32 else np.float64, copy=False)


def histc(x: Array, bins: int, low: float, high: float) -> Array:
    """The histogram of ``x`` over ``bins`` equal parts of [low, high], in the dtype of ``x``."""
    x = x.reshape(-1)
    inside = x[(x >= low) & (x <= high)]
    low, high = x.dtype.type(low), x.dtype.type(high)
    part = (inside - low) * x.dtype.type(bins) / (high - low)
    position = np.minimum(part.astype(np.int64), bins - 1)
    return np.bincount(position, minlength=bins).astype(x.dtype)


def isin(x: Array, values: Array) -> Any:
    return np.asarray(np.isin(x, values))


def _introsort(count: int, less: Callable[[int, int], bool]) -> list[int]:
    """The numbers below ``count`` in the order of what ``less`` compares them by, as ``std::sort``
    of GNU's C++ library leaves them: torch's order also where NaN, neither less nor greater than
    anything, leaves none.

    Source: Musser 1997, "Introspective sorting and selection algorithms".
    """
    items = list(range(count))
    _partition(items, 0, count, 2 * max(count.bit_length() - 1, 0), less)
    for i in range(1, count):
        _insert(items, i, i < SMALL, less)
    return items


def _partition(items: list[int], start: int, end: int, depth: int, less: Callable) -> None:
    """Part the items until the parts are small."""
    while end - start > SMALL and depth:
        depth -= 1
        _median_to_first(items, start, end, less)
        cut = _cut(items, start, end, less)
        _partition(items, cut, end, depth, less)
        end = cut


def _median_to_first(items: list[int], start: int, end: int, less: Callable) -> None:
    a, b, c = start + 1, start + (end - start) // 2, end - 1
    if less(items[a], items[b]):
        low, high = a, b
    else:
        low, high = b, a
    if less(items[high], items[c]):
        chosen = high
    else:
        chosen = c if less(items[low], items[c]) else low
    items[start], items[chosen] = items[chosen], items[start]


def _cut(items: list[int], start: int, end: int, less: Callable) -> int:
    """Exchange items so that those before the place returned are less than the first one."""
    pivot, first, last = items[start], start + 1, end
    while True:
        while first < len(items) and less(items[first], pivot):
            first += 1
        last -= 1
        while last > 0 and less(pivot, items[last]):
            last -= 1
        if first >= last:
            return first
        items[first], items[last] = items[last], items[first]
        first += 1


def _insert(items: list[int], i: int, small: bool, less: Callable) -> None:
    """Move an item to its place among those before it."""
    item = items[i]
    place = i
    if small and less(item, items[0]):
        place = 0
    else:
        while place and less(item, items[place - 1]):
            place -= 1
    items.insert(place, items.pop(i))
