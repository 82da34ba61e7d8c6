"""Norms of vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.public import public
from nnkit.autograd.op.rule import guarded, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.decomposition.factorization import nuclear_norm
from nnkit.autograd.ops.reduction.sums import axis_of, in_dtype
from nnkit.autograd.tensor import Tensor
from nnkit.backend.axes import terms
from nnkit.backend.dtype import (
    FLOATING,
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    promote_types,
)


def _grad_norm(B: Any, g: Any, x: Any, out: Any, p: float, axis: Any, keepdims: bool) -> Any:
    shape = tuple(x.shape)

    def expand(value: Any) -> Any:
        return B.expand_reduced(value, shape, axis, keepdims)

    if p == 0:
        return None
    if p == 1:
        return B.abs_grad_x(expand(g), x)
    if p == 2:
        # Of zeros there is none: as in torch it has no derivative there.
        nowhere = expand(B.eq(out, 0))
        return B.mul(expand(g), B.where(nowhere, 0, B.div(x, expand(out))))
    size = B.abs(x)
    if math.isinf(p):
        # All elements that reach the norm share its gradient.
        reached = B.logical_or(B.eq(size, expand(out)), B.isnan(size))
        reached = B.where(reached, B.ones_like(size), 0)
        share = B.div(g, B.maximum(B.sum(reached, axis, keepdims), 1))
        return B.abs_grad_x(B.mul(expand(share), reached), x)
    if p < 1:
        slope = B.where(B.eq(x, 0), 0, B.pow_scalar(size, p - 1))
        return B.mul(B.mul(B.abs_grad_x(slope, x), expand(g)), expand(B.pow_scalar(out, 1 - p)))
    nowhere = B.eq(out, 0)
    share = B.where(nowhere, 0, B.div(g, B.where(nowhere, 1, B.pow_scalar(out, p - 1))))
    if p < 2:
        return B.mul(B.abs_grad_x(B.pow_scalar(size, p - 1), x), expand(share))
    return B.mul(B.mul(x, B.pow_scalar(size, p - 2)), expand(share))


# In which torch adds up numbers of these dtypes on a CPU; of others, in their own.
_ADDED_UP_IN = {d.array: float32.array for d in (float16, bfloat16)} | {
    float32.array: float64.array,
    complex64.array: complex128.array,
}


def _grad_renorm(B: Any, g: Any, x: Any, p: float, axis: Any, maxnorm: float) -> Any:
    dtype = getattr(x, "_array", x).dtype
    wide = _ADDED_UP_IN.get(dtype, dtype)
    along = B.sum(B.cast(B.mul(B.conj(x), g), wide), axis, True)
    whole_g, x = B.cast(g, wide), B.cast(x, wide)
    size = B.norm(x, p, axis, True)
    if along.dtype != size.dtype:
        along = B.real(along)
    inverse = B.div(1.0, B.add(size, 1e-7))  # which torch adds to the norm
    across = B.sub(whole_g, B.mul(inverse, _grad_norm(B, along, x, size, p, axis, True)))
    scaled = B.cast(B.mul(B.mul(inverse, maxnorm), across), dtype)
    return B.where(B.gt(size, maxnorm), scaled, g)


def _size_where_single(x: Any, p: float, axis: Any, keepdims: bool) -> str | None:
    """``alone`` of norms: one element's is its size, which torch writes into the result."""
    shape = x._array.shape
    return "refused" if keepdims and shape and terms(shape, axis) == 1 else None


_norm = rule("norm", node="LinalgVectorNormBackward0", alone=_size_where_single, x=_grad_norm)
_renorm = rule("renorm", alone="refused", x=_grad_renorm)


def in_wider_dtype(name: str, input: Any, dtype: Any) -> Tensor:
    """``input`` in the dtype that a norm called ``name`` is asked to compute in.

    RuntimeError where one of them is neither floating point nor complex, only one is complex, or
    digits would be lost.
    """
    x = in_dtype(name, input, dtype)
    _check_dtype(name, input)
    if dtype is None:
        return x
    wider = promote_types(input.dtype, x.dtype) is x.dtype
    if not wider or input.is_complex() != x.is_complex():
        kind = "complex" if input.is_complex() else "real"
        raise RuntimeError(
            f"{name}(): expected a dtype that is {kind} and as wide as that of the input, which is "
            f"{input.dtype}, got {x.dtype}"
        )
    return x


