"""Functions of matrices: exponentials, powers of vectors, and solutions from known factors."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape, check_tensor
from nnkit.autograd.arguments.sizes import check_shape, integer
from nnkit.autograd.op.out import Out, by_rows, copied_by_rows
from nnkit.autograd.op.promotion import check_defined
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import guarded, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.conversion import clone
from nnkit.autograd.ops.creation.factories import eye
from nnkit.autograd.ops.creation.memory_format import column_major
from nnkit.autograd.ops.decomposition import rules as rules
from nnkit.autograd.ops.decomposition.factorization import WHOLE, check_matrices, check_square
from nnkit.autograd.ops.decomposition.lu import refuse_failures
from nnkit.autograd.ops.elementwise.comparison import where
from nnkit.autograd.ops.linalg.products import check_operands
from nnkit.autograd.ops.shape.joining import cat
from nnkit.autograd.surface import return_types
from nnkit.autograd.tensor import Tensor, on_its_own
from nnkit.backend.dtype import FLOATING, int64
from nnkit.backend.errors import SINGULAR
from nnkit.backend.memory import contiguous_format
from nnkit.backend.warning import warn_once


def _grad_matrix_exp(B: Any, g: Any, x: Any) -> Any:
    """The upper right part of the exponential of ``[[x*, g], [0, x*]]``, as in torch."""
    n, turned, column = x.shape[-1], B.mH(x), len(x.shape) - 1
    upper = B.concat([turned, g], column)
    lower = B.concat([B.zeros_like(turned), turned], column)
    rows = B.split(B.matrix_exp(B.concat([upper, lower], column - 1)), (n, n), column - 1)[0]
    return B.contiguous(B.split(rows, (n, n), column)[1])


_matrix_exp = rule("matrix_exp", node="LinalgMatrixExpBackward0", x=_grad_matrix_exp)


@public
def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential, by scaling, a Taylor polynomial and squaring.

    Args:
        input: (*, n, n).

    Raises:
        RuntimeError: the matrices are not square, or of integers.

    Example:
        >>> import nnkit
        >>> nnkit.matrix_exp(nnkit.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    check_square("matrix_exp", input, WHOLE)
    return _matrix_exp(input)


@public(method=False)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The matrix of the powers of a vector's elements, the highest first unless ``increasing``.

    Args:
        N: how many powers, the length of ``x`` unless given.

    Raises:
        RuntimeError: ``x`` is no vector, or ``N`` is negative.

    Example:
        >>> import nnkit
        >>> nnkit.vander(nnkit.tensor([2, 3]), 3)
        tensor([[4, 2, 1],
                [9, 3, 1]])
    """
    check_tensor("vander", x, "x")
    if x.ndim != 1:
        raise RuntimeError(f"vander(): x must be a one-dimensional tensor. Got {x.ndim} dimensions")
    count = x._array.size if N is None else integer("vander", "N", N)
    if count < 0:
        raise RuntimeError(f"vander(): N must be non-negative. Got {N}")
    check_shape("vander", (x._array.size, count))
    rising = powers(x, count)
    return on_its_own(rising if increasing else rising.flip(1))


def powers(x: Tensor, count: int) -> Tensor:
    """``x ** 0, x ** 1, ...`` along a new last dimension."""
    shape = x._array.shape
    first = x.new_ones(*shape, 1)
    if count < 2:
        few = first[..., :count]
        return few if few.dtype.category >= FLOATING else few.to(int64)
    repeated = x.unsqueeze(-1).expand(*shape, count - 1)
    return cat([first, repeated.cumprod(-1)], -1)


@public(out=Out(called="result", axes=by_rows))
@single(node="CholeskySolveBackward0")
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """The X with ``L @ L.mH @ X = input`` (``L.mH @ L`` with ``upper``).

    Args:
        input: (*, n, k).
        input2: L, (*, n, n), triangular, as `cholesky` gives it.

    Example:
        >>> import nnkit
        >>> factor = nnkit.tensor([[2.0, 0.0], [0.0, 1.0]])
        >>> nnkit.cholesky_solve(nnkit.tensor([[4.0], [1.0]]), factor)
        tensor([[1.],
                [1.]])
    """
    check_square("cholesky_solve", input2, ())
    check_operands("cholesky_solve", ("input", input), ("input2", input2))
    if check_matrices("cholesky_solve", input, ())[-2] != input2._array.shape[-1]:
        raise RuntimeError(
            f"cholesky_solve(): input2 of shape {list(input2.shape)} does not fit input of shape "
            f"{list(input.shape)}"
        )
    out = column_major(rules.cholesky_solve(input, input2, bool(upper)))
    return guarded("cholesky_solve", out, input, input2, out)


@public(out=Out(called="result", axes=copied_by_rows))
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of ``L @ L.mH`` (of ``L.mH @ L`` with ``upper``) from the triangular L.

    Example:
        >>> import nnkit
        >>> nnkit.cholesky_inverse(nnkit.tensor([[2.0, 0.0], [0.0, 1.0]]))
        tensor([[0.2500, 0.0000],
                [0.0000, 1.0000]])

    Raises:
        LinAlgError: on the CPU, an element on the diagonal is 0.
    """
    n = check_square("cholesky_inverse", input, ())[-1]
    if n and input.device.type == "cpu":  # a GPU does not wait for its values
        zero = input.detach().diagonal(0, -2, -1) == 0
        refuse_failures(
            "cholesky_inverse", where(zero.any(-1), zero.byte().argmax(-1) + 1, 0), SINGULAR
        )
    return cholesky_solve(eye(n, dtype=input.dtype, device=input.device), input, upper)


@public(out=True)
@single(node="TriangularSolveBackward0")
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Any:
    """The X with ``A @ X = input`` (``A.mT @ X`` with ``transpose``) for triangular A.

    `nnkit.linalg.solve_triangular` is the younger name, with its arguments in another order.

    Args:
        input: (*, n, k).
        A: (*, n, n), of which only the upper (the lower) triangle is read, with ``unitriangular``
            without the diagonal, which counts as 1.

    Returns:
        A named tuple (solution, cloned_coefficient), the latter a copy of A.

    Raises:
        RuntimeError: shapes or dtypes do not fit.

    Example:
        >>> import nnkit
        >>> A = nnkit.tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> nnkit.triangular_solve(nnkit.ones(2, 1), A).solution
        tensor([[0.5000],
                [0.2500]])
    """
    warn_once(
        "triangular_solve() is deprecated in favor of linalg.solve_triangular(), where A is first"
    )
    rows = check_matrices("triangular_solve", input, ())[-2]
    check_matrices("triangular_solve", A, ())
    check_operands("triangular_solve", ("input", input), ("A", A))
    if check_square("triangular_solve", A, ())[-1] != rows:
        raise RuntimeError(
            f"triangular_solve(): incompatible shapes of A and input: got {list(A.shape)} and "
            f"{list(input.shape)}"
        )
    batch = broadcast_shape("triangular_solve", [A._array.shape[:-2], input._array.shape[:-2]])
    check_defined("triangular_solve", "solve_triangular", A)
    read = A.mT if transpose else A
    solution = rules.solve_triangular(read, input, upper != transpose, unitriangular)
    solution = guarded("triangular_solve", column_major(solution), input, A, solution)
    copied = clone(A.expand(*batch, rows, rows).mT, memory_format=contiguous_format).mT
    return return_types.triangular_solve((solution, copied))
