"""Batch norm folded into the layer before it, for inference."""

from __future__ import annotations

import copy
from typing import TypeVar

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import ones_like, zeros_like
from nnkit.autograd.ops.elementwise.arithmetic import rsqrt
from nnkit.nn.modules.module import Module
from nnkit.nn.parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]

Layer = TypeVar("Layer", bound=Module)


def fuse_conv_bn_eval(conv: Layer, bn: Module, transpose: bool = False) -> Layer:
    """A copy of ``conv`` that computes ``bn(conv(x))``.

    Args:
        conv: a convolution in evaluation mode.
        bn: the batch norm behind it, in evaluation mode, with running statistics.
        transpose: whether ``conv`` is a transposed convolution.

    Raises:
        AssertionError: one of the two is in training mode, or ``bn`` has no running statistics.
        RuntimeError: the two have different numbers of channels.

    Example:
        >>> import nnkit
        >>> conv, bn = nnkit.nn.Conv2d(1, 2, 3).eval(), nnkit.nn.BatchNorm2d(2).eval()
        >>> nnkit.nn.utils.fuse_conv_bn_eval(conv, bn)
        Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))
    """
    axis = 1 if transpose else 0
    _check("fuse_conv_bn_eval", conv, bn)
    if conv.weight.shape[axis] != bn.num_features:
        raise RuntimeError(f"fuse_conv_bn_eval: {_sizes(conv, bn, axis)}")
    return _fused(conv, bn, axis)


def fuse_linear_bn_eval(linear: Layer, bn: Module) -> Layer:
    """A copy of ``linear`` that computes ``bn(linear(x))``; the arguments are as above.

    Raises:
        AssertionError: one of the two is in training mode, ``bn`` has no running statistics, or
            it has neither one feature nor as many as ``linear`` gives.

    Example:
        >>> import nnkit
        >>> linear, norm = nnkit.nn.Linear(2, 3).eval(), nnkit.nn.BatchNorm1d(3).eval()
        >>> fused = nnkit.nn.utils.fuse_linear_bn_eval(linear, norm)
        >>> x = nnkit.randn(4, 2)
        >>> nnkit.allclose(fused(x), norm(linear(x)), atol=1e-6)
        True
    """
    _check("fuse_linear_bn_eval", linear, bn)
    if bn.num_features not in (1, linear.weight.shape[0]):
        raise AssertionError(f"fuse_linear_bn_eval: {_sizes(linear, bn, 0)}")
    return _fused(linear, bn, 0)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the convolution that computes the batch norm as well.

    ``scale = bn_w / sqrt(bn_rv + bn_eps)``, ``weight = conv_w * scale`` along the output channels,
    ``bias = (conv_b - bn_rm) * scale + bn_b``

    Args:
        conv_w: weight ``(out, in, *kernel)``, or ``(in, out, *kernel)`` with ``transpose``.
        conv_b: bias, 0 when None.
        bn_rm: running mean.
        bn_rv: running variance.
        bn_eps: what is added to the variance.
        bn_w: the batch norm's factor, 1 when None.
        bn_b: the batch norm's bias, 0 when None.
        transpose: whether it is a transposed convolution.
    """
    axis = 1 if transpose else 0
    return _fused_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, axis)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the Linear that computes the batch norm as well; see the convolution's."""
    return _fused_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, None)


def _fused_weights(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    factor: Tensor | None,
    shift: Tensor | None,
    axis: int | None,
) -> tuple[Parameter, Parameter]:
    """``axis`` is that of the outputs; without it they are the rows."""
    factor = ones_like(mean) if factor is None else factor
    shift = zeros_like(mean) if shift is None else shift
    offset = zeros_like(mean) if bias is None else bias
    scale = factor * rsqrt(variance + eps)
    if axis is None:
        factors = scale.unsqueeze(-1)
    else:
        factors = scale.reshape([-1 if d == axis else 1 for d in range(max(weight.ndim, 2))])
    fused_weight = (weight * factors).to(weight.dtype)
    fused_bias = ((offset - mean) * scale + shift).to((weight if bias is None else bias).dtype)
    bias_learns = bias is not None and bias.requires_grad
    return Parameter(fused_weight, weight.requires_grad), Parameter(fused_bias, bias_learns)


def _check(function: str, layer: Module, bn: Module) -> None:
    if layer.training or bn.training:
        raise AssertionError(f"{function}: both modules must be in evaluation mode")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError(f"{function}: {type(bn).__name__} has no running statistics")


def _sizes(layer: Module, bn: Module, axis: int) -> str:
    return (
        f"{type(layer).__name__} has {layer.weight.shape[axis]} outputs, "
        f"{type(bn).__name__} takes {bn.num_features}"
    )


def _fused(layer: Layer, bn: Module, axis: int) -> Layer:
    fused = copy.deepcopy(layer)
    fused.weight, fused.bias = _fused_weights(
        layer.weight,
        layer.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        axis,
    )
    return fused
