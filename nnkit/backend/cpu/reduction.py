"""Sums, products, extrema and running totals along axes.

``axis`` is None for all axes, an int, or a tuple of ints. Indices and running totals take an int.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from nnkit.backend.axes import kept_shape, norm_order, terms
from nnkit.backend.cpu.creation import make_complex
from nnkit.backend.cpu.summation import ONES, ROWS, large_sum, square_sum
from nnkit.backend.dtype import HALF

F4, F8, I8 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
SMALL = 1024  # elements; up to here one plain reduction is as fast and as exact as any

asarray = np.asarray
# Results lie by rows whatever the order of the input, as torch's.
by_rows: Any = functools.partial(np.asarray, order="C")
_add: Any = np.add.reduce
_dot = np.ndarray.dot
_multiply: Any = np.multiply.reduce
_maximum: Any = np.maximum.reduce
_minimum: Any = np.minimum.reduce
_logical_and: Any = np.logical_and.reduce
_logical_or: Any = np.logical_or.reduce


def _widened(kernel, x: np.ndarray, *arguments: Any) -> np.ndarray:
    """The kernel in float32 on a float16 or bfloat16 array, rounded once."""
    return kernel(x.astype(F4), *arguments).astype(x.dtype)


def _accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype of running totals: double precision as in torch, int64 for integers."""
    if dtype is F4 or dtype in HALF:
        return F8
    if dtype.kind in "bui":
        return I8
    return np.dtype(np.complex128) if dtype.kind == "c" else dtype


def sum(x: Any, axis: Any, keepdims: bool) -> np.ndarray:
    dtype = x.dtype
    if dtype is F4 or dtype is F8:
        if x.size > SMALL:
            return by_rows(large_sum(x, axis, keepdims))
        if axis == (0,) and x.ndim == 2 and len(x) <= ROWS and not keepdims:
            return _dot(ONES[dtype][: len(x)], x)
    elif dtype in HALF:
        return _widened(sum, x, axis, keepdims)
    elif dtype.kind in "bui":
        return by_rows(_add(x, axis, I8, None, keepdims))
    elif dtype.kind == "c" and x.size > SMALL:
        return make_complex(sum(x.real, axis, keepdims), sum(x.imag, axis, keepdims))
    return by_rows(_add(x, axis, None, None, keepdims, 0))  # 0 + -0 is 0


