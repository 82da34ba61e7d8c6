"""Sorting of arrays without memory."""

from __future__ import annotations

from typing import Any, NoReturn

from nnkit.backend.memory import order_of
from nnkit.backend.meta.array import Meta, empty, in_order
from nnkit.backend.meta.reduction import INT64, reduced


def argsort(x: Meta, axis: int, descending: bool) -> Meta:
    return in_order(x.shape, INT64, order_of(x))


def sort(x: Meta, axis: int, descending: bool) -> tuple[Meta, Meta]:
    return in_order(x.shape, x.dtype, order_of(x)), argsort(x, axis, descending)


def topk(x: Meta, k: int, axis: int, largest: bool, sorted: bool) -> tuple[Meta, Meta]:
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :]) if x.ndim else ()
    return empty(shape, x.dtype), empty(shape, INT64)


def _one(x: Meta, axis: Any, keepdims: bool) -> tuple[Meta, Meta]:
    shape = reduced(x, axis, keepdims)
    return empty(shape, x.dtype), empty(shape, INT64)


mode = median = nanmedian = _one


def kthvalue(x: Meta, k: int, axis: int, keepdims: bool) -> tuple[Meta, Meta]:
    return _one(x, axis, keepdims)


def median_all(x: Meta, ignore_nan: bool) -> Meta:
    return empty((), x.dtype)


def searchsorted(boundaries: Meta, values: Meta, right: bool) -> Meta:
    return empty(values.shape, INT64)


def histc(x: Meta, bins: int, low: Any, high: Any) -> Meta:
    return empty((bins,), x.dtype)


def _data_decide(x: Meta, *rest: Any) -> NoReturn:
    raise NotImplementedError("the elements decide the size of the result, and there are none")


unique = unique_consecutive = bincount = _data_decide
