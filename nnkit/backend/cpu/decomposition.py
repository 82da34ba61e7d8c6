"""Inverses, determinants and factorizations, by the LAPACK that NumPy has."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import linalg

from nnkit.backend.cpu import native
from nnkit.backend.errors import (
    INDEFINITE,
    SINGULAR,
    UNSOLVED,
    LinAlgError,
    of_first_failure,
)

_BOUND = (1 + math.sqrt(17)) / 8  # of how much elements grow, which Bunch and Kaufman found best
_FAR_FROM_SINGULAR = 1e5  # condition numbers with which inverses in double have enough digits
_TINY = 5  # of fewer rows and columns LAPACK has kernels of their own


def _checked(kernel: Callable) -> Callable:
    """NumPy's errors of singular or indefinite matrices as nnkit's, which name the matrix."""

    @functools.wraps(kernel)
    def run(*arguments: Any) -> Any:
        try:
            return kernel(*arguments)
        except linalg.LinAlgError as error:
            name = "inv" if kernel.__name__ == "inverse" else kernel.__name__
            x, what = arguments[0], _FAILURES.get(name)
            spoiled = np.isnan(x).any((-2, -1), keepdims=True)
            if name in ("inv", "solve") and spoiled.any():  # which LAPACK takes for singular
                clean = np.where(spoiled, np.eye(x.shape[-1], dtype=x.dtype), x)
                out = run(clean, *arguments[1:])
                return _by_columns(np.where(spoiled, x.dtype.type(np.nan), out))
            if what is not None:
                orders = _orders_to_failure(name, x)
                if any(orders):
                    failed = of_first_failure(
                        LinAlgError, f"linalg.{name}", what, orders, x.ndim > 2
                    )
                    raise failed from None
            raise LinAlgError(f"linalg.{name}: {error}") from None

    return run


def _orders_to_failure(name: str, x: np.ndarray) -> list[int]:
    """For each matrix up to the first that fails, where it does, counted from 1, or 0."""
    orders = []
    for matrix in x.reshape(-1, *x.shape[-2:]):
        info = cholesky_info(matrix) if name == "cholesky" else _factored(matrix)[2]
        orders.append(int(info))
        if orders[-1]:
            break
    return orders


_FAILURES = {"inv": SINGULAR, "solve": UNSOLVED, "cholesky": INDEFINITE}


def _by_columns(x: np.ndarray) -> np.ndarray:
    """The same matrices with each column's elements next to each other, as LAPACK and torch leave
    them; NumPy turns them round."""
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


def _by_rows(x: np.ndarray) -> np.ndarray:
    """The same vectors one after another; NumPy's lie as the matrices do."""
    return np.ascontiguousarray(x)


@_checked
def inverse(x: np.ndarray) -> np.ndarray:
    return _by_columns(linalg.inv(x))


@_checked
def solve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _by_columns(linalg.solve(x, y))


def det(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):  # in NumPy's own frames
        if _is_eliminated(x):
            pivots, sign = _pivots(x)
            return np.asarray(sign * pivots.prod(-1))
        return np.asarray(np.where(_is_nan(x), x.dtype.type(np.nan), linalg.det(x)))


