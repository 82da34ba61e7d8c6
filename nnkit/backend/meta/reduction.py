"""Reductions of arrays without memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.meta.array import Meta, empty

INT64 = np.dtype(np.int64)


def reduced(x: Meta, axis: Any, keepdims: bool) -> tuple[int, ...]:
    """The shape without some axes, which are None for all."""
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {a % x.ndim for a in axes} if x.ndim else set()
    shape = [1 if a in gone else n for a, n in enumerate(x.shape)]
    return tuple(shape if keepdims else [n for a, n in enumerate(shape) if a not in gone])


def _total(x: Meta, axis: Any, keepdims: bool) -> Meta:
    dtype = INT64 if x.dtype.kind in "biu" else x.dtype
    return empty(reduced(x, axis, keepdims), dtype)


def _extreme(x: Meta, axis: Any, keepdims: bool) -> Meta:
    if not x.size and 0 not in reduced(x, axis, keepdims):
        raise ValueError("zero-size array to reduction operation which has no identity")
    return empty(reduced(x, axis, keepdims), x.dtype)


def _index(x: Meta, axis: Any, keepdims: bool) -> Meta:
    return empty(_extreme(x, axis, keepdims).shape, INT64)


def _truth(x: Meta, axis: Any, keepdims: bool) -> Meta:
    return empty(reduced(x, axis, keepdims), np.dtype(np.bool_))


def _running(x: Meta, axis: int) -> Meta:
    return empty(x.shape, INT64 if x.dtype.kind in "biu" else x.dtype)


def _running_extreme(x: Meta, axis: int) -> tuple[Meta, Meta]:
    return empty(x.shape, x.dtype), empty(x.shape, INT64)


def logcumsumexp(x: Meta, axis: int) -> Meta:
    return empty(x.shape, x.dtype)


def recurrence(a: Meta, b: Meta, axis: int) -> Meta:
    return empty(b.shape, b.dtype)


sum = prod = _total
amax = amin = _extreme
argmax = argmin = _index
all = any = _truth
cumsum = cumprod = _running
cummax = cummin = _running_extreme
