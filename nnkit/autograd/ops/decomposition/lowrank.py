"""Decompositions of matrices that are nearly of low rank, by random projections.

The range of a matrix is found from its products with a few random vectors (Halko, Martinsson and
Tropp, "Finding structure with randomness", 2011, algorithms 4.4 and 5.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from nnkit.autograd.op.public import COMPOSED, public
from nnkit.autograd.ops.decomposition import rules as rules
from nnkit.autograd.ops.decomposition.factorization import WHOLE, check_matrices
from nnkit.autograd.ops.linalg.products import matmul
from nnkit.autograd.ops.random.factories import randn
from nnkit.autograd.ops.shape.reshaping import broadcast_to
from nnkit.autograd.tensor import Tensor

_Factors = tuple[Tensor, Tensor, Tensor]


@public(method=False, in_python=True)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> _Factors:
    """The largest singular values of ``A - M``, nearly, with their vectors: (U, S, V).

    ``U @ diag(S) @ V.mH`` is near ``A - M`` where that has about rank ``q`` or less.

    Args:
        A: (*, m, n); it may be sparse.
        q: how many singular values; some more than are wanted make these better.
        niter: how often the vectors are multiplied by A and its transpose again.
        M: what is subtracted, of a shape that broadcasts to that of A.

    Raises:
        ValueError: A has fewer than 2 dimensions.

    Example:
        >>> import nnkit
        >>> U, S, V = nnkit.svd_lowrank(nnkit.ones(3, 2), 1)
        >>> U @ S.diag() @ V.mH
        tensor([[1.0000, 1.0000],
                [1.0000, 1.0000],
                [1.0000, 1.0000]])
    """
    _check_dimensions("svd_lowrank", A)
    check_matrices("svd_lowrank", A, (*WHOLE, "bfloat16"))
    return factors(A, q, niter, M)


def factors(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> _Factors:
    """`svd_lowrank`, of which A is asked for products alone: it may be sparse."""
    m, n = A.shape[-2:]
    parts = (A,) if M is None else (A, broadcast_to(M, A.shape))
    if m < n:
        parts = tuple([each.mH for each in parts])
    Q = _basis(parts, 6 if q is None else q, 2 if niter is None else niter)
    U, S, Vh = rules.svd(_product([each.mH for each in parts], Q).mH, False)
    U, V = matmul(Q, U), Vh.mH
    return (U, S, V) if m >= n else (V, S, U)


@public(method=False, in_python=True)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> _Factors:
    """The principal components of samples (rows) of features (columns), nearly: (U, S, V).

    The columns of V are the principal directions, and ``S**2 / (m - 1)`` the variances along them.

    Args:
        A: (*, m, n), nearly of low rank; or a sparse matrix.
        q: how many components, ``min(6, m, n)`` unless given.
        center: whether the mean of each column is subtracted first.
        niter: as in `svd_lowrank`.

    Raises:
        ValueError: A has fewer than 2 dimensions, ``q`` is not between 0 and ``min(m, n)``, or
            ``niter`` is negative.

    Example:
        >>> import nnkit
        >>> samples = nnkit.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
        >>> nnkit.pca_lowrank(samples, 1)[1]
        tensor([2.8284])
    """
    _check_dimensions("pca_lowrank", A)
    q = _components(A, q, niter)
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)


def sparse_components(
    A: Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> _Factors:
    """`pca_lowrank` of a sparse matrix: the means are subtracted from its products.

    Raises:
        ValueError: it is no matrix, or a number is out of range.
    """
    if A.ndim != 2:
        raise ValueError(f"pca_lowrank(): a sparse input must be 2-dimensional, got {A.ndim}")
    q = _components(A, q, niter)
    if not center:
        return factors(A, q, niter)
    means = A.sum(0).to_dense() / A.shape[0]
    return factors(A, q, niter, broadcast_to(means, A.shape))


def _check_dimensions(name: str, A: Tensor) -> None:
    if A.ndim < 2:
        raise ValueError(f"{name}(): A must have at least 2 dimensions, got {A.ndim}")


def _components(A: Tensor, q: int | None, niter: int) -> int:
    """How many components are wanted, checked."""
    smaller = min(A.shape[-2:])
    if q is None:
        q = min(6, smaller)
    if not 0 <= q <= smaller:
        raise ValueError(f"pca_lowrank(): q must be between 0 and {smaller}, got {q}")
    if niter < 0:
        raise ValueError(f"pca_lowrank(): niter must not be negative, got {niter}")
    return q


def _basis(parts: Sequence[Tensor], q: int, niter: int) -> Tensor:
    """``q`` orthonormal columns whose space nearly holds the columns of ``A - M``."""
    A, adjoints = parts[0], [each.mH for each in parts]
    start = randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = _orthonormal(_product(parts, start))
    for _ in range(niter):
        Q = _orthonormal(_product(adjoints, Q))
        Q = _orthonormal(_product(parts, Q))
    return Q


def _product(parts: Sequence[Tensor], x: Tensor) -> Tensor:
    """``(A - M) @ x`` of A and perhaps M, with no other matrix of their size."""
    out, *rest = [matmul(each, x) for each in parts]
    return out - rest[0] if rest else out


def _orthonormal(x: Tensor) -> Tensor:
    return rules.qr(x, "reduced")[0]


COMPOSED.update(svd_lowrank=factors, pca_lowrank=sparse_components)
