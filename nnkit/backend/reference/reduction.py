"""Means, variances, norms, extrema with their places: what sums and extrema along axes give.

``axis`` is None for all axes, an int, or a tuple of ints.
"""

from __future__ import annotations

import itertools
import math

from nnkit.backend.axes import kept_shape, norm_order, summed_axes, terms
from nnkit.backend.dtype import FLOATING, HALF, OF_ARRAY, float32, int64


def sum_to(B, x, shape):
    """Sum ``x`` down to a shape that broadcasts to its own."""
    axis = summed_axes(x.shape, shape)
    return B.reshape(B.sum(x, axis, True) if axis else x, shape)


def expand_reduced(B, x, shape, axis, keepdims):
    """Repeat what a reduction along ``axis`` of an array of ``shape`` gave over that array."""
    if not keepdims and x.ndim:
        x = B.reshape(x, tuple(kept_shape(shape, axis)))
    return B.expand(x, shape)


def nansum(B, x, axis, keepdims):
    return B.sum(B.without_nan(x), axis, keepdims)


def mean(B, x, axis, keepdims):
    return B.div(B.sum(x, axis, keepdims), float(terms(x.shape, axis)))


def var_mean(B, x, axis, correction, keepdims):
    """The squared distances from the mean are summed in a second pass, so nothing cancels."""
    average = B.mean(x, axis, True)
    deviation = B.abs(B.sub(x, average))
    total = B.sum(B.mul(deviation, deviation), axis, keepdims)
    freedom = terms(x.shape, axis) - correction
    variance = B.div(total, float(freedom) if freedom > 0 else 0.0)
    return variance, B.reshape(average, variance.shape)


def var(B, x, axis, correction, keepdims):
    return B.var_mean(x, axis, correction, keepdims)[0]


def std(B, x, axis, correction, keepdims):
    return B.sqrt(B.var(x, axis, correction, keepdims))


def std_mean(B, x, axis, correction, keepdims):
    return B.std(x, axis, correction, keepdims), B.mean(x, axis, keepdims)


def aminmax(B, x, axis, keepdims):
    return B.amin(x, axis, keepdims), B.amax(x, axis, keepdims)


def all(B, x, axis, keepdims):
    return B.eq(B.sum(B.eq(x, 0), axis, keepdims), 0)


def any(B, x, axis, keepdims):
    return B.gt(B.sum(B.ne(x, 0), axis, keepdims), 0)


def _first(B, reached, axis, keepdims):
    """The first index along ``axis`` at which ``reached`` is true."""
    if axis is None:
        flat = _first(B, B.reshape(reached, (-1,)), 0, False)
        return B.reshape(flat, (1,) * reached.ndim) if keepdims else flat
    if not reached.ndim:
        return B.full((), 0, int64.array)
    axis %= reached.ndim
    n = reached.shape[axis]
    index = B.reshape(B.arange(0, n, 1, int64.array), (n,) + (1,) * (reached.ndim - axis - 1))
    return B.amin(B.where(reached, index, n), axis, keepdims)


def _reached(B, x, extreme, axis):
    """The mask of elements of ``x`` that are its extreme along ``axis``; every NaN is."""
    return B.logical_or(B.eq(x, extreme(x, axis, True)), B.ne(x, x))


def argmax(B, x, axis, keepdims):
    """The first index of the maximum; a NaN is larger than everything."""
    return _first(B, _reached(B, x, B.amax, axis), axis, keepdims)


def argmin(B, x, axis, keepdims):
    """The first index of the minimum; a NaN is smaller than everything."""
    return _first(B, _reached(B, x, B.amin, axis), axis, keepdims)


def max(B, x, axis, keepdims):
    return B.amax(x, axis, keepdims), B.argmax(x, axis, keepdims)


def min(B, x, axis, keepdims):
    return B.amin(x, axis, keepdims), B.argmin(x, axis, keepdims)


def _scanned(B, x, axis, step):
    """The running results of ``step(so far, next)`` along an axis."""
    if not x.ndim or not x.shape[axis]:
        return B.copy(x)
    return B.stack(list(itertools.accumulate(B.unbind(x, axis % x.ndim), step)), axis)


def _summable(B, x):
    return x if OF_ARRAY[x.dtype].category >= FLOATING else B.cast(x, int64.array)


def cumsum(B, x, axis):
    return _scanned(B, _summable(B, x), axis, B.add)


def cumprod(B, x, axis):
    return _scanned(B, _summable(B, x), axis, B.mul)


def logcumsumexp(B, x, axis):
    return _scanned(B, x, axis, B.logaddexp)


def recurrence(B, a, b, axis):
    """``s[i] = a[i] * s[i - 1] + b[i]`` along ``axis``, with ``s[-1] = 0``."""
    if not b.shape[axis]:
        return B.copy(b)
    factors, terms = B.unbind(a, axis % a.ndim), B.unbind(b, axis % b.ndim)
    totals = [terms[0]]
    for factor, term in zip(factors[1:], terms[1:], strict=True):
        totals.append(B.add(B.mul(factor, totals[-1]), term))
    return B.stack(totals, axis)


