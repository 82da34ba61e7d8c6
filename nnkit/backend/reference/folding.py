"""The windows of an array as the columns of a matrix, and columns added up to an array."""

from __future__ import annotations

import itertools
import math

from nnkit.backend.windows import window_counts


def _places(kernel, size, stride, dilation):
    """For each place in the kernel, what it meets in a padded array (N, C, *spatial)."""
    for tap in itertools.product(*map(range, kernel)):
        starts = (k * d for k, d in zip(tap, dilation, strict=True))
        ends = zip(starts, size, stride, strict=True)
        yield (..., *(slice(start, start + (n - 1) * s + 1, s) for start, n, s in ends))


def _widths(padding):
    return ((0, 0), (0, 0), *((p, p) for p in padding))


def im2col(B, x, kernel, dilation, padding, stride):
    """The windows of (N, C, *spatial) as columns (N, C * prod(kernel), number of windows)."""
    size = window_counts(x.shape[2:], kernel, stride, padding, dilation)
    padded = B.pad(x, _widths(padding), 0)
    taps = [B.getitem(padded, place) for place in _places(kernel, size, stride, dilation)]
    shape = (x.shape[0], x.shape[1] * math.prod(kernel), math.prod(size))
    return B.reshape(B.stack(taps, 2), shape)


def col2im(B, x, shape, kernel, dilation, padding, stride):
    """Add columns up where their windows lie in an array of ``shape``: the adjoint of `im2col`."""
    size = window_counts(shape[2:], kernel, stride, padding, dilation)
    room = tuple(n + 2 * p for n, p in zip(shape[2:], padding, strict=True))
    out = B.zeros((*shape[:2], *room), x.dtype)
    columns = B.reshape(x, (*shape[:2], math.prod(kernel), *size))
    for k, place in enumerate(_places(kernel, size, stride, dilation)):
        B.add_(B.getitem(out, place), B.getitem(columns, (slice(None), slice(None), k)))
    inner = (slice(p, p + n) for n, p in zip(shape[2:], padding, strict=True))
    return B.contiguous(B.getitem(out, (..., *inner)))
