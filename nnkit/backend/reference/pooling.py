"""Pools, place by place in their windows; layout (N, C, *spatial)."""

from __future__ import annotations

import itertools
import math

from nnkit.backend.dtype import INTEGER, OF_ARRAY, int64
from nnkit.backend.windows import part_bounds, window_counts


def _plane(B, spatial):
    """The index of each element in its flat plane."""
    return B.reshape(B.arange(0, math.prod(spatial), 1, int64.array), spatial)


def _flat(B, x):
    """(N, C, *spatial) as (N, C, elements of a plane)."""
    return B.reshape(x, (*x.shape[:2], math.prod(x.shape[2:])))


def _largest(B, pairs):
    """The largest of values that are met one after the other, each with its index; -1 is nowhere.

    The first of equal values wins; the last NaN wins over everything.
    """
    best = index = None
    for values, at in pairs:
        at = B.expand(at, values.shape)
        if best is None:
            best, index = values, at
            continue
        larger = B.logical_or(B.gt(values, best), B.ne(values, values))
        larger = B.logical_or(larger, B.lt(index, 0))
        larger = B.logical_and(larger, B.ge(at, 0))
        best, index = B.where(larger, values, best), B.where(larger, at, index)
    return B.contiguous(best), B.contiguous(index)


def _regular(spatial, kernel, stride, padding, dilation, ceil):
    """The padding of a plane, the counts of its windows, and the slice of each place in them."""
    counts = window_counts(spatial, kernel, stride, padding, dilation, ceil)
    rows = list(zip(spatial, kernel, stride, padding, dilation, counts, strict=True))
    widths = tuple((p, max(0, (m - 1) * s + d * (k - 1) + 1 - n - p)) for n, k, s, p, d, m in rows)
    places = []
    for tap in itertools.product(*map(range, kernel)):
        starts = (t * d for t, (_, _, _, _, d, _) in zip(tap, rows, strict=True))
        ends = zip(starts, stride, counts, strict=True)
        places.append((..., *(slice(a, a + (m - 1) * s + 1, s) for a, s, m in ends)))
    return widths, counts, places


def max_pool(B, x, kernel, stride, padding, dilation, ceil_mode):
    """The largest element of each window, and its index in the flat spatial plane."""
    spatial = tuple(x.shape[2:])
    widths, _, places = _regular(spatial, kernel, stride, padding, dilation, ceil_mode)
    index = B.pad(_plane(B, spatial), widths, -1)
    padded = B.pad(x, ((0, 0), (0, 0), *widths), 0)
    return _largest(B, ((B.getitem(padded, p), B.getitem(index, p)) for p in places))


def adaptive_max_pool(B, x, size):
    """`max_pool` with windows that divide each axis into ``size`` parts as evenly as can be."""
    bounds = [part_bounds(n, m) for n, m in zip(x.shape[2:], size, strict=True)]
    longest = [max(b - a for a, b in zip(*bound, strict=True)) for bound in bounds]
    index = _plane(B, tuple(x.shape[2:]))

    def read(y, tap):
        for axis, ((starts, ends), t) in enumerate(zip(bounds, tap, strict=True), -len(size)):
            # The shorter windows read their last element twice.
            at = B.array(
                [min(a + t, b - 1) for a, b in zip(starts, ends, strict=True)], int64.array
            )
            y = B.index_select(y, at, axis % y.ndim)
        return y

    taps = itertools.product(*map(range, longest))
    return _largest(B, ((read(x, tap), read(index, tap)) for tap in taps))


def max_pool_grad(B, g, indices, shape):
    """Zeros of ``shape`` to which ``g`` is added at ``indices`` (into each spatial plane)."""
    flat = B.zeros((*shape[:2], math.prod(shape[2:])), g.dtype)
    return B.reshape(B.scatter_add_(flat, _flat(B, indices), _flat(B, g), 2), shape)


def max_pool_gather(B, x, indices):
    """Elements of each spatial plane of ``x``, by flat index: the adjoint of `max_pool_grad`."""
    return B.reshape(B.gather(_flat(B, x), _flat(B, indices), 2), indices.shape)


def _divisor(B, spatial, kernel, stride, padding, ceil_mode, count_include_pad, dtype):
    """The number of elements that each window of an average pool counts."""
    ones = (1,) * len(kernel)
    widths, _, places = _regular(spatial, kernel, stride, padding, ones, ceil_mode)
    counted = B.pad(B.full(spatial, 1, dtype), tuple((p, p) for p in padding), count_include_pad)
    rest = tuple((0, max(0, after - p)) for (_, after), p in zip(widths, padding, strict=True))
    counted = B.pad(counted, rest, 0)
    return _total(B, [B.getitem(counted, place) for place in places])


def _total(B, terms):
    first, *others = terms
    for term in others:
        first = B.add(first, term)
    return first


def _share(B, x, spatial, kernel, stride, padding, ceil_mode, count_include_pad, divisor):
    if divisor is None:
        arguments = (spatial, kernel, stride, padding, ceil_mode, count_include_pad)
        divisor = _divisor(B, *arguments, x.dtype)
    whole = OF_ARRAY[x.dtype].category == INTEGER
    return B.div_trunc(x, divisor) if whole else B.div(x, divisor)


