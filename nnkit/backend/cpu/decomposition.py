"""Inverses, determinants and factorizations, by the LAPACK that NumPy has."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import linalg

from nnkit.backend.errors import LinAlgError

__all__ = [
    "adjugate", "cholesky", "det", "eig", "eigh", "geqrf", "inverse", "qr", "slogdet", "solve",
    "solve_triangular", "svd",
]  # fmt: skip


def _checked(kernel: Callable) -> Callable:
    """NumPy's errors of singular or indefinite matrices as nnkit's."""

    @functools.wraps(kernel)
    def run(*arguments: Any) -> Any:
        try:
            return kernel(*arguments)
        except linalg.LinAlgError as error:
            name = "inv" if kernel.__name__ == "inverse" else kernel.__name__
            raise LinAlgError(f"linalg.{name}: {error}") from None

    return run


def _by_columns(x: np.ndarray) -> np.ndarray:
    """The same matrices with each column's elements next to each other, as LAPACK and torch leave
    them; NumPy turns them round."""
    return np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


@_checked
def inverse(x: np.ndarray) -> np.ndarray:
    return _by_columns(linalg.inv(x))


@_checked
def solve(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _by_columns(linalg.solve(x, y))


def det(x: np.ndarray) -> np.ndarray:
    return np.asarray(linalg.det(x))


def slogdet(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sign, logabsdet = linalg.slogdet(x)
    return np.asarray(sign), np.asarray(logabsdet)


def adjugate(x: np.ndarray) -> np.ndarray:
    """``det(x) * inverse(x)``, which singular matrices have too: from the singular values."""
    u, s, vh = linalg.svd(x)
    n = s.shape[-1]
    others = np.ones(s.shape, s.dtype)
    for i in range(n):
        others[..., i] = np.delete(s, i, -1).prod(-1)
    phase = (linalg.det(u) * linalg.det(vh))[..., None, None]
    v, uh = vh.swapaxes(-1, -2).conj(), u.swapaxes(-1, -2).conj()
    return phase * np.matmul(v * others[..., None, :], uh)


@_checked
def cholesky(x: np.ndarray) -> np.ndarray:
    return _by_columns(linalg.cholesky(x))


def qr(x: np.ndarray, mode: Any) -> tuple[np.ndarray, np.ndarray]:
    q, r = linalg.qr(x, mode)
    return _by_columns(q), _by_columns(r)


@_checked
def svd(x: np.ndarray, full_matrices: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    u, s, vh = linalg.svd(x, full_matrices)
    return _by_columns(u), s, _by_columns(vh)


@_checked
def eigh(x: np.ndarray, uplo: Any) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = linalg.eigh(x, uplo)
    return values, _by_columns(vectors)


@_checked
def eig(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = linalg.eig(x)
    kind = np.result_type(x.dtype, np.complex64)
    return values.astype(kind), _by_columns(vectors.astype(kind))


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
    return _by_columns(reflectors.swapaxes(-1, -2)), scales
