"""Linear algebra under the names of ``torch.linalg``.

Matrices are the last two dimensions; all others are a batch. Decompositions take float32, float64
and complex tensors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.annotations import hold_all
from nnkit.autograd.arguments.dims import broadcast_shape, check_least, normalize_dim
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import Out, by_rows, takes_out
from nnkit.autograd.op.promotion import check_defined, scalar
from nnkit.autograd.op.rule import guarded
from nnkit.autograd.ops.creation.memory_format import column_major
from nnkit.autograd.ops.decomposition import factorization
from nnkit.autograd.ops.decomposition import lu as factors
from nnkit.autograd.ops.decomposition import rules as rules
from nnkit.autograd.ops.decomposition.factorization import (
    WHOLE,
    check_map,
    check_matrices,
    check_square,
)
from nnkit.autograd.ops.decomposition.householder import orgqr as householder_product
from nnkit.autograd.ops.decomposition.ldl import ldl_factor, ldl_factor_ex, ldl_solve
from nnkit.autograd.ops.decomposition.least_squares import lstsq, matrix_rank, pinv
from nnkit.autograd.ops.decomposition.matrix_functions import matrix_exp, powers
from nnkit.autograd.ops.elementwise.comparison import where
from nnkit.autograd.ops.linalg.contraction import cross as _cross
from nnkit.autograd.ops.linalg.contraction import matrix_power, multi_dot
from nnkit.autograd.ops.linalg.products import check_operands, matmul, vdot
from nnkit.autograd.ops.reduction import vector_norm as norms
from nnkit.autograd.surface import return_types
from nnkit.backend.dtype import BOOL, FLOATING, bfloat16, float16
from nnkit.backend.errors import INDEFINITE, SINGULAR, UNSOLVED, ZERO_PIVOT, LinAlgError

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh",
    "eigvals", "eigvalsh", "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex",
    "ldl_solve", "lstsq", "lu", "lu_factor", "lu_factor_ex", "lu_solve", "matmul", "matrix_exp",
    "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet",
    "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander",
    "vecdot", "vector_norm",
]  # fmt: skip


def det(A: Tensor) -> Tensor:
    """The determinants of square matrices; see `nnkit.det`."""
    return factorization.det(A)


def inv(A: Tensor) -> Tensor:
    """The inverses of square matrices; see `nnkit.inverse`."""
    check_square("linalg.inv", A)
    return factorization.inverse(A)


def slogdet(A: Tensor) -> Any:
    """Sign and logarithm of the absolute value of determinants: (sign, logabsdet)."""
    check_square("linalg.slogdet", A)
    return return_types.linalg_slogdet(rules.slogdet(A))


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with ``A = L @ L.mH``, or the upper ``L.mH``; see `nnkit.cholesky`.
    Of A only that triangle is read.

    Raises:
        RuntimeError: a matrix is not positive definite.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.cholesky(nnkit.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    check_square("linalg.cholesky", A, WHOLE)
    if not upper:
        return rules.cholesky(A)
    out = column_major(rules.cholesky(A.mH).mH)
    return guarded("linalg.cholesky", out, out)


def qr(A: Tensor, mode: str = "reduced") -> Any:
    """``A = Q @ R`` with orthonormal columns in Q and a triangular R: (Q, R).

    Args:
        A: (*, m, n).
        mode: "reduced" (Q has min(m, n) columns), "complete" (Q is square) or "r" (Q is empty).

    Raises:
        RuntimeError: the mode is another word.
    """
    check_matrices("linalg.qr", A, WHOLE)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode {mode!r} but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    q, r = rules.qr(A, mode)
    return return_types.linalg_qr((A.new_empty(0) if mode == "r" else q, r))


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Any:
    """``A = U @ diag(S) @ Vh``, S in falling order: (U, S, Vh).

    Args:
        A: (*, m, n).
        full_matrices: whether U and Vh are square; only without it a matrix that is not square has
            a derivative.
        driver: of those that torch chooses from on a GPU there is one here, which None asks for.

    Raises:
        RuntimeError: a driver is named.
    """
    _check_driver(driver)
    check_matrices("linalg.svd", A, WHOLE)
    return return_types.linalg_svd(rules.svd(A, full_matrices))


def svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values, in falling order; ``driver`` as of `svd`."""
    _check_driver(driver)
    if _may_be_differentiated(A):
        return svd(A, False).S
    check_matrices("linalg.svd", A, WHOLE)
    return rules.svdvals(A)


