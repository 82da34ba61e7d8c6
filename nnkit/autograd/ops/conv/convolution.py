"""Convolutions and transposed convolutions over 1, 2 or 3 spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nnkit.autograd.arguments.sizes import check_shape
from nnkit.autograd.arguments.spatial import (
    Ints,
    gradient_in_format,
    hashable,
    in_format_of,
    like_input,
)
from nnkit.autograd.op.public import public
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.op.rule import guarded, real_gradient, rule
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.conv.plan import operands, plan, plan_transposed
from nnkit.autograd.ops.creation.conversion import clone, converted
from nnkit.autograd.ops.linalg.products import check_ndim, check_operands, matmul
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import INTEGER, float32, int64
from nnkit.backend.memory import contiguous_format, format_of


def _bias(B: Any, g: Any) -> Any:
    return B.sum(g, (0, *range(2, g.ndim)), False)


# conv, its gradient in the input and its gradient in the weight are the three ways to contract two
# of (input, weight, output) against the third: each one's derivatives are the other two.
_BOTH: Any = dict.fromkeys(("x", "weight"), ("x", "weight"))


def _formed(B: Any, gradient: Any, x: Any, weight: Any) -> Any:
    """The gradient of one, with channels last in memory where either of them has them."""
    return gradient_in_format(B, gradient, x if format_of(getattr(x, "_array", x)) else weight)


_conv = rule(
    "conv", node="ConvolutionBackward0", depends="none", also=_BOTH,
    x=lambda B, g, x, weight, x_shape, stride, padding, dilation, groups: _formed(
        B, B.conv_grad_input(g, B.conj(weight), x_shape, stride, padding, dilation, groups),
        x, weight,
    ),
    weight=lambda B, g, x, weight, weight_shape, stride, padding, dilation, groups: _formed(
        B, B.conv_grad_weight(g, B.conj(x), weight_shape, stride, padding, dilation, groups),
        x, weight,
    ),
    bias=_bias,
)  # fmt: skip


def _conv_like(B: Any, x: Any, weight: Any, shape: Ints, *statics: Any) -> Any:
    """The adjoint of a transposed convolution of something of ``shape``. Where the output padding
    reaches the stride, the convolution has positions behind those that came from an input."""
    out = B.conv(x, weight, None, *statics)
    return out if out.shape == shape else B.getitem(out, tuple(slice(n) for n in shape))


_conv_transpose = rule(
    "conv_transpose", node="ConvolutionBackward0", depends="none", also=_BOTH,
    x=lambda B, g, x, weight, x_shape, stride, padding, dilation, groups: _formed(
        B, _conv_like(B, g, B.conj(weight), x_shape, stride, padding, dilation, groups), x, weight,
    ),
    weight=lambda B, g, x, weight, weight_shape, stride, padding, dilation, groups: _formed(
        B, B.conv_grad_weight(B.conj(x), g, weight_shape, stride, padding, dilation, groups),
        x, weight,
    ),
    bias=_bias,
)  # fmt: skip
rule(
    "conv_grad_input",
    g=lambda B, g_out, weight, g_shape, stride, padding, dilation, groups: _conv_like(
        B, g_out, B.conj(weight), g_shape, stride, padding, dilation, groups
    ),
    weight=lambda B, g_out, g, weight_shape, stride, padding, dilation, groups: B.conv_grad_weight(
        B.conj(g), g_out, weight_shape, stride, padding, dilation, groups
    ),
)
rule(
    "conv_grad_weight",
    g=lambda B, g_out, x, g_shape, stride, padding, dilation, groups: _conv_like(
        B, B.conj(x), g_out, g_shape, stride, padding, dilation, groups
    ),
    x=lambda B, g_out, g, x_shape, stride, padding, dilation, groups: B.conv_grad_input(
        B.conj(g), g_out, x_shape, stride, padding, dilation, groups
    ),
)


def _check_dtypes(name: str, kernel: str, x: Tensor, **other: Tensor | None) -> None:
    """The other operand has the input's dtype; else the kernel, if one is named, speaks first."""
    for parameter, value in other.items():
        if value is not None and value._array.dtype != x._array.dtype:
            check_operands(name, ("input", x), (parameter, value), kernel=kernel)


