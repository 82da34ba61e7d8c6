"""Convolution layers that take ``in_channels`` from their first input."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.arguments.dims import check_tensor
from nnkit.nn.modules.conv import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    _ConvNd,
)
from nnkit.nn.modules.lazy import LazyModuleMixin
from nnkit.nn.modules.module import Module
from nnkit.nn.parameter import UninitializedParameter

__all__ = [
    "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]  # fmt: skip


class _Lazy(LazyModuleMixin, _ConvNd):
    """Parameters without a shape until the first input shows how many channels there are."""

    weight: Any
    bias: Any

    def _make_parameters(self, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)

    def initialize_parameters(self, input: Tensor, *_: Any, **__: Any) -> None:
        if not self.has_uninitialized_params():
            return
        check_tensor(type(self).__name__, input)
        if input.ndim - self._axes not in (1, 2):
            raise RuntimeError(
                f"{type(self).__name__}: expected input of {self._axes + 1} (unbatched) or "
                f"{self._axes + 2} dimensions, got shape {list(input.shape)}"
            )
        self.in_channels = input.shape[-self._axes - 1]
        if self.in_channels % self.groups:
            raise ValueError(
                f"{type(self).__name__}: in_channels must be divisible by groups={self.groups}, "
                f"got {self.in_channels}"
            )
        with no_grad():
            self.weight.materialize(self._weight_shape())
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()


class _LazyConv(_Lazy):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        Module.__init__(self)
        self._describe(
            0, out_channels, kernel_size, stride, padding, dilation, 0, groups, padding_mode
        )
        self._make_parameters(bias, device, dtype)


class _LazyConvTranspose(_Lazy):
    def __init__(
        self, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        Module.__init__(self)
        self._describe(
            0, out_channels, kernel_size, stride, padding, dilation, output_padding, groups,
            padding_mode,
        )  # fmt: skip
        self._make_parameters(bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """A `Conv1d` that takes ``in_channels`` from its first input.

    >>> import nnkit
    >>> layer = nnkit.nn.LazyConv1d(4, 3)
    >>> _ = layer(nnkit.zeros(1, 2, 5))
    >>> layer
    Conv1d(2, 4, kernel_size=(3,), stride=(1,))
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A `Conv2d` that takes ``in_channels`` from its first input.

    >>> import nnkit
    >>> layer = nnkit.nn.LazyConv2d(4, 3)
    >>> _ = layer(nnkit.zeros(1, 2, 5, 5))
    >>> layer
    Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A `Conv3d` that takes ``in_channels`` from its first input.

    >>> import nnkit
    >>> layer = nnkit.nn.LazyConv3d(4, 3)
    >>> _ = layer(nnkit.zeros(1, 2, 5, 5, 5))
    >>> layer
    Conv3d(2, 4, kernel_size=(3, 3, 3), stride=(1, 1, 1))
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A `ConvTranspose1d` that takes ``in_channels`` from its first input.

    >>> import nnkit
    >>> layer = nnkit.nn.LazyConvTranspose1d(4, 3)
    >>> _ = layer(nnkit.zeros(1, 2, 5))
    >>> layer
    ConvTranspose1d(2, 4, kernel_size=(3,), stride=(1,))
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A `ConvTranspose2d` that takes ``in_channels`` from its first input.

    >>> import nnkit
    >>> layer = nnkit.nn.LazyConvTranspose2d(4, 3)
    >>> _ = layer(nnkit.zeros(1, 2, 5, 5))
    >>> layer
    ConvTranspose2d(2, 4, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A `ConvTranspose3d` that takes ``in_channels`` from its first input.

    >>> import nnkit
    >>> layer = nnkit.nn.LazyConvTranspose3d(4, 3)
    >>> _ = layer(nnkit.zeros(1, 2, 5, 5, 5))
    >>> layer
    ConvTranspose3d(2, 4, kernel_size=(3, 3, 3), stride=(1, 1, 1))
    """

    cls_to_become = ConvTranspose3d
