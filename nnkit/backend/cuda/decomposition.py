"""Inverses, determinants and factorizations: cuSOLVER's through CuPy, on stacks of matrices.

Eigenvalues of general matrices and Householder vectors are computed on the CPU: cuSOLVER has them
only in its newest versions; and so are factors L and U, of which CuPy has no stacks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.cpu import decomposition as host
from nnkit.backend.cuda.creation import array
from nnkit.backend.cuda.differences import array_module, is_array
from nnkit.backend.cuda.source import current_machine
from nnkit.backend.errors import LinAlgError


def _checked(kernel: Callable) -> Callable:
    """Errors of singular or indefinite matrices as nnkit's.

    CuPy looks at cuSOLVER's answer, which waits for the GPU, only where it is asked to.
    """

    @functools.wraps(kernel)
    def run(x: Any, *arguments: Any) -> Any:
        try:
            with current_machine().linalg_errors():
                return kernel(array_module(x).linalg, x, *arguments)
        except np.linalg.LinAlgError as error:
            raise LinAlgError(f"linalg.{kernel.__name__}: {error}") from None

    return run


@_checked
def inverse(linalg: Any, x: Any) -> Any:
    return linalg.inv(x)


@_checked
def solve(linalg: Any, x: Any, y: Any) -> Any:
    return linalg.solve(x, y)


@_checked
def det(linalg: Any, x: Any) -> Any:
    return array_module(x).asarray(linalg.det(x))


@_checked
def slogdet(linalg: Any, x: Any) -> tuple:
    sign, logabsdet = linalg.slogdet(x)
    xp = array_module(x)
    return xp.asarray(sign), xp.asarray(logabsdet)


@_checked
def adjugate(linalg: Any, x: Any) -> Any:
    """``det(x) * inverse(x)``, which singular matrices have too: from the singular values."""
    xp = array_module(x)
    u, s, vh = linalg.svd(x)
    n = s.shape[-1]
    products = [xp.concatenate((s[..., :i], s[..., i + 1 :]), -1).prod(-1) for i in range(n)]
    others = xp.stack(products, -1)
    phase = (linalg.det(u) * linalg.det(vh))[..., None, None]
    v, uh = vh.swapaxes(-1, -2).conj(), u.swapaxes(-1, -2).conj()
    return phase * xp.matmul(v * others[..., None, :], uh)


@_checked
def cholesky(linalg: Any, x: Any) -> Any:
    return linalg.cholesky(x)


@_checked
def qr(linalg: Any, x: Any, mode: Any) -> tuple:
    q, r = linalg.qr(x, "reduced" if mode == "r" else mode)
    return q, r


@_checked
def svd(linalg: Any, x: Any, full_matrices: bool) -> tuple:
    u, s, vh = linalg.svd(x, full_matrices)
    return u, s, vh


@_checked
def eigh(linalg: Any, x: Any, uplo: Any) -> tuple:
    values, vectors = linalg.eigh(x, uplo)
    return values, vectors


def _on_host(kernel: Callable) -> Callable:
    @functools.wraps(kernel)
    def run(*arguments: Any) -> Any:
        from nnkit.backend.cuda.exchange import to_numpy

        results = kernel(*(to_numpy(a) if is_array(a) else a for a in arguments))
        if not isinstance(results, tuple):
            return array(results, None)
        return tuple(array(r, None) for r in results)

    return run


eig = _on_host(host.eig)
geqrf = _on_host(host.geqrf)
lu_factor = _on_host(host.lu_factor)
ldl_factor = _on_host(host.ldl_factor)
ldl_solve = _on_host(host.ldl_solve)
pivot_order = _on_host(host.pivot_order)
cholesky_info = _on_host(host.cholesky_info)
cholesky_until = _on_host(host.cholesky_until)
solve_triangular = host.solve_triangular  # its functions and methods are CuPy's too
