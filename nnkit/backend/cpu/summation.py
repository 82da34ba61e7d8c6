"""Sums of many numbers, along any axes.

NumPy adds pairwise along the last axis only: along another one the error grows with the length, and
each short row costs some 20 ns. Products with ones leave the additions to BLAS, in blocks so short
that rounding errors stay those of a pairwise sum, and are two to ten times faster.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROWS = 128  # terms that one product with ones adds one after the other
COLUMNS = 1024  # the same along the last axis, where BLAS keeps many partial sums

# A vector of ones: a sum of few numbers is a product with it, at half the cost of `add.reduce`.
ONES = {np.dtype(d): np.ones(COLUMNS, d) for d in (np.float32, np.float64)}


def large_sum(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    """The sum of a float32 or float64 array along ``axis`` (None: all axes; int; tuple)."""
    ndim, shape = x.ndim, x.shape
    if axis is None:
        summed = set(range(ndim))
    else:
        summed = {a % ndim for a in ((axis,) if isinstance(axis, int) else axis)}
    order = list(range(ndim))
    if not x.flags.c_contiguous:
        # In the order of its strides a transposed array is contiguous and needs no copy.
        order.sort(key=lambda a: -abs(x.strides[a]))
        x = np.ascontiguousarray(x.transpose(order))
    count = inner = 1
    for a in reversed(order):
        if a in summed:
            count *= shape[a]
            continue
        if count > 1:
            x = _middle(x.reshape(-1, count, inner))
            count = 1
        inner *= shape[a]
    if count > 1:
        x = _middle(x.reshape(-1, count, inner))
    kept = [a for a in order if a not in summed]
    out = x.reshape([shape[a] for a in kept])
    if kept != sorted(kept):
        out = out.transpose([kept.index(a) for a in sorted(kept)])
    return np.expand_dims(out, tuple(summed)) if keepdims else out


def _middle(x: np.ndarray) -> np.ndarray:
    """Sum a contiguous array of shape (outer, count, inner) to (outer, inner)."""
    outer, count, inner = x.shape
    ones = ONES[x.dtype]
    if inner == 1:
        rows, block = x.reshape(outer, count), COLUMNS
        if count <= block:
            return np.dot(rows, ones[:count])
    else:
        rows, block = x, ROWS
        if count <= block:
            return np.matmul(ones[:count], rows)
    blocks = count // block
    whole, rest = rows[:, : blocks * block], rows[:, blocks * block :]
    if inner == 1:
        partial = np.dot(whole.reshape(outer, blocks, block), ones)
    else:
        partial = np.matmul(ones[:block], whole.reshape(outer, blocks, block, inner))
    total = _middle(partial.reshape(outer, blocks, inner))
    if rest.shape[1]:
        total += _middle(rest.reshape(outer, -1, inner)).reshape(total.shape)
    return total


def square_sum(x: np.ndarray) -> np.ndarray:
    """The sum of the squares of a contiguous float32 or float64 array, which are never stored."""
    flat = x.reshape(-1)
    whole = flat.size // COLUMNS * COLUMNS
    blocks, rest = flat[:whole].reshape(-1, COLUMNS), flat[whole:]
    return np.asarray(np.add.reduce(np.vecdot(blocks, blocks)) + np.dot(rest, rest))
