"""Rounding, element by element."""

from __future__ import annotations

from nnkit.autograd.arguments.dims import check_tensor
from nnkit.autograd.op.out import Out
from nnkit.autograd.op.pointwise import fn, pointwise
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.creation.conversion import converted
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import HALF, INTEGER, float32

ceil = pointwise(
    "ceil", lambda x: fn.ceil(x), "The smallest integer not below each element.",
    example=("nnkit.tensor([1.2, -1.2])", "tensor([ 2., -1.])"),
    refuses=("bool", "complex"), x=lambda g: fn.zeros_like(g), out=Out(dtype="same"),
)
floor = pointwise(
    "floor", lambda x: fn.floor(x), "The largest integer not above each element.",
    example=("nnkit.tensor([1.2, -1.2])", "tensor([ 1., -2.])"),
    refuses=("bool", "complex"), x=lambda g: fn.zeros_like(g), out=Out(dtype="same"),
)
trunc = pointwise(
    "trunc", lambda x: fn.trunc(x), "Each element rounded towards zero.",
    example=("nnkit.tensor([1.7, -1.7])", "tensor([ 1., -1.])"), aliases=("fix",),
    refuses=("bool", "complex"), x=lambda g: fn.zeros_like(g), out=Out(dtype="same"),
)
frac = pointwise(
    "frac", lambda x: fn.frac(x), "The part after the point, with the sign of the element.",
    example=("nnkit.tensor([1.5, -1.25])", "tensor([ 0.5000, -0.2500])"),
    refuses=("bool", "complex", "integer"), x=lambda g: g, out=Out(dtype="same"),
)
_round = pointwise(
    "round", lambda x: fn.round(x), public=False, refuses=("bool", "complex"),
    x=lambda g: fn.zeros_like(g),
)
_round_to = pointwise(
    "round_to", lambda x, finer, coarser: fn.round(x * finer / coarser) * coarser / finer,
    scalars=("finer", "coarser"), function=False, node="RoundBackward1",
    x=lambda g: fn.zeros_like(g),
)


@public(out=Out(dtype="same"), in_place=True)
def round(
    input: Tensor,
    *,
    decimals: int = ...,  # pyright: ignore[reportArgumentType]
) -> Tensor:
    """Each element rounded to ``decimals`` places, 0 unless given, halves to the even neighbour.

    Example:
        >>> import nnkit
        >>> nnkit.round(nnkit.tensor([0.5, 1.5, -2.4]))
        tensor([ 0.,  2., -2.])
    """
    check_tensor("round", input)
    if decimals is ...:
        return _round(input) if input.dtype.category != INTEGER else input.clone()
    check_dtype("round", input.dtype, ("bool", "integer", "complex"))
    if not decimals:
        return _round(input)
    if input.dtype.array in HALF:
        return _round_half_precision(input, decimals)
    finer, coarser = 10.0 ** max(decimals, 0), 10.0 ** max(-decimals, 0)
    return _round_to(input, finer, coarser)


@single(node="RoundBackward1", saves=False)
def _round_half_precision(input: Tensor, decimals: int) -> Tensor:
    return converted(round(converted(input, float32), decimals=decimals), input.dtype)
