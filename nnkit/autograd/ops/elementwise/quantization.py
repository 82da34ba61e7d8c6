"""Fake quantization: numbers rounded to a grid of few levels, with a straight-through gradient."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.annotations import KINDS
from nnkit.autograd.arguments.dims import check_tensor, normalize_dim
from nnkit.autograd.arguments.sizes import integer
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.grad_mode import MODE, no_grad
from nnkit.autograd.op.pointwise import fn, pointwise
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.public import public
from nnkit.autograd.ops.creation.factories import tensor
from nnkit.autograd.ops.elementwise.comparison import where
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import float16, float32, float64, int32

_is_inside = pointwise(
    "is_inside", lambda level, low, high: fn.logical_and(level >= low, level <= high),
    scalars=("low", "high"), kind="bool", function=False,
)  # fmt: skip
# NaN is taken to the lowest level.
_steps_from = pointwise(
    "steps_from",
    lambda level, zero, low, high: (
        fn.where(level >= low, fn.where(level <= high, level, high), low) - zero
    ),
    scalars=("low", "high"), function=False,
)  # fmt: skip


def _check_levels(name: str, zero_point: Any, quant_min: int, quant_max: int) -> None:
    """RuntimeError where a zero point is no level."""
    if not all(quant_min <= level <= quant_max for level in zero_point):
        raise RuntimeError(
            f"{name}(): zero_point must be between quant_min={quant_min} and "
            f"quant_max={quant_max}, got {zero_point}"
        )


def _fake_quantize(
    name: str, input: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int
) -> Tensor:
    quant_min = integer(name, "quant_min", quant_min)
    quant_max = integer(name, "quant_max", quant_max)
    if quant_min > quant_max:
        raise RuntimeError(
            f"{name}(): quant_min must be at most quant_max, got {quant_min} and {quant_max}"
        )
    for parameter, given in (("scale", scale), ("zero_point", zero_point)):
        if MODE.enabled and given.requires_grad:
            raise RuntimeError(f"{name}(): {parameter} has no gradient, but requires grad")
    check_dtype(name, input.dtype, ("bool", "integer", "complex"), (input,))
    scale = scale.to(float32)
    with no_grad():
        level = input.to(float64 if input.dtype is float64 else float32) * scale.reciprocal()
        zero = zero_point.to(level.dtype)
        if zero_point.is_floating_point():  # which are added before rounding
            level = (level + zero).round()
        else:
            level = level.round() + zero
        inside = _is_inside(level, quant_min, quant_max)
        level = _steps_from(level, zero, quant_min, quant_max)
        # Of one scale torch rounds the product to float32, of doubles too.
        value = (level if scale.ndim else level.to(float32)) * scale
    out = where(inside, input, 0)  # whose gradient this one's is
    with no_grad():
        return out.copy_(value)


@public(method=False)
def fake_quantize_per_tensor_affine(
    input: Tensor,
    scale: float | Tensor,
    zero_point: int | Tensor,
    quant_min: int,
    quant_max: int,
) -> Tensor:
    """``(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale``.

    The gradient passes where the level is between ``quant_min`` and ``quant_max``, and is 0
    elsewhere.

    Args:
        input: of a floating dtype.
        scale: the distance of neighbouring levels.
        zero_point: the level of 0.

    Raises:
        TypeError: one of ``scale`` and ``zero_point`` is a tensor of no number, and the other none.
        RuntimeError: ``quant_min`` is above ``quant_max``, ``zero_point``, a number, is not between
            them, or ``scale`` requires grad.
        NotImplementedError: ``input`` is not floating.

    Source: Jacob et al., "Quantization and Training of Neural Networks for Efficient
    Integer-Arithmetic-Only Inference" (2018).

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([-0.3, 0.26, 0.9])
        >>> nnkit.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 7)
        tensor([0.0000, 0.3000, 0.7000])
    """
    name = "fake_quantize_per_tensor_affine"
    check_tensor(name, input)
    if isinstance(scale, Tensor) and isinstance(zero_point, Tensor):
        for given in (scale, zero_point):
            if given.numel() != 1:
                raise RuntimeError(
                    f"{name}(): a Tensor with {given.numel()} elements cannot be converted to "
                    "Scalar"
                )
        step, zero = scale.reshape(()), zero_point.reshape(()).to(int32)
    else:
        for parameter, given, takes in (("scale", scale, float), ("zero_point", zero_point, int)):
            if not KINDS[takes].takes(given):
                raise TypeError(
                    f"{name}(): argument '{parameter}' must be {takes.__name__}, or both it and "
                    f"the other must be Tensor, not {type(given).__name__}"
                )
        step = tensor(float(scale), device=input.device)
        level = integer(name, "zero_point", zero_point)
        _check_levels(name, [level], quant_min, quant_max)
        zero = tensor(level, device=input.device)
    return _fake_quantize(name, input, step, zero, quant_min, quant_max)


@public(method=False)
def fake_quantize_per_channel_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each index of ``axis``.

    Args:
        scale: float32, of shape (C,).
        zero_point: int32, float32 or float16, of shape (C,); floating ones are added before
            rounding.
        axis: the dimension of length C.

    Raises:
        RuntimeError: the shapes or dtypes of ``scale`` and ``zero_point`` are others,
            ``quant_min`` is above ``quant_max``, or a zero point of int32 is not between them.

    Example:
        >>> import nnkit
        >>> scale, zero_point = nnkit.tensor([0.1, 1.0]), nnkit.zeros(2, dtype=nnkit.int32)
        >>> x = nnkit.full((2, 2), 0.62)
        >>> nnkit.fake_quantize_per_channel_affine(x, scale, zero_point, 1, 0, 7)
        tensor([[0.6000, 1.0000],
                [0.6000, 1.0000]])
    """
    name = "fake_quantize_per_channel_affine"
    check_tensor(name, input)
    if scale.dtype is not float32:
        raise RuntimeError(f"{name}(): scale must be float32, got {scale.dtype}")
    if zero_point.dtype not in (int32, float32, float16):
        raise RuntimeError(
            f"{name}(): zero_point must be int32, float32 or float16, got {zero_point.dtype}"
        )
    if scale.ndim != 1 or scale.shape != zero_point.shape:
        raise RuntimeError(
            f"{name}(): scale and zero_point must have one dimension of equal length, got shapes "
            f"{list(scale.shape)} and {list(zero_point.shape)}"
        )
    axis = normalize_dim(axis, input.ndim, name)
    if scale.shape[0] != input.shape[axis]:
        raise RuntimeError(
            f"{name}(): scale must have {input.shape[axis]} elements, the length of dimension "
            f"{axis} of input, got {scale.shape[0]}"
        )
    if zero_point.dtype is int32:
        _check_levels(name, lowest(zero_point).flatten().tolist(), quant_min, quant_max)
    along = [-1 if d == axis else 1 for d in range(input.ndim)]
    levels = scale.reshape(along), zero_point.reshape(along)
    return _fake_quantize(name, input, *levels, quant_min, quant_max)