def avg_pool(B, x, kernel, stride, padding, ceil_mode, count_include_pad, divisor):
    """The sum of each window over ``divisor``, or over the number of its elements."""
    spatial, ones = tuple(x.shape[2:]), (1,) * len(kernel)
    widths, _, places = _regular(spatial, kernel, stride, padding, ones, ceil_mode)
    padded = B.pad(x, ((0, 0), (0, 0), *widths), 0)
    total = _total(B, [B.getitem(padded, place) for place in places])
    rest = (ceil_mode, count_include_pad, divisor)
    return _share(B, total, spatial, kernel, stride, padding, *rest)


def avg_pool_grad(B, g, shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor):
    """The adjoint of `avg_pool`: each window hands its share of ``g`` to its elements."""
    spatial, ones = tuple(shape[2:]), (1,) * len(kernel)
    rest = (ceil_mode, count_include_pad, divisor)
    share = _share(B, g, spatial, kernel, stride, padding, *rest)
    widths, _, places = _regular(spatial, kernel, stride, padding, ones, ceil_mode)
    room = tuple(n + before + after for n, (before, after) in zip(spatial, widths, strict=True))
    out = B.zeros((*shape[:2], *room), g.dtype)
    for place in places:
        B.add_(B.getitem(out, place), share)
    inner = (slice(before, before + n) for n, (before, _) in zip(spatial, widths, strict=True))
    return B.contiguous(B.getitem(out, (..., *inner)))


def adaptive_avg_pool(B, x, size):
    """The means of windows that divide each axis into ``size`` parts as evenly as can be."""
    for axis, count in enumerate(size, 2):
        lead = (slice(None),) * axis
        bounds = zip(*part_bounds(x.shape[axis], count), strict=True)
        means = [B.mean(B.getitem(x, (*lead, slice(a, b))), (axis,), False) for a, b in bounds]
        x = B.stack(means, axis) if means else B.getitem(x, (*lead, slice(0)))
    return x


def adaptive_avg_pool_grad(B, g, shape):
    """The adjoint of `adaptive_avg_pool` on an input of ``shape``."""
    for axis in range(2, len(shape)):
        lead = (slice(None),) * axis
        out = B.zeros((*g.shape[:axis], shape[axis], *g.shape[axis + 1 :]), g.dtype)
        for i, (a, b) in enumerate(zip(*part_bounds(shape[axis], g.shape[axis]), strict=True)):
            part = B.div(B.getitem(g, (*lead, slice(i, i + 1))), float(b - a))
            B.add_(B.getitem(out, (*lead, slice(a, b))), part)
        g = out
    return g


def _starts(B, samples, size, kernel, count):
    """The starts of a fractional pool's windows: (..., count) for samples (...) in [0, 1)."""
    last = B.full((*samples.shape, 1), size - kernel, int64.array)
    if count < 2:
        return B.getitem(last, (..., slice(count)))
    ends = (B.full((), n, samples.dtype) for n in (size - kernel, count - 1))
    alpha, sample = B.div(*ends), B.unsqueeze(samples, -1)
    counted = B.cast(B.arange(0, count - 1, 1, int64.array), samples.dtype)
    steps = B.cast(B.mul(B.add(counted, sample), alpha), int64.array)
    first = B.cast(B.mul(sample, alpha), int64.array)
    return B.concat((B.sub(steps, first), last), -1)


def fractional_max_pool(B, x, samples, kernel, size):
    """`max_pool` with windows at pseudo-random distances (Graham, 2014).

    ``samples`` is (N, C, axes), uniform in [0, 1): it places the windows of each plane.
    """
    planes, spatial = x.shape[:2], x.shape[2:]
    flat, corner, steps = _flat(B, x), B.full((1,) * x.ndim, 0, int64.array), []
    for axis, (n, k, count) in enumerate(zip(spatial, kernel, size, strict=True)):
        steps.append(math.prod(spatial[axis + 1 :]))
        start = B.mul(_starts(B, B.getitem(samples, (..., axis)), n, k, count), steps[-1])
        shape = (1,) * axis + (count,) + (1,) * (len(size) - axis - 1)
        corner = B.add(corner, B.reshape(start, (*planes, *shape)))
    pairs = []
    for tap in itertools.product(*map(range, kernel)):
        at = B.add(corner, sum(t * step for t, step in zip(tap, steps, strict=True)))
        values = B.gather(flat, B.reshape(at, (*planes, math.prod(size))), 2)
        pairs.append((B.reshape(values, at.shape), at))
    return _largest(B, pairs)


def max_unpool(B, x, indices, shape):
    """Zeros of ``shape`` in which ``x`` is written at ``indices`` (into each spatial plane).

    RuntimeError where an index is outside the plane.
    """
    plane = math.prod(shape[2:])
    wrong = B.masked_select(indices, B.logical_or(B.lt(indices, 0), B.ge(indices, plane)))
    if wrong.size:
        volume = "x".join(map(str, shape[2:]))
        raise RuntimeError(
            f"max_unpool(): Found an invalid max index: {B.item(B.getitem(wrong, (0,)))} "
            f"(output volumes are of size {volume})"
        )
    planes = B.zeros((*shape[:2], plane), x.dtype)
    return B.reshape(B.scatter(planes, _flat(B, indices), _flat(B, x), 2), shape)
