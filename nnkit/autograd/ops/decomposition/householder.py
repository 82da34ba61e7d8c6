"""Orthogonal matrices as products of reflections, as LAPACK stores them."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import check_least, size_at
from nnkit.autograd.op.out import Out, copied_by_rows
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import guarded, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.factories import eye
from nnkit.autograd.ops.creation.memory_format import column_major
from nnkit.autograd.ops.decomposition.factorization import COARSE, check_matrices
from nnkit.autograd.ops.decomposition.rules import solve_triangular
from nnkit.autograd.ops.linalg.products import matmul
from nnkit.autograd.surface import return_types
from nnkit.autograd.tensor import Tensor


def _no_derivative(B: Any, g_a: Any) -> Any:
    raise NotImplementedError("geqrf(): the derivative is not implemented, use nnkit.linalg.qr")


_geqrf = rule("geqrf", alone="refused", x=_no_derivative)


@public(out=Out(dtype="castable", axes=copied_by_rows))
def geqrf(input: Tensor) -> Any:
    """The QR factorization in LAPACK's form: R on and above the diagonal, reflections below it.

    Args:
        input: (*, m, n).

    Returns:
        A named tuple (a, tau), what `orgqr` and `ormqr` take; it has no derivative.

    Example:
        >>> import nnkit
        >>> reflectors, scales = nnkit.geqrf(nnkit.eye(2))
        >>> reflectors.shape, scales.shape
        (nnkit.Size([2, 2]), nnkit.Size([2]))
    """
    check_matrices("geqrf", input, ())
    return return_types.geqrf(_geqrf(input))


def _reflected(
    name: str, start: Tensor, input: Tensor, tau: Tensor, other: Tensor | None = None
) -> Tensor:
    """``H[0] @ H[1] @ ... @ start`` for the reflections ``H[i] = 1 - tau[i] v[i] v[i].mH``."""
    rows = input._array.shape[-2]
    size_at(name, tau, -1, "tau")
    if tau.ndim != input.ndim - 1:
        raise RuntimeError(
            f"{name}(): tau must have one dimension less than input, got shapes "
            f"{list(tau.shape)} and {list(input.shape)}"
        )
    count = tau._array.shape[-1]
    if name == "orgqr" and rows < input._array.shape[-1]:
        raise RuntimeError(
            "orgqr(): input.shape[-2] must be greater than or equal to input.shape[-1], got "
            f"{list(input.shape)}"
        )
    if count > input._array.shape[-1]:
        raise RuntimeError(
            f"{name}(): input.shape[-1] must be greater than or equal to tau.shape[-1], got "
            f"{input._array.shape[-1]} and {count}"
        )
    for parameter, given, own in (("tau", tau, 1), ("other", other, 2)):
        if given is None:
            continue
        if given._array.shape[:-own] != input._array.shape[:-2]:
            raise RuntimeError(
                f"{name}(): Expected batch dimensions of {parameter} to be equal to "
                f"input.shape[:-2], got shapes {list(given.shape)} and {list(input.shape)}"
            )
        if given.dtype is not input.dtype:
            raise RuntimeError(
                f"{name}(): {parameter} must have the input's dtype {input.dtype}, got "
                f"{given.dtype}"
            )
    check_dtype(name, input.dtype, COARSE)
    # H[0] @ H[1] @ ... is 1 - v @ T @ v.mH, where T's inverse is triangular (Joffrain et al.,
    # "Accumulating Householder transformations, revisited", 2006).
    v = input[..., :count].tril(-1) + eye(rows, count, dtype=input.dtype, device=input.device)
    scale = tau.unsqueeze(-1)
    products = scale * matmul(v.mH, v)
    return start - matmul(v, solve_triangular(products, scale * matmul(v.mH, start), True, True))


@public(out=Out(called="result", axes=copied_by_rows))
@single(node="LinalgHouseholderProductBackward0")
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """The first columns of the orthogonal matrix whose reflections `geqrf` gave.

    Args:
        input: (*, m, n), the vectors of the reflections below the diagonal.
        input2: (*, k), their scales, with k <= n <= m.

    Returns:
        (*, m, n).

    Example:
        >>> import nnkit
        >>> nnkit.orgqr(*nnkit.geqrf(nnkit.tensor([[3.0], [4.0]]))).abs()
        tensor([[0.6000],
                [0.8000]])
    """
    rows, columns = check_matrices("orgqr", input, ())[-2:]
    start = eye(rows, columns, dtype=input.dtype, device=input.device)
    out = column_major(_reflected("orgqr", start, input, input2).expand(input._array.shape))
    return guarded("orgqr", out, input, input2, out)


@public(out=Out(dtype="same", axes=copied_by_rows))
@single(node="OrmqrBackward0")
def ormqr(
    input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """The orthogonal matrix of `geqrf` (its transpose) times ``input3``, or ``input3`` times it.

    Args:
        input: (*, m, k), the vectors of the reflections below the diagonal.
        input2: (*, k), their scales.
        input3: (*, m, n) with ``left``, else (*, n, m).

    Example:
        >>> import nnkit
        >>> reflectors, scales = nnkit.geqrf(nnkit.tensor([[3.0], [4.0]]))
        >>> nnkit.ormqr(reflectors, scales, nnkit.eye(2)).shape
        nnkit.Size([2, 2])
    """
    check_least("ormqr", "input", input, 2)
    check_least("ormqr", "other", input3, 2)
    size_at("ormqr", input2, -1, "input2")
    rows, columns = input._array.shape[-2:]
    count, axis = input2._array.shape[-1], -2 if left else -1
    size = input3._array.shape[axis]
    for wrong, requirement in (
        (size < count, f"other.shape[{axis}] must be greater than or equal to tau.shape[-1]"),
        (
            count != min(size, columns),
            f"tau.shape[-1] must be equal to min(other.shape[{axis}], input.shape[-1])",
        ),
        (size != rows, f"other.shape[{axis}] must be equal to input.shape[-2]"),
        (
            input3.ndim != input.ndim,
            "Expected other to have the same number of dimensions as input",
        ),
    ):
        if wrong:
            raise RuntimeError(
                f"ormqr(): {requirement}, got input {list(input.shape)}, tau {list(input2.shape)}, "
                f"other {list(input3.shape)}"
            )
    q = _reflected(
        "ormqr", eye(rows, dtype=input.dtype, device=input.device), input, input2, input3
    )
    if transpose:
        q = q.mH
    out = column_major(matmul(q, input3) if left else matmul(input3, q))
    return guarded("ormqr", out, input, input2, input3, out)
