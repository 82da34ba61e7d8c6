"""Pseudo-inverses, ranks, and solutions of least squares."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import check_least, check_tensor
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.out import takes_out
from nnkit.autograd.op.promotion import require
from nnkit.autograd.op.public import public
from nnkit.autograd.ops.decomposition import rules as rules
from nnkit.autograd.ops.decomposition.factorization import COARSE, check_matrices, check_square
from nnkit.autograd.ops.elementwise.bounds import maximum
from nnkit.autograd.ops.elementwise.comparison import where
from nnkit.autograd.ops.linalg.products import check_operands, matmul
from nnkit.autograd.ops.shape.reshaping import broadcast_shapes
from nnkit.autograd.surface import return_types
from nnkit.autograd.surface.limits import finfo
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import COMPLEX, float64
from nnkit.backend.errors import LinAlgError


@public
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The Moore-Penrose inverse, from the singular values above ``rcond`` times the largest.

    Args:
        input: (*, m, n).

    Example:
        >>> import nnkit
        >>> nnkit.pinverse(nnkit.tensor([[2.0, 0.0], [0.0, 0.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    return pinv(input, rcond)


def _check_form(name: str, parameter: str, bound: Any, *others: Any) -> None:
    """torch has one form with a bound by position, and one with bounds by name."""
    if bound is not ... and others != (None, None):
        raise TypeError(f"{name}(): takes '{parameter}' or 'atol' and 'rtol', got both")
    for which, each in zip((parameter, "atol", "rtol"), (bound, *others), strict=True):
        if isinstance(each, Tensor) and each.dtype.category == COMPLEX:
            which = "atol" if which == "tol" else which
            raise RuntimeError(
                f"torch.{name}: {which} tensor of complex type is not supported. Got {each.dtype}"
            )


def _bounds(A: Tensor, atol: Any, rtol: Any) -> tuple[Tensor, Tensor]:
    """The absolute and the relative bound, each with a dimension of size 1 for the values."""
    default = max(A._array.shape[-2:]) * finfo(A.dtype).eps
    if rtol is None and isinstance(atol, Tensor):
        rtol = where(atol > 0, 0.0, default)
    elif rtol is None:
        rtol = 0.0 if atol else default
    real = A.new_zeros(1).abs()
    given = (0.0 if bound is None else bound for bound in (atol, rtol))
    first, second = (
        (b.to(real) if isinstance(b, Tensor) else real.new_full((), b)).unsqueeze(-1) for b in given
    )
    return first, second


@takes_out(called="result")
def pinv(
    A: Tensor,
    rcond: Tensor | float = ...,  # pyright: ignore[reportArgumentType]
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
) -> Tensor:
    """The Moore-Penrose inverse; singular values up to ``max(atol, rtol * largest)`` count as 0.

    Args:
        A: (*, m, n).
        rcond: another name of ``rtol``.
        hermitian: whether A is known to be symmetric or Hermitian: eigenvalues do, of which only
            the lower triangle is read.
        atol: a number, or a tensor with one for each matrix.
        rtol: the same; ``max(m, n) * eps`` unless given (or 0 if ``atol`` is).

    Example:
        >>> import nnkit
        >>> nnkit.linalg.pinv(nnkit.tensor([[2.0, 0.0], [0.0, 0.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    _check_form("linalg.pinv", "rcond", rcond, atol, rtol)
    for each in (rcond, atol, rtol):
        if isinstance(each, Tensor) and each.requires_grad and MODE.enabled:
            raise RuntimeError("linalg.pinv(): not differentiable with respect to its bounds")
    check_tensor("linalg.pinv", A, "A")
    if A.ndim < 2 or not A.dtype.kinds.isdisjoint(COARSE):
        raise RuntimeError(
            f"linalg.pinv({A.dtype.scalar_type}{list(A.shape)}): expected a tensor with 2 or more "
            "dimensions of float32, float64 or complex numbers"
        )
    if hermitian:
        check_square("linalg.pinv", A)
    bounds = _bounds(A, atol, rtol if rcond is ... else rcond)
    return rules.pinv(A, *bounds, bool(hermitian))


@takes_out(dtype="castable")
def matrix_rank(
    A: Tensor,
    tol: Tensor | float = ...,  # pyright: ignore[reportArgumentType]
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
) -> Tensor:
    """The rank of matrices: the number of singular values above ``max(atol, rtol * largest)``.

    Args:
        A: (*, m, n).
        tol: ``atol`` with an ``rtol`` of 0.
        hermitian: whether A is known to be symmetric or Hermitian: eigenvalues do.
        atol: a number, or a tensor with one for each matrix.
        rtol: the same; ``max(m, n) * eps`` unless given (or 0 if ``atol`` is).

    Example:
        >>> import nnkit
        >>> nnkit.linalg.matrix_rank(nnkit.tensor([[1.0, 2.0], [2.0, 4.0]]))
        tensor(1)
    """
    _check_form("linalg.matrix_rank", "tol", tol, atol, rtol)
    (check_square if hermitian else check_matrices)("linalg.matrix_rank", A)
    shape = A._array.shape
    if 0 in shape:
        return A.new_zeros(shape[:-2], dtype=int)
    atol, rtol = _bounds(A, atol, rtol) if tol is ... else _bounds(A, tol, 0.0)
    fixed = A.detach()
    s = rules.eigvalsh(fixed, "L").abs() if hermitian else rules.svdvals(fixed)
    return (s > maximum(atol, rtol * s.amax(-1, True))).sum(-1)


def _refuse_deficient(A: Tensor, rank: Tensor) -> None:
    """The error of matrices that lack rank, but for zeros, of which the solution is 0."""
    lacks = (rank < min(A._array.shape[-2:])) & (A.detach() != 0).any(-1).any(-1)
    require(
        ~lacks, LinAlgError,
        "linalg.lstsq: The least squares solution could not be computed because the input matrix "
        "does not have full rank",
    )  # fmt: skip


@takes_out(dtype="castable")
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The X of smallest norm that minimizes ``|A @ X - B|``.

    Args:
        A: (*, m, n).
        B: (*, m, k), or (*, m) for one vector for each matrix.
        rcond: singular values up to ``rcond`` times the largest count as 0; by default
            ``max(m, n) * eps``.

    Returns:
        A named tuple (solution, residuals, rank, singular_values). Where m > n, the residuals are
        the squared errors with ``driver`` "gels", and with "gelsd" or "gelss" where the rank is
        full; with these two the singular values are those of A. What is not mentioned is empty,
        as the rank is with "gels".

    Raises:
        LinAlgError: ``driver`` is "gels", and a matrix lacks rank.
        RuntimeError: A or B contains NaN.

    Example:
        >>> import nnkit
        >>> a, b = nnkit.tensor([[1.0], [1.0]]), nnkit.tensor([[1.0], [3.0]])
        >>> nnkit.linalg.lstsq(a, b).solution
        tensor([[2.]])
    """
    check_least("linalg.lstsq", "input", A, 2)
    check_least("linalg.lstsq", "other", B, 1)
    m, n = check_matrices("linalg.lstsq", A)[-2:]
    check_operands("linalg.lstsq", ("A", A), ("B", B))
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), got "
            f"{driver!r}"
        )
    lacking = A.ndim - B.ndim
    if lacking not in (0, 1):
        raise RuntimeError(
            "linalg.lstsq: input.dim() must be that of other, or greater by one for one vector for "
            f"each matrix, got shapes {list(A.shape)} and {list(B.shape)}"
        )
    vectors = B.ndim == 1 or B.shape == A.shape[:-1]
    if B.shape[-1] != m if vectors else B.shape[-2] != m:
        raise RuntimeError(
            f"linalg.lstsq: input.size(-2) should match other.size({-1 if B.ndim == 1 else -2}), "
            f"got shapes {list(A.shape)} and {list(B.shape)}"
        )
    if not vectors and lacking:  # whose rows torch takes for a batch
        B = B.expand(*broadcast_shapes(A.shape[:-2], B.shape[:-1]), *B.shape[-2:])
    if driver == "gelsd" and rcond is not None and not 0 < rcond < 1:
        rcond = finfo(A.dtype).eps  # which LAPACK then takes
    if driver == "gels":
        rtol = max(m, n) * finfo(float64).eps
    else:
        rtol = max(m, n) * finfo(A.dtype).eps if rcond is None else rcond
    by_values = driver in ("gelsd", "gelss")
    solution, rank = rules.lstsq(A, B, rtol, by_values)
    if driver == "gels" and solution.numel():
        _refuse_deficient(A, rank)
    full = m > n and (driver == "gels" or by_values and bool((lowest(rank) == n).all()))
    columns, sides = (t.unsqueeze(-1) if vectors else t for t in (solution, B))
    errors = matmul(A, columns) - sides if full else columns.new_zeros(0, 1) * columns.sum()
    residuals = errors.abs().square().sum(-2) if full else errors.abs().sum(-1)
    fixed, none = A.detach(), A.new_empty(0).abs()
    singular = rules.svdvals(fixed) if by_values else none
    if driver == "gels":
        rank = rank.new_empty(0)
    return return_types.linalg_lstsq((solution, residuals, rank, singular))