def mean(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    if x.dtype in HALF:
        return _widened(mean, x, axis, keepdims)
    return _divided(sum(x, axis, keepdims), terms(x.shape, axis))


def _divided(total: np.ndarray, count: float) -> np.ndarray:
    """A fresh sum divided in place by a number of terms, which may be none."""
    if count > 0:
        total /= count
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            total /= 0.0
    return total


def prod(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    if x.dtype in HALF and (isinstance(axis, tuple) or not x.size):
        return _widened(prod, x, axis, keepdims)
    if x.dtype in HALF:  # rounded after each factor, as in torch
        along = x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0)
        out = np.multiply.accumulate(along, 0)[-1] if x.ndim else x
        return by_rows(out.reshape(kept_shape(x.shape, axis) if keepdims else out.shape).copy())
    dtype = I8 if x.dtype.kind in "bui" else None
    return by_rows(_multiply(x, axis, dtype, None, keepdims))


def var_mean(
    x: np.ndarray, axis: Any, correction: float, keepdims: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The squared distances from the mean are summed in a second pass, so nothing cancels."""
    if x.dtype in HALF:
        variance, average = var_mean(x.astype(F4), axis, correction, keepdims)
        return variance.astype(x.dtype), average.astype(x.dtype)
    kept = mean(x, axis, True)
    deviation = x - kept
    if deviation.dtype.kind == "c":
        deviation = np.abs(deviation)
    deviation *= deviation
    total = sum(asarray(deviation), axis, keepdims)
    variance = _divided(total, terms(x.shape, axis) - correction)
    return variance, kept if keepdims else kept.reshape(variance.shape)


def std(x: np.ndarray, axis: Any, correction: float, keepdims: bool) -> np.ndarray:
    if x.dtype in HALF:
        return _widened(std, x, axis, correction, keepdims)
    variance, _ = var_mean(x, axis, correction, keepdims)
    return np.sqrt(variance, variance)


def amax(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    if x.dtype in HALF:
        return _widened(amax, x, axis, keepdims)
    return by_rows(_maximum(x, axis, None, None, keepdims))


def amin(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    if x.dtype in HALF:
        return _widened(amin, x, axis, keepdims)
    return by_rows(_minimum(x, axis, None, None, keepdims))


def argmax(x: Any, axis: int | None, keepdims: bool) -> np.ndarray:
    """The first index of the maximum; a NaN is larger than everything."""
    if x.dtype in HALF:
        x = x.astype(F4)
    return by_rows(x.argmax(axis, None, keepdims=keepdims))


def argmin(x: Any, axis: int | None, keepdims: bool) -> np.ndarray:
    """The first index of the minimum; a NaN is smaller than everything."""
    if x.dtype in HALF:
        x = x.astype(F4)
    return by_rows(x.argmin(axis, None, keepdims=keepdims))


def all(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    return by_rows(_logical_and(x, axis, np.bool_, None, keepdims))


def any(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    return by_rows(_logical_or(x, axis, np.bool_, None, keepdims))


def cumsum(x: np.ndarray, axis: int) -> np.ndarray:
    return _from_zero(_running(np.add.accumulate, x, axis))


def cumprod(x: np.ndarray, axis: int) -> np.ndarray:
    return _running(np.multiply.accumulate, x, axis)


def logcumsumexp(x: np.ndarray, axis: int) -> np.ndarray:
    return _from_zero(_running(np.logaddexp.accumulate, x, axis))


def _from_zero(totals: np.ndarray) -> np.ndarray:
    """Fresh sums that did not start from 0, as if they had."""
    totals += 0
    return totals


def _running(accumulate, x: np.ndarray, axis: int) -> np.ndarray:
    if not x.ndim:
        return _running(accumulate, x.reshape(1), 0).reshape(())
    if x.dtype in HALF:
        return _widened(lambda wide: _running(accumulate, wide, axis), x)
    accumulator = _accumulator(x.dtype)
    totals = accumulate(x, axis, accumulator)
    return by_rows(totals if accumulator.kind in "ib" else totals.astype(x.dtype, copy=False))


def cummax(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Running maxima and the index of the last element that reached each."""
    return _record(np.maximum.accumulate, x, axis)


def cummin(x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Running minima and the index of the last element that reached each."""
    return _record(np.minimum.accumulate, x, axis)


def _record(accumulate, x: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    if not x.ndim:
        return x.copy(), np.zeros((), I8)
    wide = x.astype(F4) if x.dtype in HALF else x
    values = accumulate(wide, axis)
    along = [1] * x.ndim
    along[axis] = -1
    positions = np.arange(x.shape[axis]).reshape(along)
    reached = (wide == values) | (wide != wide)  # a NaN is a record too
    indices = np.maximum.accumulate(np.where(reached, positions, 0), axis)
    return by_rows(values.astype(x.dtype, copy=False)), by_rows(indices)


def logsumexp(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    """The largest element is taken out first, unless it is infinite, so that nothing overflows.
    Half precision is rounded after each step, as in torch."""
    if not x.size:
        return asarray(np.log(sum(x, axis, keepdims)))
    largest = amax(np.real(x), axis, True)
    finite = np.isfinite(largest)
    if not finite.all():
        largest = np.where(finite, largest, 0).astype(x.dtype)
    out = asarray(x - largest)
    total = sum(np.exp(out, out), axis, keepdims)
    np.log(total, total)
    total += largest if keepdims else largest.reshape(total.shape)
    return total


def norm(x: np.ndarray, p: float, axis: Any, keepdims: bool) -> np.ndarray:
    """``sum(|x|^p)^(1/p)`` and its limits: the largest, the smallest, the number of non-zeros."""
    if x.dtype in HALF:
        return _widened(norm, x, p, axis, keepdims)
    p = norm_order(x.shape, p, axis)
    if p == 2 and axis is None and x.size > SMALL and x.dtype in (F4, F8) and x.flags.c_contiguous:
        root = np.sqrt(square_sum(x))
        return np.full((1,) * x.ndim, root) if keepdims else asarray(root)
    if p == 2 and x.dtype.kind == "f":
        total = sum(asarray(x * x), axis, keepdims)
        return np.sqrt(total, total)
    size = asarray(np.absolute(x))
    if p == 1:
        return sum(size, axis, keepdims)
    if p == math.inf:
        return amax(size, axis, keepdims)
    if p == -math.inf:
        return amin(size, axis, keepdims)
    if p == 0:
        return sum((size != 0).astype(size.dtype), axis, keepdims)
    total = sum(asarray(size**p), axis, keepdims)
    total **= 1 / p
    return total


def recurrence(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    """``s[i] = a[i] * s[i - 1] + b[i]`` along ``axis``, with ``s[-1] = 0``."""
    if a.dtype in HALF:
        return _widened(lambda wide: recurrence(a.astype(F4), wide, axis), b)
    out = b.copy()
    sums, factors = np.moveaxis(out, axis, 0), np.moveaxis(a, axis, 0)
    for i in range(1, len(sums)):
        sums[i] += factors[i] * sums[i - 1]
    return out
