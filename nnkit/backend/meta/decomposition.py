"""Factors of matrices without memory."""

from __future__ import annotations

import numpy as np

from nnkit.backend.meta.array import Meta, empty


def _real(x: Meta) -> np.dtype:
    return np.zeros(0, x.dtype).real.dtype


def _by_columns(shape: tuple, dtype: np.dtype) -> Meta:
    """Matrices as LAPACK leaves them."""
    turned = (*shape[:-2], shape[-1], shape[-2])
    axes = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
    return empty(turned, dtype).transpose(axes)


def inverse(x: Meta) -> Meta:
    return _by_columns(x.shape, x.dtype)


cholesky = inverse


def solve(x: Meta, y: Meta) -> Meta:
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return _by_columns((*lead, *y.shape[-2:]), y.dtype)


def solve_triangular(x: Meta, y: Meta, upper: bool, unitriangular: bool) -> Meta:
    return solve(x, y)


def lu_factor(x: Meta) -> tuple[Meta, Meta, Meta]:
    int32, least = np.dtype(np.int32), min(x.shape[-2:])
    return (
        _by_columns(x.shape, x.dtype),
        empty((*x.shape[:-2], least), int32),
        empty(x.shape[:-2], int32),
    )


def ldl_factor(x: Meta, hermitian: bool) -> tuple[Meta, Meta, Meta]:
    return lu_factor(x)


def ldl_solve(x: Meta, pivots: Meta, y: Meta, hermitian: bool) -> Meta:
    return solve(x, y)


def geqrf(x: Meta) -> tuple[Meta, Meta]:
    tau = empty((*x.shape[:-2], min(x.shape[-2:])), x.dtype)
    return _by_columns(x.shape, x.dtype), tau


def det(x: Meta) -> Meta:
    return empty(x.shape[:-2], x.dtype)


def slogdet(x: Meta) -> tuple[Meta, Meta]:
    return empty(x.shape[:-2], x.dtype), empty(x.shape[:-2], _real(x))


def cholesky_info(x: Meta) -> Meta:
    return empty(x.shape[:-2], np.dtype(np.int32))


def cholesky_until(x: Meta, info: Meta) -> Meta:
    return inverse(x)


def qr(x: Meta, mode: str) -> tuple[Meta, Meta]:
    *lead, m, n = x.shape
    k = m if mode == "complete" else min(m, n)
    q = (0,) if mode == "r" else (*lead, m, k)
    r = _by_columns((*lead, k, n), x.dtype)
    return (empty if mode == "r" else _by_columns)(q, x.dtype), r


def svd(x: Meta, full_matrices: bool) -> tuple[Meta, Meta, Meta]:
    *lead, m, n = x.shape
    k = min(m, n)
    rows, columns = (m, n) if full_matrices else (k, k)
    u, vh = empty((*lead, m, rows), x.dtype), empty((*lead, columns, n), x.dtype)
    return u, empty((*lead, k), _real(x)), vh


def eigh(x: Meta, uplo: str) -> tuple[Meta, Meta]:
    return empty(x.shape[:-1], _real(x)), empty(x.shape, x.dtype)


def eig(x: Meta) -> tuple[Meta, Meta]:
    dtype = np.result_type(x.dtype, np.complex64)
    return empty(x.shape[:-1], dtype), empty(x.shape, dtype)


def lstsq(x: Meta, y: Meta, rtol: float, by_values: bool) -> tuple[Meta, Meta]:
    m, n = x.shape[-2:]
    sides = y.shape[x.ndim - 1 :]
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[: -1 - len(sides)])
    out = _by_columns((*lead, max(m, n), *(sides or (1,))), x.dtype)[..., :n, :]
    return out if sides else out[..., 0], empty(x.shape[:-2], np.dtype(np.int64))
