"""Functions of an order: sorted values, the largest, medians; and counting by comparison.

NaN is the greatest value, as in torch, and every order is stable.
"""

from __future__ import annotations

from nnkit.backend.dtype import int64

ALL = slice(None)


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
    """The lower median of all elements; NaN for none."""
    if not x.size:
        return B.full((), float("nan"), x.dtype)
    return _medians(B, B.reshape(x, (-1,)), 0, False, ignore_nan)[0]


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