def _records(B, x, axis, reaches):
    """The running extremes, and the index of the last element that reached each; a NaN does."""
    if not x.ndim or not x.size:
        return B.copy(x), B.full(x.shape, 0, int64.array)
    best, *rest = B.unbind(x, axis % x.ndim)
    index = B.full(best.shape, 0, int64.array)
    records = [(best, index)]
    for place, value in enumerate(rest, 1):
        reached = B.logical_or(reaches(value, best), B.ne(value, value))
        best, index = B.where(reached, value, best), B.where(reached, place, index)
        records.append((best, index))
    values, indices = zip(*records, strict=True)
    return B.stack(values, axis), B.stack(indices, axis)


def cummax(B, x, axis):
    return _records(B, x, axis, B.ge)


def cummin(B, x, axis):
    return _records(B, x, axis, B.le)


def logsumexp(B, x, axis, keepdims):
    """The largest element is taken out first, unless it is infinite, so that nothing overflows."""
    if 0 in x.shape:
        return B.log(B.sum(x, axis, keepdims))
    largest = B.amax(B.real(x) if OF_ARRAY[x.dtype].is_complex else x, axis, True)
    largest = B.where(B.isfinite(largest), largest, B.zeros_like(largest))
    total = B.log(B.sum(B.exp(B.sub(x, largest)), axis, keepdims))
    return B.add(total, B.reshape(largest, total.shape))


def norm(B, x, p, axis, keepdims):
    """``sum(|x|^p)^(1/p)`` and its limits: the largest, the smallest, the number of non-zeros."""
    size, p = B.abs(x), norm_order(x.shape, p, axis)
    if p == math.inf:
        return B.amax(size, axis, keepdims)
    if p == -math.inf:
        return B.amin(size, axis, keepdims)
    if p == 0:
        return B.sum(B.cast(B.ne(size, 0), size.dtype), axis, keepdims)
    if p == 2:
        return B.sqrt(B.sum(B.mul(size, size), axis, keepdims))
    return B.pow(B.sum(B.pow(size, p), axis, keepdims), 1 / p)


def _distance(B, x, p):
    """The norms of differences along the last axis. As in torch a NaN is counted as one, and the
    largest of none is 0."""
    if p == 0 or not x.shape[-1]:
        return B.sum(B.minimum(B.ceil(B.abs(x)), 1), -1, False)
    return B.norm(x, p, -1, False)


def _distance_grad(B, g, x, out, p):
    """The gradient of a distance. As in torch each difference that reaches the largest one gets the
    whole gradient, that of a NaN is NaN, and that of a distance of 0 is 0, whatever the gradient
    is."""
    g, length = B.unsqueeze(g, -1), B.unsqueeze(out, -1)
    nowhere = B.eq(length, 0)
    if p == 2:
        return B.where(nowhere, 0, B.div(B.mul(g, x), B.where(nowhere, 1, length)))
    if p == 1 or p == math.inf:
        g = B.mul(g, B.where(B.isnan(x), x, B.sign(x)))
        if p == 1:
            return g
        gap = B.floor(B.sub(B.abs(x), length))
        return B.mul(g, B.add(B.maximum(gap, -1), 1))
    size = B.abs(x)
    if p < 1:
        slope = B.where(B.eq(x, 0), 0, B.pow_scalar(size, p - 1))
        return B.mul(B.mul(B.abs_grad_x(slope, x), g), B.pow_scalar(length, 1 - p))
    share = B.where(nowhere, 0, B.div(g, B.where(nowhere, 1, B.pow_scalar(length, p - 1))))
    if p < 2:
        return B.mul(B.abs_grad_x(B.pow_scalar(size, p - 1), x), share)
    return B.mul(B.mul(x, B.pow_scalar(size, p - 2)), share)


def _differences(B, x, y):
    return B.sub(B.unsqueeze(x, -2), B.unsqueeze(y, -3))


def cdist(B, x, y, p):
    return _distance(B, _differences(B, x, y), p)


def cdist_grad(B, g, x, y, out, p):
    """The gradient for ``x`` of the distances ``out``; a count of differences has none."""
    if p == 0:
        return B.zeros_like(x)
    return B.sum(_distance_grad(B, g, _differences(B, x, y), out, p), -2, False)


def row_pairs(B, x):
    """The positions of all pairs of rows i < j, one after the other."""
    return tuple(B.unbind(B.triu_indices(x.shape[0], x.shape[0], 1, int64.array), 0))


def _paired(B, x):
    """The differences of all pairs of rows, and where the rows are."""
    first, second = B.row_pairs(x)
    return B.sub(B.index_select(x, first, 0), B.index_select(x, second, 0)), first, second


def pdist(B, x, p):
    return _distance(B, _paired(B, x)[0], p)


def pdist_grad(B, g, x, out, p):
    if p == 0:
        return B.zeros_like(x)
    shape = tuple(x.shape)
    differences, first, second = _paired(B, x)
    slopes = _distance_grad(B, g, differences, out, p)
    added = B.index_select_adjoint(slopes, first, 0, shape)
    return B.sub(added, B.index_select_adjoint(slopes, second, 0, shape))


def renorm(B, x, p, axis, maxnorm):
    """``x`` by rows, scaled down where its norm over some axes exceeds ``maxnorm``."""
    x, half = B.contiguous(x), x.dtype in HALF
    size = B.norm(B.cast(x, float32.array) if half else x, p, axis, True)
    # torch adds 1e-7 so that the result stays below the limit.
    factor = B.where(B.gt(size, maxnorm), B.div(maxnorm, B.add(size, 1e-7)), 1.0)
    return B.mul(x, B.cast(factor, x.dtype) if half else factor)
