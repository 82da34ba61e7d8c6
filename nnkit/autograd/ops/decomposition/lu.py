"""Factors L and U of matrices, and what functions tell of matrices that have no inverse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import guarded, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.factories import empty_like, eye
from nnkit.autograd.ops.creation.memory_format import column_major
from nnkit.autograd.ops.creation.ranges import arange
from nnkit.autograd.ops.decomposition import rules as rules
from nnkit.autograd.ops.decomposition.factorization import WHOLE, check_matrices, check_square
from nnkit.autograd.ops.elementwise.comparison import where
from nnkit.autograd.ops.indexing.scattering import scatter
from nnkit.autograd.ops.linalg.products import check_operands
from nnkit.autograd.ops.shape.triangles import tril, triu
from nnkit.autograd.surface import return_types
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import INTEGER
from nnkit.backend.errors import LinAlgError, of_first_failure
from nnkit.backend.warning import warn_once


def _grad_lu(B: Any, g: Any, out: Any, pivots: Any) -> Any:
    """The gradient of L and U in one matrix: of ``P A = L U`` the share of each triangle."""
    rows, columns = out.shape[-2:]
    k = min(rows, columns)
    corner = (..., slice(0, k), slice(0, k))
    below, beside = (..., slice(k, None), slice(None)), (..., slice(None), slice(k, None))
    both, g_both = B.getitem(out, corner), B.getitem(g, corner)
    left, g_left = B.tril(both, -1), B.tril(g_both, -1)
    right, g_right = B.triu(both, 0), B.triu(g_both, 0)
    # The unit diagonal of L: L* x = x + (the part below it)* x.
    lower = B.add(g_left, B.matmul(B.mH(left), g_left))
    upper = B.matmul(g_right, B.mH(right))
    parts = []
    if columns > k:
        lower = B.sub(lower, B.matmul(B.getitem(g, beside), B.mH(B.getitem(out, beside))))
        parts.append(B.solve_triangular(B.mH(left), B.getitem(g, beside), True, True))
    if rows > k:
        upper = B.sub(upper, B.matmul(B.mH(B.getitem(out, below)), B.getitem(g, below)))
    inner = B.add(B.tril(lower, -1), B.triu(upper, 0))
    inner = B.solve_triangular(B.mH(left), inner, True, True)
    inner = B.mH(B.solve_triangular(right, B.mH(inner), True, False))
    if parts:
        inner = B.concat([inner, *parts], len(out.shape) - 1)
    if rows > k:
        under = B.mH(B.solve_triangular(right, B.mH(B.getitem(g, below)), True, False))
        inner = B.concat([inner, under], len(out.shape) - 2)
    place = B.argsort(B.pivot_order(pivots, rows), len(out.shape) - 2, False)
    return B.gather(inner, B.expand(B.unsqueeze(place, -1), inner.shape), len(out.shape) - 2)


_lu_factor = rule(
    "lu_factor", node="LinalgLuFactorExBackward0", nondifferentiable=("pivots", "info"), x=_grad_lu
)
_pivot_order, cholesky_info = rule("pivot_order"), rule("cholesky_info")
_cholesky_until = rule("cholesky_until")


def factored(name: str, A: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]:
    check_matrices(name, A, ())
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")
    return _lu_factor(A)


def refuse_failures(
    name: str, info: Tensor, what: str, error: type[RuntimeError] = LinAlgError
) -> None:
    """The error of the first matrix of the batch that failed, if one did."""
    info = lowest(info)
    orders = info.flatten().tolist()
    if any(orders):
        raise of_first_failure(error, name, what, orders, info.ndim > 0)


def cholesky_until(A: Tensor, info: Tensor) -> Tensor:
    """The part of the factors that was computed before they failed; no gradient goes through it."""
    return _cholesky_until(A.detach(), info)


def _nothing(A: Tensor, info: Tensor) -> float:
    return float("nan")


def tell_failures(
    name: str, A: Tensor, info: Tensor, check_errors: bool, compute: Callable, what: str,
    until: Callable = _nothing,
) -> Tensor:  # fmt: skip
    """The result of ``compute`` for each of the matrices, and of ``until`` for those that
    failed."""
    failed = info != 0
    if not bool(lowest(failed).any()):
        return compute(A)
    if check_errors:
        refuse_failures(name, info, what)
    found = until(A, info)
    failed = failed[..., None, None]
    good = eye(A._array.shape[-1], dtype=A.dtype, device=A.device)
    return column_major(where(failed, found, compute(where(failed, good, A))))


def _row_order(name: str, LU: Tensor, pivots: Tensor) -> Tensor:
    """The row of the factored matrix that each row of ``L @ U`` comes from.

    RuntimeError where the pivots are not of such a factorization.
    """
    *batch, rows, columns = LU._array.shape
    if pivots.dtype.category != INTEGER or pivots.dtype.itemsize != 4:
        raise RuntimeError(f"{name}(): expected pivots of int32, got {pivots.dtype.name}")
    if tuple(pivots.shape) != (*batch, min(rows, columns)):
        raise RuntimeError(
            f"{name}(): expected pivots of shape {[*batch, min(rows, columns)]} for factors of "
            f"shape {list(LU.shape)}, got {list(pivots.shape)}"
        )
    if bool(lowest((pivots < 1) | (pivots > rows)).any()):
        bounds = "greater or equal to 1 and smaller or equal to"
        if name == "lu_unpack":
            bounds = "between 1 and"
        raise RuntimeError(
            f"{name}(): pivots must be {bounds} LU.size(-2), {rows}. Did you properly pass the "
            "result of lu_factor?"
        )
    return _pivot_order(pivots, rows)


def permutation(name: str, LU: Tensor, pivots: Tensor) -> Tensor:
    """The matrix P with ``P @ L @ U`` the factored one."""
    order = _row_order(name, LU, pivots)
    counted = arange(LU._array.shape[-2], device=LU.device)
    return (order.unsqueeze(-2) == counted.unsqueeze(-1)).to(LU.dtype)


def triangles(LU: Tensor) -> tuple[Tensor, Tensor]:
    rows, columns = LU._array.shape[-2:]
    k = min(rows, columns)
    unit = eye(rows, k, dtype=LU.dtype, device=LU.device)
    return tril(LU[..., :k], -1) + unit, triu(LU[..., :k, :])


@single(node="LinalgLuSolveBackward0")
def solved(
    name: str, LU: Tensor, pivots: Tensor, B: Tensor, left: bool = True, adjoint: bool = False
) -> Tensor:
    """The X with ``A @ X = B`` (``A.mH @ X = B``, ``X @ A = B``) for the A whose factors these
    are."""
    out = (
        _solved(name, LU, pivots, B, adjoint)
        if left
        else (_solved(name, LU, pivots, B.mH, not adjoint).mH)
    )
    return guarded(name, out, LU, pivots, out)


def _solved(name: str, LU: Tensor, pivots: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    check_square(name, LU, WHOLE)
    check_operands(name, ("LU", LU), ("B", B))
    if B.ndim < 2 or B._array.shape[-2] != LU._array.shape[-1]:
        raise RuntimeError(
            f"{name}(): incompatible shapes of LU and B: got {list(LU.shape)} and {list(B.shape)}"
        )
    order = _row_order(name, LU, pivots)
    triangular = rules.solve_triangular
    if adjoint:
        inner = triangular(LU.mH, triangular(LU.mH, B, False, False), True, True)
        return column_major(_rows_at(order, inner))
    inner = triangular(LU, _rows_at(order.argsort(-1), B), False, True)
    return column_major(triangular(LU, inner, True, False))


def _rows_at(places: Tensor, x: Tensor) -> Tensor:
    """Matrices with their rows in these places; the batches of both broadcast."""
    batch = broadcast_shape("lu_solve", [places._array.shape[:-1], x._array.shape[:-2]])
    x = x.expand(*batch, *x._array.shape[-2:])
    return scatter(empty_like(x), -2, places.unsqueeze(-1).expand(x._array.shape), x)


@public(method=False, out=True)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """The matrices P, L and U of what `nnkit.linalg.lu_factor` returned; what is not asked for is
    empty.

    Example:
        >>> import nnkit
        >>> P, L, U = nnkit.lu_unpack(*nnkit.linalg.lu_factor(nnkit.eye(2) * 2))
        >>> U
        tensor([[2., 0.],
                [0., 2.]])
    """
    check_matrices("lu_unpack", LU_data, ())
    none = LU_data.new_empty(0)
    P = permutation("lu_unpack", LU_data, LU_pivots) if unpack_pivots else none
    L, U = triangles(LU_data) if unpack_data else (none, none)
    return return_types.lu_unpack((P, L, U))


@public(in_python=True)
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: tuple | None = None) -> Any:
    """L and U in one matrix, and the exchanged rows, as LAPACK stores them: (LU, pivots).

    A pivot of 0 is no error here; `nnkit.linalg.lu_factor` is the younger name.

    Args:
        A: (*, m, n).
        pivot: only true on the CPU.
        get_infos: also for each matrix the order of its first pivot of 0, and 0 if there is none:
            (LU, pivots, info).
        out: tensors that get the results.

    Example:
        >>> import nnkit
        >>> LU, pivots = nnkit.lu(nnkit.tensor([[1.0, 2.0], [2.0, 2.0]]))
        >>> LU
        tensor([[2.0000, 2.0000],
                [0.5000, 1.0000]])
    """
    warn_once("lu() is deprecated in favor of linalg.lu_factor() and linalg.lu_factor_ex()")
    if not isinstance(pivot, bool):
        raise TypeError(f"lu(): argument 'pivot' must be bool, not {type(pivot).__name__}")
    results = factored("lu", A, pivot)
    chosen = return_types._lu_with_info(results) if get_infos else results[:2]
    if out is None:
        return chosen
    if len(out) != len(chosen):
        raise TypeError(f"lu(): expected argument 'out' of {len(chosen)} tensors, got {len(out)}")
    for each, result in zip(out, chosen, strict=True):
        each.resize_as_(result).copy_(result)
    return out


@public(out=Out(dtype="same"))
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The X with ``A @ X = input`` for the A that `lu` was given: `nnkit.linalg.lu_solve`, whose
    arguments are in another order.

    Args:
        input: (*, n, k).
        LU_data: (*, n, n).
        LU_pivots: (*, n), int32.

    Example:
        >>> import nnkit
        >>> factors = nnkit.lu(nnkit.tensor([[2.0, 0.0], [0.0, 4.0]]))
        >>> nnkit.lu_solve(nnkit.ones(2, 1), *factors)
        tensor([[0.5000],
                [0.2500]])
    """
    return solved("lu_solve", LU_data, LU_pivots, input)