def _convolve(
    name: str, axes: int, input: Tensor, weight: Tensor, bias: Tensor | None, *geometry: Any
) -> Tensor:
    x, *shapes = operands(name, axes, input, weight, bias)
    statics, before = plan(name, *shapes, *map(hashable, geometry))
    _check_dtypes(name, "", x, bias=bias)
    _check_dtypes(name, "conv", x, weight=weight)
    if x.dtype.category == INTEGER and x.dtype is not int64 and max(statics[2]) > 1:
        raise NotImplementedError(f"{name}(): not implemented for '{x.dtype.name}' with dilation")
    if before is not None:
        x = OPS["pad"](x, before, 0)
    out = _conv(x, weight, bias, *statics)
    if not x._array.shape[1]:  # of no channels torch makes none
        out = OPS["getitem"](out, (slice(None), slice(0)))
    return _laid(out, x, input, weight, statics[-1])


def _convolve_transposed(
    name: str, axes: int, input: Tensor, weight: Tensor, bias: Tensor | None, *geometry: Any
) -> Tensor:
    x, *shapes = operands(name, axes, input, weight, bias)
    statics = plan_transposed(name, *shapes, *map(hashable, geometry))
    _check_dtypes(name, "conv_transpose", x, weight=weight, bias=bias)
    return _laid(_conv_transpose(x, weight, bias, *statics), x, input, weight, statics[-1])


def _laid(out: Tensor, x: Tensor, input: Tensor, weight: Tensor, groups: int) -> Tensor:
    """A result with channels last in memory where the input or the weight has them, and torch's
    kernel keeps them."""
    if out._array.ndim == 5 and _makes_rows(x, weight, groups):
        return like_input(out, input, lambda array: None)
    by_weight = format_of(weight._array) is not None
    if out._array.ndim == input._array.ndim:
        return in_format_of(weight if by_weight else input, out)
    if by_weight and out._array.ndim != 5:
        out = in_format_of(weight, out)
    return OPS["squeeze"](out, (0,))  # a view, as torch's


# The sizes to which torch leaves an input to its own kernel (`use_mkldnn` in its Convolution.cpp):
# that of the first four dimensions together, and that of the kernel's last two.
SMALL_VOLUME, SMALL_KERNEL = 20480, 3


def _makes_rows(x: Tensor, weight: Tensor, groups: int) -> bool:
    """Whether torch convolves these volumes by the kernel that knows rows alone: one of float32
    that is small, or another dtype of real numbers."""
    if x.dtype is not float32:
        return not x.dtype.is_complex
    small = math.prod(x._array.shape[:4]) <= SMALL_VOLUME
    small = small and min(weight._array.shape[-2:]) <= SMALL_KERNEL
    return x._array.shape[0] == 1 and groups == 1 and small