def vector_norm(
    name: str, input: Any, p: float, dim: Any, keepdim: bool, dtype: Any = None
) -> Tensor:
    """The p-norm along dimensions, for a function called ``name``."""
    x = in_wider_dtype(name, input, dtype)
    axis = axis_of(name, dim, x.ndim)
    _check_identity(name, x._array.shape, p, axis)
    return _norm(x, p, axis, keepdim)


def _check_dtype(name: str, x: Tensor) -> None:
    if x.dtype.category < FLOATING:
        raise RuntimeError(
            f"{name}(): Expected a floating point or complex tensor as input, got {x.dtype.name}"
        )


def _check_identity(name: str, shape: tuple[int, ...], p: float, axis: Any) -> None:
    if 0 in shape and (p < 0 or p == math.inf):
        lost = range(len(shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
        if axis is None or any(shape[a] == 0 for a in lost):
            raise RuntimeError(
                f"{name} cannot compute the {p} norm on an empty tensor because the operation "
                f"does not have an identity, got shape {list(shape)}"
            )


@public(out=Out(dtype="same"), in_python=True, strict=True)
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:
    """The p-norm ``sum(|x|**p)**(1/p)`` of all elements, or along dimensions.

    Args:
        p: a number, inf, -inf, "fro" (which is 2) or "nuc" (the sum of a matrix' singular values);
            0 counts what is not zero.
        dim: an int or a tuple of ints; for "nuc" two of them.
        dtype: what the input is converted to first.

    Raises:
        RuntimeError: the dtype is neither floating point nor complex, ``p`` is an unknown word, or
            a norm without identity is taken of no elements.

    Example:
        >>> import nnkit
        >>> nnkit.tensor([3.0, -4.0]).norm()
        tensor(5.)
    """
    several = isinstance(dim, (tuple, list)) and len(dim) > 2
    p = (2.0 if several else "fro") if p is None else p
    if p == "nuc":
        return nuclear_norm(in_wider_dtype("norm", input, dtype), dim, keepdim)
    if isinstance(p, str) and p != "fro":
        raise RuntimeError(f"norm(): order {p!r} not supported, expected a number, 'fro' or 'nuc'")
    if p == "fro" and several:
        raise RuntimeError(f"norm(): the order 'fro' takes at most 2 dims, got {dim}")
    return vector_norm("norm", input, 2 if isinstance(p, str) else p, dim, keepdim, dtype)


@public
@single(node="DistBackward0", reads_result=True)
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of ``input - other``.

    Example:
        >>> import nnkit
        >>> nnkit.dist(nnkit.tensor([1.0, 2.0]), nnkit.tensor([4.0, 6.0]))
        tensor(5.)
    """
    check_tensor("dist", other, "other")
    out = vector_norm("dist", input - other, p, None, False)
    return guarded("dist", out, input, other, out)


@public(out=Out(dtype="same"), in_place=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale down each slice along ``dim`` whose p-norm exceeds ``maxnorm``, so that it equals it.

    Raises:
        RuntimeError: ``input`` has fewer than 2 dimensions, or ``p`` or ``maxnorm`` is negative.

    Example:
        >>> import nnkit
        >>> nnkit.renorm(nnkit.tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0)
        tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]])
    """
    check_tensor("renorm", input)
    if input.ndim < 2:
        raise RuntimeError(f"renorm(): input needs at least 2 dimensions, got {input.ndim}")
    if not p > 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, got {p}")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    own = axis_of("renorm", dim, input.ndim)
    _check_dtype("renorm", input)
    others = tuple(a for a in range(input.ndim) if a != own)
    _check_identity("renorm", input._array.shape, p, others)
    return _renorm(input, p, others, maxnorm)
