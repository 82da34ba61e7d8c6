"""Factors of symmetric matrices that need not be definite, and systems that they solve."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.op.rule import refusing, rule
from nnkit.autograd.ops.decomposition.factorization import WHOLE, check_square
from nnkit.autograd.ops.decomposition.lu import refuse_failures
from nnkit.autograd.ops.linalg.products import check_operands
from nnkit.autograd.surface import return_types
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import INTEGER

_factor = rule(
    "ldl_factor",
    node="NotImplemented",
    nondifferentiable=("pivots", "info"),
    x=refusing("linalg.ldl_factor"),
)
_solve = rule(
    "ldl_solve",
    node="NotImplemented",
    x=refusing("linalg.ldl_solve"),
    y=refusing("linalg.ldl_solve"),
)


def ldl_factor(A: Tensor, *, hermitian: bool = False) -> Any:
    """L and D with ``P.mT @ A @ P = L @ D @ L.mT`` in one matrix, and the exchanged rows: (LD,
    pivots).

    By Bunch and Kaufman, as LAPACK stores them: L is lower triangular with ones on its diagonal, D
    has blocks of one or two, told by positive and negative pivots. There is no derivative.

    Args:
        A: (*, n, n), symmetric; the lower triangle is read.
        hermitian: whether complex matrices are Hermitian, and L is conjugated on the right.

    Raises:
        RuntimeError: a matrix is not square, or a block of D is 0.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.ldl_factor(nnkit.tensor([[0.0, 1.0], [1.0, 0.0]])).pivots
        tensor([-2, -2], dtype=nnkit.int32)
    """
    LD, pivots, _ = _factored("linalg.ldl_factor", A, hermitian, True)
    return return_types.linalg_ldl_factor((LD, pivots))


def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """`ldl_factor`, and for each matrix where the first 0 in D is: (LD, pivots, info).

    Args:
        check_errors: whether to raise RuntimeError where there is one.

    Example:
        >>> import nnkit
        >>> nnkit.linalg.ldl_factor_ex(nnkit.zeros(2, 2)).info
        tensor(1, dtype=nnkit.int32)
    """
    results = _factored("linalg.ldl_factor_ex", A, hermitian, check_errors)
    return return_types.linalg_ldl_factor_ex(results)


def _factored(name: str, A: Tensor, hermitian: bool, check_errors: bool) -> tuple:
    check_square(name, A, WHOLE)
    results = _factor(A, bool(hermitian))
    if check_errors:
        refuse_failures(name, results[2], "D is zero at the diagonal element {order}", RuntimeError)
    return results


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The X with ``A @ X = B`` for the A that `ldl_factor` was given. There is no derivative.

    Args:
        LD: (*, n, n).
        pivots: (*, n), of integers.
        B: (*, n, k).
        hermitian: as for `ldl_factor`.

    Raises:
        IndexError: B is no matrix.
        RuntimeError: shapes or dtypes do not fit, or a pivot is not of these factors.

    Example:
        >>> import nnkit
        >>> factors = nnkit.linalg.ldl_factor(nnkit.tensor([[0.0, 2.0], [2.0, 0.0]]))
        >>> nnkit.linalg.ldl_solve(*factors, nnkit.tensor([[2.0], [4.0]]))
        tensor([[2.],
                [1.]])
    """
    name = "linalg.ldl_solve"
    *batch, n, _ = check_square(name, LD, WHOLE)
    if B.ndim < 2:
        raise IndexError(f"{name}(): expected a matrix B, got shape {list(B.shape)}")
    check_operands(name, ("LD", LD), ("B", B))
    if B._array.shape[-2] != n:
        raise RuntimeError(
            f"{name}(): incompatible shapes of LD and B: got {list(LD.shape)} and {list(B.shape)}"
        )
    if pivots.dtype.category != INTEGER:
        raise RuntimeError(f"{name}(): expected pivots of integers, got {pivots.dtype.name}")
    if tuple(pivots._array.shape) != (*batch, n):
        raise RuntimeError(
            f"{name}(): expected pivots of shape {[*batch, n]}, got {list(pivots.shape)}"
        )
    return _solve(LD, pivots, B, bool(hermitian))
