"""The gradients of convolutions as functions of their own, under the names of ``torch.nn.grad``."""

from __future__ import annotations

from collections.abc import Sequence

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.annotations import hold_all
from nnkit.autograd.arguments.spatial import hashable
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.ops.conv.plan import plan
from nnkit.backend.windows import window_counts

__all__ = [
    "conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input",
    "conv3d_weight",
]  # fmt: skip

Size = int | Sequence[int]


def _statics(
    name: str, axes: int, input: Sequence[int], weight: Sequence[int], grad_output: Tensor,
    *geometry: Size,
) -> tuple:  # fmt: skip
    """The numbers of a convolution of these shapes, whose result has the gradient's."""
    x, w = tuple(input), tuple(weight)
    if len(x) != axes + 2:
        raise RuntimeError(f"{name}(): expected an input of {axes + 2} dimensions, got {list(x)}")
    statics, _ = plan(name, x, w, None, *map(hashable, geometry))
    expected = [x[0], w[0], *window_counts(x[2:], w[2:], *statics[:3])]
    if list(grad_output.shape) != expected:
        raise RuntimeError(
            f"{name}(): expected grad_output of shape {expected}, got {list(grad_output.shape)}"
        )
    return statics


def _of_input(
    name: str, axes: int, size: Sequence[int], weight: Tensor, grad_output: Tensor, *geometry: Size
) -> Tensor:
    statics = _statics(name, axes, size, weight.shape, grad_output, *geometry)
    return OPS["conv_grad_input"](grad_output, weight.conj(), tuple(size), *statics)


def _of_weight(
    name: str, axes: int, input: Tensor, size: Sequence[int], grad_output: Tensor, *geometry: Size
) -> Tensor:
    statics = _statics(name, axes, input.shape, size, grad_output, *geometry)
    return OPS["conv_grad_weight"](grad_output, input.conj(), tuple(size), *statics)


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` in its input; see `conv2d_input`."""
    geometry = stride, padding, dilation, groups
    return _of_input("conv1d_input", 1, input_size, weight, grad_output, *geometry)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` in its weight; see `conv2d_weight`."""
    geometry = stride, padding, dilation, groups
    return _of_weight("conv1d_weight", 1, input, weight_size, grad_output, *geometry)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` in its input, which is also a transposed convolution.

    Args:
        input_size: the shape of the input, (N, C, H, W).
        weight: (O, C / groups, KH, KW).
        grad_output: the gradient of the result, (N, O, ...).
        stride, padding, dilation, groups: the convolution's.

    Raises:
        RuntimeError: the shapes do not fit each other.

    Example:
        >>> import nnkit
        >>> g = nnkit.tensor([[[[1.0, 2.0]]]])
        >>> weight = nnkit.tensor([[[[10.0, 1.0]]]])
        >>> nnkit.nn.grad.conv2d_input((1, 1, 1, 3), weight, g)
        tensor([[[[10., 21.,  2.]]]])
    """
    geometry = stride, padding, dilation, groups
    return _of_input("conv2d_input", 2, input_size, weight, grad_output, *geometry)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` in its weight.

    Args:
        input: (N, C, H, W).
        weight_size: the shape of the weight, (O, C / groups, KH, KW).
        grad_output: the gradient of the result, (N, O, ...).
        stride, padding, dilation, groups: the convolution's.

    Raises:
        RuntimeError: the shapes do not fit each other.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([[[[1.0, 2.0, 4.0]]]])
        >>> nnkit.nn.grad.conv2d_weight(x, (1, 1, 1, 2), nnkit.ones(1, 1, 1, 2))
        tensor([[[[3., 6.]]]])
    """
    geometry = stride, padding, dilation, groups
    return _of_weight("conv2d_weight", 2, input, weight_size, grad_output, *geometry)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` in its input; see `conv2d_input`."""
    geometry = stride, padding, dilation, groups
    return _of_input("conv3d_input", 3, input_size, weight, grad_output, *geometry)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` in its weight; see `conv2d_weight`."""
    geometry = stride, padding, dilation, groups
    return _of_weight("conv3d_weight", 3, input, weight_size, grad_output, *geometry)


hold_all(globals(), in_python=True)
del hold_all
