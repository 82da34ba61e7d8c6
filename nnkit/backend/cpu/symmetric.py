"""Factors of symmetric and Hermitian matrices that need not be definite, as LAPACK's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_BOUND = (1 + math.sqrt(17)) / 8  # of how much elements grow, which Bunch and Kaufman found best


def ldl_factor(x: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L below the diagonal and D on it (and under it, in blocks of two), of the lower triangle;
    which row each was exchanged with, counted from 1, negative in blocks; and the first 0 in D."""
    *batch, n, _ = x.shape
    conjugates = hermitian and x.dtype.kind == "c"
    out = np.tril(x).swapaxes(-1, -2).copy().swapaxes(-1, -2)
    pivots, info = np.zeros((*batch, n), np.int32), np.zeros(batch, np.int32)
    for place in np.ndindex(*batch):
        info[place] = _factor(out[place], pivots[place], conjugates)
    return out, pivots, info


def _size(x: Any) -> Any:
    return np.abs(x.real) + np.abs(x.imag)  # as LAPACK compares


def _factor(a: np.ndarray, pivots: np.ndarray, conjugates: bool) -> int:
    """Factor one matrix in place."""
    n, k, info = len(a), 0, 0
    if conjugates:
        np.fill_diagonal(a, a.diagonal().real)
    while k < n:
        row, width = _pivot(a, k)
        if not width:
            pivots[k], info, k = k + 1, info or k + 1, k + 1
            continue
        last = k + width - 1
        if row != last:
            _exchange(a, k, last, row, conjugates)
        pivots[k : k + width] = row + 1 if width == 1 else -(row + 1)
        block, rest = slice(k, k + width), slice(k + width, n)
        below = a[rest, block].copy()
        other = below.conj() if conjugates else below
        if width == 1:
            a[rest, k] = below[:, 0] / a[k, k]
        elif len(below):
            a[rest, block] = _divided(below, a[block, block], conjugates)
        # What stands above the diagonal is not used, and stays 0.
        a[rest, rest] -= np.tril(a[rest, block] @ other.T)
        if conjugates:
            np.fill_diagonal(a[rest, rest], a[rest, rest].diagonal().real)
        k += width
    return info


def _pivot(a: np.ndarray, k: int) -> tuple[int, int]:
    """The row that comes to the place of the next one, or of the one after it, and whether one
    element of D or a block of two begins here; 0 where there is nothing but zeros."""
    own = _size(a[k, k])
    column = _size(a[k + 1 :, k])
    far = k + 1 + int(column.argmax()) if len(column) else k
    greatest = column.max(initial=0)
    if max(own, greatest) == 0:
        return k, 0
    if not len(column) or own >= _BOUND * greatest:
        return k, 1
    across = max(_size(a[far, k:far]).max(), _size(a[far + 1 :, far]).max(initial=0))
    if own >= _BOUND * greatest * (greatest / across):
        return k, 1
    return far, 1 if _size(a[far, far]) >= _BOUND * across else 2


def _exchange(a: np.ndarray, k: int, i: int, j: int, conjugates: bool) -> None:
    """Exchange the rows and columns i < j of the matrix from k on, whose lower half is here."""
    below, between = slice(j + 1, None), slice(i + 1, j)
    a[below, [i, j]] = a[below, [j, i]]
    a[between, i], a[j, between] = a[j, between].copy(), a[between, i].copy()
    if conjugates:
        a[between, i], a[j, between] = a[between, i].conj(), a[j, between].conj()
        a[j, i] = a[j, i].conj()
    a[i, i], a[j, j] = a[j, j], a[i, i]
    if i > k:
        a[[i, j], k] = a[[j, i], k]


def _divided(rows: np.ndarray, block: np.ndarray, conjugates: bool) -> np.ndarray:
    """``rows`` divided by a symmetric block of two from the right."""
    side = block[1, 0]
    scale = np.abs(side) if conjugates else side
    first, second, ratio = block[0, 0] / scale, block[1, 1] / scale, side / scale
    factor = 1 / (first * second - 1) / scale
    left, right = rows[:, 0], rows[:, 1]
    back = ratio.conj() if conjugates else ratio
    return np.stack(
        [factor * (second * left - ratio * right), factor * (first * right - back * left)], 1
    )


def ldl_solve(x: np.ndarray, pivots: np.ndarray, y: np.ndarray, hermitian: bool) -> np.ndarray:
    """The solutions for matrices whose factors are given."""
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    conjugates = hermitian and x.dtype.kind == "c"
    factors = np.broadcast_to(x, (*batch, *x.shape[-2:]))
    exchanged = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    right = np.broadcast_to(y, (*batch, *y.shape[-2:]))
    out = right.swapaxes(-1, -2).copy().swapaxes(-1, -2)
    for place in np.ndindex(*batch):
        _solve(factors[place], exchanged[place], out[place], conjugates)
    return out


def _solve(a: np.ndarray, pivots: np.ndarray, out: np.ndarray, conjugates: bool) -> None:
    blocks, k = [], 0
    while k < len(a):
        width = 1 if pivots[k] > 0 else 2
        blocks.append((k, width, abs(int(pivots[k])) - 1))
        k += width
    for k, width, row in blocks:
        last, block, rest = k + width - 1, slice(k, k + width), slice(k + width, None)
        out[[last, row]] = out[[row, last]]
        out[rest] -= a[rest, block] @ out[block]
        if width == 1:
            out[k] /= a[k, k]
        else:
            turned = a[block, block].conj() if conjugates else a[block, block]
            out[block] = _divided(out[block].T, turned, conjugates).T
    for k, width, row in reversed(blocks):
        block, rest = slice(k, k + width), slice(k + width, None)
        below = a[rest, block].conj() if conjugates else a[rest, block]
        out[block] -= below.T @ out[rest]
        last = k + width - 1
        out[[last, row]] = out[[row, last]]
