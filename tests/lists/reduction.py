"""Totals, extremes and running totals along axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from nnkit.backend.axes import kept_shape
from nnkit.backend.dtype import int64
from tests.lists.array import Array, elements, made, rounded, write

INT64 = int64.array


def _folded(x: Array, axis: Any, keepdims: bool, fold: Callable, dtype: Any) -> Array:
    """The array that ``fold`` makes of the list of elements along the axes."""
    kept = kept_shape(x.shape, axis) if x.ndim else []
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    reduced = sorted({a % x.ndim for a in axes}) if x.ndim else []
    left = [a for a in range(x.ndim) if a not in reduced]
    values = elements(x.transpose([*left, *reduced]))
    n = math.prod(x.shape[a] for a in reduced)
    count = math.prod(x.shape[a] for a in left)
    found = [fold(values[i * n : i * n + n]) for i in range(count)]
    shape = kept if keepdims else [x.shape[a] for a in left]
    return made(rounded(found, dtype), shape, dtype)


def _total_dtype(dtype: Any) -> Any:
    return INT64 if dtype.kind in "biu" else dtype


def _sum(values: list) -> Any:
    total: Any = 0
    for value in values:
        total += value
    return total


def sum(x: Array, axis: Any, keepdims: bool) -> Array:
    return _folded(x, axis, keepdims, _sum, _total_dtype(x.dtype))


def prod(x: Array, axis: Any, keepdims: bool) -> Array:
    dtype = _total_dtype(x.dtype)

    def product(values: list) -> Any:
        out = 1
        for value in values:
            (out,) = rounded([out * value], dtype)
        return out

    return _folded(x, axis, keepdims, product, dtype)


def _extreme(function: Callable) -> Callable:
    def reduce(x: Array, axis: Any, keepdims: bool) -> Array:
        def fold(values: list) -> Any:
            if not values:
                raise ValueError("zero-size array to reduction operation which has no identity")
            missing = [v for v in values if v != v]
            return missing[0] if missing else function(values)

        return _folded(x, axis, keepdims, fold, x.dtype)

    return reduce


amax, amin = _extreme(max), _extreme(min)


def lines(x: Array, axis: int) -> Iterator[list]:
    """Each line of elements along the axis."""
    turned = x.transpose([*(a for a in range(x.ndim) if a != axis % x.ndim), axis % x.ndim])
    values, n = elements(turned), x.shape[axis]
    return (values[i : i + n] for i in range(0, len(values), n or 1))


def along(outs: list, shape: tuple, axis: int, dtype: Any) -> Array:
    """The array whose lines along the axis these are."""
    axes = [*(a for a in range(len(shape)) if a != axis % len(shape)), axis % len(shape)]
    out = made([0] * math.prod(shape), shape, dtype)
    write(out.transpose(axes), rounded([v for line in outs for v in line], dtype))
    return out
