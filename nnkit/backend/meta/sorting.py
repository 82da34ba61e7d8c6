"""Sorting of arrays without memory."""

from __future__ import annotations

from typing import Any

from nnkit.backend.memory import order_of
from nnkit.backend.meta.array import Meta, empty, in_order, sized_by_data
from nnkit.backend.meta.reduction import INT64, reduced


def argsort(x: Meta, axis: int, descending: bool) -> Meta:
    return in_order(x.shape, INT64, order_of(x))


def mode(x: Meta, axis: Any, keepdims: bool) -> tuple[Meta, Meta]:
    shape = reduced(x, axis, keepdims)
    return empty(shape, x.dtype), empty(shape, INT64)


def searchsorted(boundaries: Meta, values: Meta, right: bool) -> Meta:
    return empty(values.shape, INT64)


def histc(x: Meta, bins: int, low: Any, high: Any) -> Meta:
    return empty((bins,), x.dtype)


unique = unique_consecutive = bincount = sized_by_data
