"""Functions of an order: sorted values, the largest, medians; and counting by comparison.

NaN is the greatest value, as in torch, and every order is stable.
"""

from __future__ import annotations

import math

from nnkit.backend.dtype import OF_ARRAY, bool_, float32, float64, int64
from nnkit.backend.index import ALL


def _first(B, x, order, axis, count, keepdims=True):
    """The elements of ``x`` that are the first ``count`` in ``order``, and their indices."""
    indices = B.copy(B.getitem(order, (ALL,) * (axis % x.ndim) + (slice(count),)))
    values = B.gather(x, indices, axis % x.ndim)
    if keepdims:
        return values, indices
    return B.squeeze(values, (axis,)), B.squeeze(indices, (axis,))


def _only(B, x):
    """Value and index of the one element of a 0-dim array."""
    return B.copy(x), B.full((), 0, int64.array)


def sort(B, x, axis, descending):
    return _first(B, x, B.argsort(x, axis, descending), axis, None) if x.ndim else _only(B, x)


def topk(B, x, k, axis, largest, sorted):
    return _first(B, x, B.argsort(x, axis, largest), axis, k) if x.ndim else _only(B, x)


def _place(B, x, order, axis, place, keepdims):
    """The element at one place of an order, counted from 0; ``place`` may be an array."""
    axis %= x.ndim
    if not hasattr(place, "ndim"):
        shape = tuple(1 if a == axis else n for a, n in enumerate(x.shape))
        place = B.full(shape, place, int64.array)
    indices = B.gather(order, place, axis)
    return _first(B, x, indices, axis, None, keepdims)


def kthvalue(B, x, k, axis, keepdims):
    if not x.ndim:
        return _only(B, x)
    return _place(B, x, B.argsort(x, axis, False), axis, k - 1, keepdims)


def _medians(B, x, axis, keepdims, ignore_nan):
    if not x.ndim:
        return _only(B, x)
    order = B.argsort(x, axis, False)
    known = B.sum(B.eq(x, x), (axis,), True)
    middle = B.floor_divide(B.add(known, -1), 2)
    if ignore_nan:  # nothing but NaN: the first of them
        place = B.where(B.lt(middle, 0), 0, middle)
    else:  # the first NaN follows all numbers
        place = B.where(B.lt(known, x.shape[axis]), known, middle)
    return _place(B, x, order, axis, place, keepdims)


def median(B, x, axis, keepdims):
    """The lower median; NaN and where it is, if there is one."""
    return _medians(B, x, axis, keepdims, False)


def nanmedian(B, x, axis, keepdims):
    """The lower median of what is not NaN; NaN where nothing else is."""
    return _medians(B, x, axis, keepdims, True)


def median_all(B, x, ignore_nan):
    """The lower median of all elements; NaN for none, cast to an integer as torch does."""
    if not x.size:
        return B.cast(B.full((), float("nan"), float32.array), x.dtype)
    return (B.nanmedian if ignore_nan else B.median)(B.reshape(x, (-1,)), 0, False)[0]


def searchsorted(B, boundaries, values, right):
    """The number of boundaries below each value, or not above it."""
    before = B.le if right else B.lt
    # As NaN is the greatest value, nothing is above it.
    known = B.unsqueeze(boundaries, -2) if boundaries.ndim > 1 else boundaries
    wanted = B.unsqueeze(values, -1)
    is_before = before(known, wanted)
    beyond = B.ne(wanted, wanted)
    if not right:
        beyond = B.logical_and(beyond, B.eq(known, known))
    return B.sum(B.logical_or(is_before, beyond), (-1,), False)


def isin(B, x, values):
    same = B.eq(B.unsqueeze(x, -1), B.reshape(values, (-1,)))
    return B.any(same, (-1,), False)


def mode(B, x, axis, keepdims):
    """The most frequent value, the smallest of several; the last index at which it stands."""
    if not x.ndim:
        return _only(B, x)
    axis %= x.ndim
    order = B.argsort(x, axis, False)
    values = B.gather(x, order, axis)
    same = B.eq(B.unsqueeze(values, axis + 1), B.unsqueeze(values, axis))
    count = B.maximum(B.sum(same, (axis + 1,), False), 1)  # a NaN is not even itself
    start = B.argmax(count, axis, True)
    last = B.add(start, B.add(B.gather(count, start, axis), -1))
    return _place(B, x, order, axis, last, keepdims)


def _rows(B, x, axis):
    """The slices along an axis as rows, or each element as one."""
    if axis is None:
        return B.reshape(x, (x.size, 1))
    first = B.swapaxes(x, 0, axis)
    return B.reshape(first, (first.shape[0], math.prod(first.shape[1:])))


def _runs(B, x, axis, rows, order):
    """What is found where rows that are equal follow on each other in ``order``: the first of them,
    the number of the run that each belongs to, and their counts."""
    n = rows.shape[0]
    ordered = B.index_select(rows, order, 0)
    before, after = (B.getitem(ordered, (part,)) for part in (slice(max(n - 1, 0)), slice(1, None)))
    first = B.full((min(n, 1),), True, bool_.array)
    begins = B.concat((first, B.any(B.ne(before, after), (1,), False)), 0)
    starts = B.index_select(order, B.reshape(B.nonzero(begins), (-1,)), 0)
    run = B.add(B.cumsum(begins, 0), -1)
    inverse = B.index_copy(B.zeros_like(run), order, run, 0)
    counts = B.bincount(run, None, starts.shape[0])
    if axis is None:
        flat = B.reshape(x, (x.size,))
        return B.index_select(flat, starts, 0), B.reshape(inverse, x.shape), counts
    return B.index_select(x, starts, axis % x.ndim), inverse, counts


def unique(B, x, axis):
    """The distinct values in order (slices where an axis is given), where each element went, and
    how often each occurs. NaN differs from NaN."""
    rows = _rows(B, x, axis)
    order = B.arange(0, rows.shape[0], 1, int64.array)
    for column in range(rows.shape[1] - 1, -1, -1):  # the first one decides
        keys = B.index_select(B.getitem(rows, (ALL, column)), order, 0)
        order = B.index_select(order, B.argsort(keys, 0, False), 0)
    return _runs(B, x, axis, rows, order)


def unique_consecutive(B, x, axis):
    """`unique` with only neighbours compared, so that nothing is sorted."""
    rows = _rows(B, x, axis)
    return _runs(B, x, axis, rows, B.arange(0, rows.shape[0], 1, int64.array))


def bincount(B, x, weights, minlength):
    size = max(B.item(B.amax(x, None, False)) + 1 if x.size else 0, minlength)
    if weights is None:
        weights, dtype = B.full(x.shape, 1, int64.array), int64.array
    else:
        dtype = (float32 if OF_ARRAY[weights.dtype] is float32 else float64).array
    places = B.cast(x, int64.array)  # of uint8 they would be masks
    return B.index_add(B.zeros((size,), dtype), places, B.cast(weights, dtype), 0, 1)


def histc(B, x, bins, low, high):
    """The histogram of ``x`` over ``bins`` equal parts of [low, high], in the dtype of ``x``."""
    x = B.reshape(x, (x.size,))
    inside = B.masked_select(x, B.logical_and(B.ge(x, low), B.le(x, high)))
    low, high = (B.full((), end, x.dtype) for end in (low, high))
    part = B.div(B.mul(B.sub(inside, low), bins), B.sub(high, low))
    place = B.minimum(B.cast(part, int64.array), bins - 1)
    return B.cast(B.bincount(place, None, bins), x.dtype)