@public(method=False)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """1-dimensional convolution; see `conv2d`.

    Args:
        input: (N, C, L) or (C, L).
        weight: (O, C / groups, K).
        bias: (O,).

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[[1.0, 2.0, 4.0, 8.0]]])
        >>> nnkit.conv1d(x, nnkit.tensor([[[-1.0, 1.0]]]))
        tensor([[[1., 2., 4.]]])
    """
    return _convolve("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@public(method=False)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """2-dimensional convolution (the kernel is not turned, so strictly a cross-correlation).

    ``out[n, o, at] = bias[o] + sum of weight[o, c, k] * x[n, c, stride * at + dilation * k]`` over
    channels c and places k in the kernel, where x is the input with ``padding`` zeros around it.

    Args:
        input: (N, C, H, W) or (C, H, W).
        weight: (O, C / groups, kernel height, kernel width).
        bias: (O,).
        stride: how far the kernel moves: an int or one for each axis, as all that follow.
        padding: zeros before and after each axis; "valid" is none, "same" as many as keep the
            size (for stride 1; one more at the end where their number is odd).
        dilation: the distance of the kernel's elements.
        groups: how many parts the channels are in; each part of the outputs sees one of the inputs.

    Raises:
        TypeError: an argument of the wrong type.
        RuntimeError: shapes, dtypes or numbers that do not fit together.

    Example:
        >>> import nnkit
        >>> x = nnkit.arange(9.0).reshape(1, 1, 3, 3)
        >>> nnkit.conv2d(x, nnkit.ones(1, 1, 2, 2), stride=1)
        tensor([[[[ 8., 12.],
                  [20., 24.]]]])
    """
    return _convolve("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@public(method=False)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """3-dimensional convolution; see `conv2d`.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).
        weight: (O, C / groups, *kernel size).
        bias: (O,).

    Example:
        >>> import nnkit
        >>> nnkit.conv3d(nnkit.ones(1, 2, 4, 4, 4), nnkit.ones(3, 2, 2, 2, 2)).shape
        nnkit.Size([1, 3, 3, 3, 3])
    """
    return _convolve("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@public(method=False)
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """1-dimensional transposed convolution; see `conv_transpose2d`.

    Args:
        input: (N, C, L) or (C, L).
        weight: (C, O / groups, K).
        bias: (O,).

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[[1.0, 2.0]]])
        >>> nnkit.conv_transpose1d(x, nnkit.tensor([[[1.0, 10.0]]]), stride=2)
        tensor([[[ 1., 10.,  2., 20.]]])
    """
    geometry = (stride, padding, output_padding, groups, dilation)
    return _convolve_transposed("conv_transpose1d", 1, input, weight, bias, *geometry)


@public(method=False)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """2-dimensional transposed convolution: what `conv2d` does to a gradient on its way back.

    Each input element adds the kernel, times itself, to the output; the output's size is
    ``(n - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1``.

    Args:
        input: (N, C, H, W) or (C, H, W).
        weight: (C, O / groups, kernel height, kernel width).
        bias: (O,).
        stride: how far apart the kernels are laid: an int or one for each axis.
        padding: how much is cut off around the output.
        output_padding: rows and columns added at the end, fewer than stride or dilation.
        groups: how many parts the channels are in.
        dilation: the distance of the kernel's elements.

    Raises:
        TypeError: an argument of the wrong type.
        RuntimeError: shapes, dtypes or numbers that do not fit together.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[[[1.0, 2.0]]]])
        >>> nnkit.conv_transpose2d(x, nnkit.ones(1, 1, 2, 2))
        tensor([[[[1., 3., 2.],
                  [1., 3., 2.]]]])
    """
    geometry = (stride, padding, output_padding, groups, dilation)
    return _convolve_transposed("conv_transpose2d", 2, input, weight, bias, *geometry)


@public(method=False)
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """3-dimensional transposed convolution; see `conv_transpose2d`.

    Args:
        input: (N, C, D, H, W) or (C, D, H, W).
        weight: (C, O / groups, *kernel size).
        bias: (O,).

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(1, 2, 2, 2, 2)
        >>> nnkit.conv_transpose3d(x, nnkit.ones(2, 3, 2, 2, 2), stride=2).shape
        nnkit.Size([1, 3, 4, 4, 4])
    """
    geometry = (stride, padding, output_padding, groups, dilation)
    return _convolve_transposed("conv_transpose3d", 3, input, weight, bias, *geometry)


@public(method=False)
@single(node="ConvTbcBackward0")
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """1-dimensional convolution of sequences whose first dimension is time.

    ``out[t, n] = bias + sum of x[t + k, n] @ weight[k]`` over places k in the kernel, where x is
    the input with ``pad`` zeros before and after.

    Args:
        input: (T, N, C).
        weight: (K, C, O).
        bias: (O,).
        pad: how many zeros; a negative number cuts steps off.

    Returns:
        (T + 2 * pad - K + 1, N, O).

    Raises:
        RuntimeError: shapes or dtypes that do not fit together.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0, 2.0, 4.0]).reshape(3, 1, 1)
        >>> nnkit.conv_tbc(x, nnkit.ones(2, 1, 1), nnkit.zeros(1)).flatten()
        tensor([3., 6.])
    """
    name = "conv_tbc"
    for parameter, value, ndim in (("input", input, 3), ("weight", weight, 3), ("bias", bias, 1)):
        check_ndim(name, parameter, value._array.shape, ndim)
    (time, batch, channels), (width, inner, outputs) = input._array.shape, weight._array.shape
    if channels != inner or bias._array.shape[0] != outputs:
        raise RuntimeError(
            f"{name}(): incompatible shapes of input, weight and bias: got {list(input.shape)}, "
            f"{list(weight.shape)} and {list(bias.shape)}"
        )
    check_operands(name, ("input", input), ("weight", weight))
    length = time + 2 * pad - width + 1
    check_shape(name, (length, batch, outputs))
    biases = converted(bias, input.dtype).expand(length, batch, outputs)
    out = clone(biases, memory_format=contiguous_format)
    for k in range(width):
        start, first = max(k - pad, 0), max(pad - k, 0)
        count = max(min(time + pad - k, length) - first, 0)
        steps = OPS["getitem"](input, (slice(start, start + count),))
        part = matmul(steps, OPS["getitem"](weight, (k,)))
        out = out + OPS["pad"](part, ((first, length - first - count), (0, 0), (0, 0)), 0)
    return guarded(name, real_gradient(name, out), input, weight, bias)