def _check_driver(driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            "linalg.svd(): keyword argument `driver=` is only supported on CUDA inputs with the "
            f"cuSOLVER backend, got {driver!r}"
        )


def _may_be_differentiated(A: Any) -> bool:
    """Whether a derivative of a tensor's singular values or eigenvalues may be asked for."""
    return isinstance(A, Tensor) and (A._device.depth > 0 or MODE.enabled and A.requires_grad)


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """Eigenvalues (ascending) and eigenvectors of symmetric or Hermitian matrices.

    Args:
        A: (*, n, n), of which only the lower ("L") or the upper ("U") triangle is read.

    Returns:
        A named tuple (eigenvalues, eigenvectors), the vectors in columns.

    Example:
        >>> import nnkit
        >>> values, vectors = nnkit.linalg.eigh(nnkit.tensor([[2.0, 0.0], [0.0, 1.0]]))
        >>> values
        tensor([1., 2.])
    """
    return return_types.linalg_eigh(rules.eigh(A, _triangle_of(A, UPLO)))


def _triangle_of(A: Tensor, UPLO: str) -> str:
    """The triangle of square matrices that counts, ``L`` or ``U``."""
    check_square("linalg.eigh", A, ())
    if UPLO not in ("L", "U", "l", "u"):
        raise RuntimeError(f"linalg.eigh: Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper()


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of symmetric or Hermitian matrices, ascending.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.eigvalsh(nnkit.tensor([[2.0, 0.0], [0.0, 1.0]]))
        tensor([1., 2.])
    """
    if _may_be_differentiated(A):
        return eigh(A, UPLO).eigenvalues
    return rules.eigvalsh(A, _triangle_of(A, UPLO))


@takes_out(dtype="castable")
def eig(A: Tensor) -> Any:
    """Eigenvalues and eigenvectors of square matrices, always complex: (eigenvalues,
    eigenvectors).

    Example:
        >>> import nnkit
        >>> values, vectors = nnkit.linalg.eig(nnkit.tensor([[0.0, -1.0], [1.0, 0.0]]))
        >>> values.real, values.imag.abs()
        (tensor([0., 0.]), tensor([1., 1.]))
    """
    check_square("linalg.eig", A, WHOLE)
    return return_types.linalg_eig(rules.eig(A))


@takes_out(called="eigenvalues")
def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues of square matrices, complex.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.eigvals(nnkit.tensor([[2.0, 0.0], [0.0, 1.0]]))
        tensor([2.+0.j, 1.+0.j])
    """
    if _may_be_differentiated(A):
        return eig(A).eigenvalues
    check_square("linalg.eig", A, WHOLE)
    return rules.eigvals(A)


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The X with ``A @ X = B``, or ``X @ A = B`` where ``left`` is false.

    Args:
        A: (*, n, n).
        B: (*, n, k), or a batch of vectors (*, n).

    Raises:
        RuntimeError: a matrix is singular, or the shapes do not fit.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.solve(nnkit.tensor([[2.0, 0.0], [0.0, 4.0]]), nnkit.ones(2))
        tensor([0.5000, 0.2500])
    """
    vector = _is_vector(A, B, left)
    return rules.solve(A, B) if left and not vector else rules.solve_turned(A, B, vector)


def _is_vector(A: Tensor, B: Tensor, left: bool) -> bool:
    """Whether the right sides of ``A X = B`` are vectors; RuntimeError where they do not fit."""
    a = check_square("linalg.solve", A, WHOLE)
    check_operands("linalg.solve", ("A", A), ("B", B))
    b: tuple[int, ...] = tuple(B.shape)
    if not b:
        raise RuntimeError("linalg.solve: B must have at least 1 dimension, got shape []")
    vector = len(b) == 1 or (len(b) == len(a) - 1 and b == a[:-1])
    rows = b[-1 if vector or not left else -2]
    if rows != a[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation AX = B: got "
            f"{list(a)} and {list(b)}"
        )
    if not vector:
        broadcast_shape("linalg.solve", [a[:-2], b[:-2]])
    return vector


def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """The X with ``A @ X = B`` (``X @ A = B`` where ``left`` is false) for triangular A.

    Args:
        A: (*, n, n), of which only the triangle is read (with ``unitriangular`` without the
            diagonal, which counts as 1).
        B: (*, n, k).

    Example:
        >>> import nnkit
        >>> A = nnkit.tensor([[2.0, 1.0], [0.0, 4.0]])
        >>> nnkit.linalg.solve_triangular(A, nnkit.tensor([[4.0], [8.0]]), upper=True)
        tensor([[1.],
                [2.]])
    """
    check_square("linalg.solve_triangular", A, ())
    if check_matrices("linalg.solve_triangular", B, ())[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            f"linalg.solve_triangular: incompatible shapes of A and B: got {list(A.shape)} and "
            f"{list(B.shape)}"
        )
    broadcast_shape("linalg.solve_triangular", [A.shape[:-2], B.shape[:-2]])
    check_defined("linalg.solve_triangular", "solve_triangular", A)
    if isinstance(B, Tensor):
        B = B.to(A.dtype)  # as torch does here, and only here
    check_operands("linalg.solve_triangular", ("A", A), ("B", B))
    if left:
        return rules.solve_triangular(A, B, upper, unitriangular)
    out = column_major(rules.solve_triangular(A.mT, B.mT, not upper, unitriangular).mT)
    return guarded("linalg.solve_triangular", out, out)


def vector_norm(
    x: Tensor, ord: float = 2, dim: int | Sequence[int] | None = None, keepdim: bool = False, *,
    dtype: Any = None,
) -> Tensor:  # fmt: skip
    """The norm ``sum(|x|**ord)**(1/ord)`` of elements; see `nnkit.norm`."""
    return norms.vector_norm("linalg.vector_norm", x, ord, dim, keepdim, dtype)


def matrix_norm(
    A: Tensor, ord: float | str = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *,
    dtype: Any = None,
) -> Tensor:  # fmt: skip
    """A norm of matrices.

    Args:
        ord: "fro" (root of the sum of squares), "nuc" (sum of the singular values), 2 or -2 (the
            largest or the smallest of them), inf or -inf (of the rows' sums of absolute values), 1
            or -1 (of the columns').
        dim: which two dimensions are the matrix.

    Raises:
        RuntimeError: the order is another one, or ``dim`` does not name two dimensions.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.matrix_norm(nnkit.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(5.)
    """
    check_least("linalg.matrix_norm", "The input tensor A", A, 2)
    x = norms.in_wider_dtype("linalg.matrix_norm", A, dtype)
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple, got {dim}")
    axes = tuple(normalize_dim(d, A.ndim, "linalg.matrix_norm") for d in dim)
    if axes[0] == axes[1]:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    if ord == "fro":
        return norms.vector_norm("linalg.matrix_norm", x, 2, axes, keepdim)
    if ord not in ("nuc", 2, -2, 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    x = x.movedim(axes, (-2, -1))
    if ord in ("nuc", 2, -2):
        check_matrices("linalg.matrix_norm", x)
        s = svdvals(x)
        value = s.sum(-1) if ord == "nuc" else _largest(s) if ord == 2 else s.amin(-1)
    else:
        sums = x.abs().sum(-2 if abs(ord) == 1 else -1)
        value = _largest(sums) if ord > 0 else sums.amin(-1)
    return value.unsqueeze(min(axes)).unsqueeze(max(axes)) if keepdim else value


def _largest(x: Tensor) -> Tensor:
    """The largest along the last dimension; 0 of none."""
    return x.amax(-1) if x.shape[-1] else x.sum(-1)


def norm(
    A: Tensor,
    ord: Any = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """`vector_norm` of all elements without ``ord``, or along one dimension; else `matrix_norm`.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.norm(nnkit.tensor([3.0, 4.0]))
        tensor(5.)
    """
    dim = scalar(dim)
    if isinstance(dim, (tuple, list)) and len(dim) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2, got {dim}"
        )
    single = A.ndim == 1 if dim is None else isinstance(dim, int) or len(dim) == 1
    if ord is None or (single and not isinstance(ord, str)):
        return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    if dim is None and A.ndim not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D, "
            f"got shape {list(A.shape)}"
        )
    axes: Any = (-2, -1) if dim is None else (dim,) if isinstance(dim, int) else dim
    return matrix_norm(A, ord, axes, keepdim, dtype=dtype)


@takes_out(called="result", axes=by_rows)
def cond(A: Tensor, p: float | str | None = None) -> Tensor:
    """The condition number: the norm ``p`` (2 unless given) of A times that of its inverse, or
    infinity where that is not a number.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.cond(nnkit.tensor([[4.0, 0.0], [0.0, 2.0]]))
        tensor(2.)
    """
    check_matrices("linalg.cond", A, ())
    if p not in (None, "fro", "nuc", 2, -2, 1, -1, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if not A.numel():
        return A.new_zeros(A.shape[:-2]).abs()
    if p is None or p in (2, -2):
        s = svdvals(A)
        largest, smallest = s[..., :1], s[..., -1:]
        return (smallest / largest if p == -2 else largest / smallest).squeeze(-1)
    check_square("linalg.cond", A)
    if p == "nuc":
        s = svdvals(A)
        return s.sum(-1) * s.reciprocal().sum(-1)
    inverse, info = inv_ex(A)
    found = matrix_norm(A, p) * matrix_norm(inverse, p).masked_fill(info > 0, math.inf)
    return found.masked_fill(found.isnan(), math.inf)


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The cross product along ``dim``; see `nnkit.cross`.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.cross(nnkit.tensor([1.0, 0.0, 0.0]), nnkit.tensor([0.0, 1.0, 0.0]))
        tensor([0., 0., 1.])
    """
    return _cross(input, other, dim)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sums of ``conj(x) * y`` along ``dim``, floating point or complex."""
    if x.dtype.category < FLOATING:
        raise RuntimeError(f"linalg.vecdot: expected a floating or complex dtype, got {x.dtype}")
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: x and y must have one dtype, got {x.dtype} and {y.dtype}"
        )
    return vdot(x, y) if x.ndim == y.ndim == 1 else (x.conj() * y).sum(dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, a view; see `nnkit.diagonal`.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.diagonal(nnkit.tensor([[1, 2], [3, 4]]))
        tensor([1, 4])
    """
    return A.diagonal(offset, dim1, dim2)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The matrix of powers ``x[i] ** j`` for j below N, which is the length of x unless given."""
    if x.dtype.category == BOOL or x.dtype in (float16, bfloat16):
        raise RuntimeError(f"linalg.vander: not implemented for '{x.dtype.name}' tensors")
    x = x.unsqueeze(0) if not x.ndim else x
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError(f"linalg.vander: N must be greater than 1, got {count}")
    return powers(x, count)


@takes_out(called="result", axes=by_rows)
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of A as a map between the last dimensions and the first ``ind`` ones."""
    first, last = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if ind <= 0:
        raise RuntimeError(
            f"linalg.tensorinv: Expected a strictly positive integer for 'ind', but got {ind}"
        )
    check_map("linalg.tensorinv", A, "ind", ind, math.prod(first))
    return inv(A.reshape(math.prod(first), math.prod(last))).reshape(last + first)


@takes_out(called="result")
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """The X with ``tensordot(A, X, X.ndim) = B``; ``dims`` of A are moved to its end first."""
    if dims is not None:
        axes = [normalize_dim(d, A.ndim, "linalg.tensorsolve") for d in dims]
        A = A.movedim(axes, list(range(A.ndim - len(axes), A.ndim)))
    last = tuple(A.shape[B.ndim :])
    check_map("linalg.tensorsolve", A, "other.ndim", B.ndim, B.numel())
    return solve(A.reshape(B.numel(), B.numel()), B.reshape(B.numel())).reshape(last)


def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """The inverses of square matrices, and for each where it failed: (inverse, info).

    ``info`` is the order of the first pivot of 0, and 0 where there is an inverse. Inverses that do
    not exist are NaN here.

    Args:
        check_errors: whether to raise LinAlgError where one fails.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.inv_ex(nnkit.zeros(2, 2)).info
        tensor(1, dtype=nnkit.int32)
    """
    check_square("linalg.inv_ex", A)
    info = factors.factored("linalg.inv_ex", A.detach(), True)[2]
    inverse = factors.tell_failures("linalg.inv_ex", A, info, check_errors, rules.inverse, SINGULAR)
    return return_types.linalg_inv_ex((inverse, info))


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """`cholesky`, and for each matrix where it failed: (L, info).

    ``info`` is the order of the first leading minor that is not positive definite, and 0 where all
    are. Where there is one, L has the factor of the minor before it and the rows below, and what
    was left of that pivot; the rest is that of A.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.cholesky_ex(-nnkit.eye(2)).info
        tensor(1, dtype=nnkit.int32)
    """
    check_square("linalg.cholesky_ex", A, WHOLE)
    A = A.mH if upper else A
    info = factors.cholesky_info(A.detach())
    lower = factors.tell_failures(
        "linalg.cholesky_ex", A, info, check_errors, rules.cholesky, INDEFINITE,
        factors.cholesky_until,
    )  # fmt: skip
    return return_types.linalg_cholesky_ex((column_major(lower.mH) if upper else lower, info))


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    """`solve`, and for each matrix where it failed: (result, info); see `inv_ex`.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.solve_ex(nnkit.eye(2), nnkit.ones(2)).result
        tensor([1., 1.])
    """
    _is_vector(A, B, left)
    info = factors.factored("linalg.solve_ex", A.detach(), True)[2]
    failed = info != 0
    if not bool(lowest(failed).any()):
        return return_types.linalg_solve_ex((solve(A, B, left=left), info))
    if check_errors:
        factors.refuse_failures("linalg.solve_ex", info, UNSOLVED)
    broken = where(failed[..., None, None], math.nan, A)
    return return_types.linalg_solve_ex((solve(broken, B, left=left), info))


def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """L and U in one matrix, and the exchanged rows, as LAPACK stores them: (LU, pivots).

    Args:
        A: (*, m, n).
        pivot: only true on the CPU.

    Raises:
        RuntimeError: a pivot is 0.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.lu_factor(nnkit.tensor([[1.0, 2.0], [2.0, 2.0]])).LU
        tensor([[2.0000, 2.0000],
                [0.5000, 1.0000]])
    """
    LU, pivots, info = factors.factored("linalg.lu_factor", A, pivot)
    factors.refuse_failures("torch.linalg.lu_factor", info, ZERO_PIVOT, RuntimeError)
    return return_types.linalg_lu_factor((LU, pivots))


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """`lu_factor`, and for each matrix the order of the first pivot of 0: (LU, pivots, info)."""
    LU, pivots, info = factors.factored("linalg.lu_factor_ex", A, pivot)
    if check_errors:
        factors.refuse_failures("torch.linalg.lu_factor_ex", info, ZERO_PIVOT, RuntimeError)
    return return_types.linalg_lu_factor_ex((LU, pivots, info))


def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """``A = P @ L @ U`` with a permutation P, a lower L with ones on its diagonal, an upper U:
    (P, L, U).

    Example:
        >>> import nnkit
        >>> nnkit.linalg.lu(nnkit.tensor([[1.0, 2.0], [2.0, 2.0]])).U
        tensor([[2., 2.],
                [0., 1.]])
    """
    LU, pivots, _ = factors.factored("linalg.lu", A, pivot)
    P = factors.permutation("linalg.lu", LU, pivots)
    return return_types.linalg_lu((P, *factors.triangles(LU)))


def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """The X with ``A @ X = B`` for the A that `lu_factor` was given.

    Args:
        left: false for ``X @ A = B``.
        adjoint: whether A is conjugated and transposed first.

    Example:
        >>> import nnkit
        >>> factors = nnkit.linalg.lu_factor(nnkit.tensor([[2.0, 0.0], [0.0, 4.0]]))
        >>> nnkit.linalg.lu_solve(*factors, nnkit.ones(2, 1))
        tensor([[0.5000],
                [0.2500]])
    """
    return factors.solved("linalg.lu_solve", LU, pivots, B, left, adjoint)


hold_all(globals(), "linalg.", ("diagonal", "vander"))
hold_all(globals(), "linalg.", out=Out(dtype="same"))
