"""Totals, extremes and running totals along axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from nnkit.backend.axes import kept_shape
from nnkit.backend.dtype import int64
from tests.lists.array import Array, elements, made, rounded, write
from tests.lists.elementary import ELEMENTARY

INT64 = int64.array


def _folded(x: Array, axis: Any, keepdims: bool, fold: Callable, dtype: Any) -> Array:
    """The array that ``fold`` makes of the list of elements along the axes."""
    kept = kept_shape(x.shape, axis) if x.ndim else []
    reduced = [a for a in range(x.ndim) if axis is None or kept[a] != x.shape[a] or a in _set(x, axis)]
    left = [a for a in range(x.ndim) if a not in reduced]
    values = elements(x.transpose([*left, *reduced]))
    n = math.prod(x.shape[a] for a in reduced)
    count = math.prod(x.shape[a] for a in left)
    found = [fold(values[i * n : i * n + n]) for i in range(count)]
    shape = kept if keepdims else [x.shape[a] for a in left]
    return made(rounded(found, dtype), shape, dtype)


def _set(x: Array, axis: Any) -> set[int]:
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return {a % x.ndim for a in axes}


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


def _lines(x: Array, axis: int) -> Iterator[tuple[list, Callable]]:
    """Each line of elements along the axis."""
    turned = x.transpose([*(a for a in range(x.ndim) if a != axis % x.ndim), axis % x.ndim])
    values, n = elements(turned), x.shape[axis]
    return (values[i : i + n] for i in range(0, len(values), n or 1))


def _along(outs: list, shape: tuple, axis: int, dtype: Any) -> Array:
    """The array whose lines along the axis these are."""
    axes = [*(a for a in range(len(shape)) if a != axis % len(shape)), axis % len(shape)]
    out = made([0] * math.prod(shape), shape, dtype)
    write(out.transpose(axes), rounded([v for line in outs for v in line], dtype))
    return out


def _running(step: Callable, x: Array, axis: int) -> Array:
    dtype = _total_dtype(x.dtype)
    if not x.ndim:
        return made(rounded(elements(x), dtype), (), dtype)
    outs = []
    for line in _lines(x, axis):
        out: list = []
        for value in line:
            out.append(step(out[-1], value) if out else value + 0)
        outs.append(out)
    return _along(outs, x.shape, axis, dtype)


def cumsum(x: Array, axis: int) -> Array:
    return _running(lambda a, b: a + b, x, axis)


def cumprod(x: Array, axis: int) -> Array:
    return _running(lambda a, b: a * b, x, axis)


def logcumsumexp(x: Array, axis: int) -> Array:
    return _running(ELEMENTARY["logaddexp"], x, axis)


def _records(is_record: Callable) -> Callable:
    def run(x: Array, axis: int) -> tuple[Array, Array]:
        if not x.ndim:
            return made(elements(x), (), x.dtype), made([0], (), INT64)
        values, indices = [], []
        for line in _lines(x, axis):
            at, out = 0, []
            for k, value in enumerate(line):
                if value != value or is_record(value, line[at]):
                    at = k
                out.append(at)
            indices.append(out)
            values.append([line[k] for k in out])
        return _along(values, x.shape, axis, x.dtype), _along(indices, x.shape, axis, INT64)

    return run


cummax = _records(lambda value, best: value >= best)
cummin = _records(lambda value, best: value <= best)


def recurrence(a: Array, b: Array, axis: int) -> Array:
    """``s[i] = a[i] * s[i - 1] + b[i]`` along ``axis``, with ``s[-1] = 0``."""
    outs = []
    for factors, terms in zip(_lines(a, axis), _lines(b, axis), strict=True):
        out: list = []
        for factor, term in zip(factors, terms, strict=True):
            out.append(factor * out[-1] + term if out else term)
        outs.append(out)
    return _along(outs, b.shape, axis, b.dtype)