def slogdet(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if _is_eliminated(x):
        pivots, sign = _pivots(x)
        sign, logabsdet = sign * np.sign(pivots).prod(-1), np.log(np.abs(pivots)).sum(-1)
    else:
        sign, logabsdet = linalg.slogdet(x)
    return np.where(_is_nan(x), 0, sign).astype(x.dtype), np.where(_is_nan(x), np.nan, logabsdet)


def _is_eliminated(x: np.ndarray) -> bool:
    """Whether matrices are so small that Gauss' elimination leaves torch's very bits; the
    determinant of a singular matrix is nothing but such last bits."""
    return x.shape[-1] < _TINY and x.dtype.kind == "f"


def _pivots(x: np.ndarray) -> tuple[np.ndarray, Any]:
    """The pivots of the transposes, as in torch, and the sign that the exchanges of rows give
    their product."""
    if x.ndim == 2:
        return _pivots_of_one(x)
    factors, exchanged, _ = _factored(x.swapaxes(-1, -2))
    odd = (exchanged != np.arange(1, x.shape[-1] + 1)).sum(-1) % 2
    return factors.diagonal(axis1=-2, axis2=-1), (1 - 2 * odd).astype(x.dtype)


def _pivots_of_one(x: np.ndarray) -> tuple[np.ndarray, Any]:
    """The pivots and the sign of one matrix, number by number, which is several times as quick."""
    rows, sign, pivots = [list(row) for row in x.T], 1, []
    for left in range(len(rows), 0, -1):
        sizes = [math.inf if row[0] != row[0] else abs(row[0]) for row in rows]
        chosen = sizes.index(max(sizes))
        if chosen:
            rows[0], rows[chosen], sign = rows[chosen], rows[0], -sign
        (pivot, *first), *rest = rows
        pivots.append(pivot)
        scale = 1 / (pivot or 1)
        divides = left == 2 or abs(scale) == math.inf
        rows = []
        for size, *row in rest:
            factor = size / (pivot or 1) if divides else size * scale
            rows.append([y - factor * z for y, z in zip(row, first)])
    return np.array(pivots, x.dtype), x.dtype.type(sign)


def _is_nan(x: np.ndarray) -> np.ndarray:
    """Whether there is a NaN in a matrix: LAPACK may take what it makes of it for a zero."""
    return np.asarray(np.isnan(x).any((-2, -1)))


def adjugate(x: np.ndarray) -> np.ndarray:
    """``det(x) * inverse(x)``, which singular matrices have too."""
    wide = x.astype(np.result_type(x.dtype, np.float64))
    try:
        inverse = linalg.inv(wide)
    except linalg.LinAlgError:
        return _adjugate_of_any(x)
    sizes = [np.abs(m).sum(-1).max(-1, initial=0) for m in (wide, inverse)]
    if not (sizes[0] * sizes[1] < _FAR_FROM_SINGULAR).all():
        return _adjugate_of_any(x)
    with np.errstate(over="ignore", invalid="ignore"):
        return (linalg.det(wide)[..., None, None] * inverse).astype(x.dtype)


def _adjugate_of_any(x: np.ndarray) -> np.ndarray:
    """The adjugate from the singular values, for matrices that are nearly singular."""
    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    u, s, vh = linalg.svd(np.where(finite, x, 0))
    n = s.shape[-1]
    others = np.ones(s.shape, s.dtype)
    for i in range(n):
        others[..., i] = np.delete(s, i, -1).prod(-1)
    phase = (linalg.det(u) * linalg.det(vh))[..., None, None]
    v, uh = vh.swapaxes(-1, -2).conj(), u.swapaxes(-1, -2).conj()
    return np.where(finite, phase * np.matmul(v * others[..., None, :], uh), np.nan)


def _triangle(x: np.ndarray) -> np.ndarray:
    """The Cholesky factor. LAPACKs differ in whether they refuse a NaN that they meet, and what is
    divided by an infinity."""
    out = linalg.cholesky(x)
    diagonal = out.diagonal(0, -2, -1)
    if np.isnan(diagonal).any() or np.isinf(diagonal[..., :-1]).any():
        raise linalg.LinAlgError("Matrix is not positive definite")
    return out


@_checked
def cholesky(x: np.ndarray) -> np.ndarray:
    return _by_columns(_triangle(x))


def qr(x: np.ndarray, mode: Any) -> tuple[np.ndarray, np.ndarray]:
    q, r = linalg.qr(x, "reduced" if mode == "r" else mode)
    return _by_columns(q), _by_columns(r)


@_checked
def svd(x: np.ndarray, full_matrices: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    u, s, vh = linalg.svd(x, full_matrices)
    return _by_columns(u), _by_rows(s), _by_columns(vh)


@_checked
def svdvals(x: np.ndarray) -> np.ndarray:
    return _by_rows(linalg.svd(x, compute_uv=False))


@_checked
def eigh(x: np.ndarray, uplo: Any) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = linalg.eigh(x, uplo)
    return _by_rows(values), _by_columns(vectors)


@_checked
def eigvalsh(x: np.ndarray, uplo: Any) -> np.ndarray:
    return _by_rows(linalg.eigvalsh(x, uplo))


def _complex_of(x: np.ndarray) -> Any:
    """The dtype of eigenvalues; RuntimeError where they have none."""
    if not np.isfinite(x).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    return np.result_type(x.dtype, np.complex64)


@_checked
def eig(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    kind = _complex_of(x)
    values, vectors = linalg.eig(x)
    return _by_rows(values.astype(kind)), _by_columns(vectors.astype(kind))


@_checked
def eigvals(x: np.ndarray) -> np.ndarray:
    kind = _complex_of(x)
    return _by_rows(linalg.eigvals(x).astype(kind))


def solve_triangular(x: np.ndarray, y: np.ndarray, upper: bool, unitriangular: bool) -> np.ndarray:
    """Solve by substitution, a row at a time for the whole batch."""
    shape = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    out = np.broadcast_to(y, shape + y.shape[-2:]).swapaxes(-1, -2).copy().swapaxes(-1, -2)
    n = x.shape[-1]
    for i in reversed(range(n)) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        out[..., i, :] -= np.matmul(x[..., i, None, known], out[..., known, :])[..., 0, :]
        if not unitriangular:
            out[..., i, :] /= x[..., i, i, None]
    return out


def geqrf(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R with the Householder vectors below its diagonal, and their scales, as in LAPACK."""
    reflectors, scales = linalg.qr(x, "raw")
    return _by_columns(reflectors.swapaxes(-1, -2)), _by_rows(scales)


def lu_factor(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L below the diagonal and U above it, by Gauss with partial pivots, a column at a time for the
    whole batch; which row each was exchanged with, counted from 1; and the first pivot of 0."""
    *batch, rows, columns = x.shape
    steps = min(rows, columns)
    out = x.reshape(-1, rows, columns).copy() if x.size else np.empty((0, rows, columns), x.dtype)
    every = np.arange(len(out))
    pivots, info = np.zeros((len(out), steps), np.int32), np.zeros(len(out), np.int32)
    for k in range(steps):
        column: Any = out[:, k:, k]
        size = np.abs(column.real) + np.abs(column.imag)  # as LAPACK compares
        chosen = size.argmax(1) + k
        pivots[:, k] = chosen + 1
        row = out[every, chosen]
        out[every, chosen] = out[:, k]
        out[:, k] = row
        pivot = row[:, k]
        info[(pivot == 0) & (info == 0)] = k + 1
        pivot = np.where(pivot == 0, 1, pivot)[:, None]
        # Rounded as in torch's LAPACK, which divides only what would overflow, complex numbers, and
        # the last element of a tiny matrix.
        if x.dtype.kind == "c" or rows == columns < _TINY and k == rows - 2:
            out[:, k + 1 :, k] /= pivot
        else:
            below, scale = out[:, k + 1 :, k], 1 / pivot
            out[:, k + 1 :, k] = np.where(np.isinf(scale), below / pivot, below * scale)
        out[:, k + 1 :, k + 1 :] -= out[:, k + 1 :, k, None] * out[:, k, None, k + 1 :]
    count = int(np.prod(batch))
    if not x.size:
        pivots = np.broadcast_to(np.arange(1, steps + 1, dtype=np.int32), (count, steps)).copy()
        info = np.zeros(count, np.int32)
    shape = (*batch, rows, columns)
    return _by_columns(out.reshape(shape)), pivots.reshape(*batch, steps), info.reshape(batch)


_factored = native.bind("lu_factor", lu_factor)


def pivot_order(pivots: np.ndarray, size: int) -> np.ndarray:
    """The row of the matrix that each row of the factors comes from."""
    order = np.broadcast_to(np.arange(size), (*pivots.shape[:-1], size)).copy()
    flat = order.reshape(-1, size) if size else order.reshape(math.prod(pivots.shape[:-1]), 0)
    exchanged = pivots.reshape(len(flat), pivots.shape[-1]) - 1
    every = np.arange(len(flat))
    for k in range(pivots.shape[-1]):
        other = exchanged[:, k]
        flat[every, k], flat[every, other] = flat[every, other], flat[every, k].copy()
    return flat.reshape(order.shape)


def cholesky_info(x: np.ndarray) -> np.ndarray:
    """The order of the first leading minor that is not positive definite, 0 if all are."""
    info = np.zeros(x.shape[:-2], np.int32)
    if not _is_definite(x):  # of all at once, since most are
        for place in np.ndindex(info.shape):
            info[place] = _first_indefinite(x[place])
    return info


def _first_indefinite(x: np.ndarray) -> int:
    if _is_definite(x):
        return 0
    definite, indefinite = 0, len(x)  # orders: a minor is if all that it contains are
    while indefinite - definite > 1:
        order = (definite + indefinite) // 2
        if _is_definite(x[:order, :order]):
            definite = order
        else:
            indefinite = order
    return indefinite


def _is_definite(x: np.ndarray) -> bool:
    try:
        _triangle(x)
    except linalg.LinAlgError:
        return False
    return True


def cholesky_until(x: np.ndarray, info: np.ndarray) -> np.ndarray:
    """Where the factorization came to, column after column: those before the pivot that failed,
    that pivot, and the rest of ``x`` as it was."""
    out = np.tril(x)
    for place in np.ndindex(info.shape):
        k = int(info[place]) - 1
        if k >= 0:
            part = out[place]
            part[:k, :k] = _triangle(part[:k, :k])
            part[k:, :k] = linalg.solve(part[:k, :k], part[k:, :k].conj().T).conj().T
            part[k, k] -= np.vdot(part[k, :k], part[k, :k])
    return _by_columns(out)


# Symmetric matrices that need not be definite


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
        np.fill_diagonal(a, np.real(a.diagonal()))
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
            np.fill_diagonal(a[rest, rest], np.real(a[rest, rest].diagonal()))
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
    """The solutions for matrices whose factors are given.

    RuntimeError where a pivot names no row, or half a block.
    """
    n = x.shape[-1]
    if pivots.size and not 0 < np.abs(pivots).min() <= np.abs(pivots).max() <= n:
        raise RuntimeError(f"linalg.ldl_solve(): pivots must lie between 1 and {n} in size")
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
        if width == 2 and (k + 1 == len(a) or pivots[k + 1] != pivots[k]):
            raise RuntimeError("linalg.ldl_solve(): pivots below 0 must come in pairs of one size")
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
