"""Convolution layers."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import empty
from nnkit.nn import functional as F
from nnkit.nn import init
from nnkit.nn.modules.module import Module
from nnkit.nn.modules.utils import check_integers, ntuple
from nnkit.nn.parameter import Parameter

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
]  # fmt: skip


class _ConvNd(Module):
    """The base of convolutions and transposed convolutions."""

    weight: Parameter
    bias: Any  # a Parameter, or None
    transposed = False
    _kept_by_torch = ("transposed", "_reversed_padding_repeated_twice")
    _axes: int
    _function: str  # of F, where a program may have replaced it

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, dilation: Any = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._describe(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups,
            padding_mode,
        )  # fmt: skip
        self._make_parameters(bias, device, dtype)

    def _describe(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any,
        dilation: Any, output_padding: Any, groups: int, padding_mode: str,
    ) -> None:  # fmt: skip
        """Check the arguments and keep them."""
        name, axes = type(self).__name__, self._axes
        if isinstance(groups, (int, float)) and groups <= 0:
            raise ValueError(f"{name}: groups must be a positive integer, got {groups}")
        check_integers(name, groups=groups, in_channels=in_channels, out_channels=out_channels)
        for what, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(
                    f"{name}: {what} must be divisible by groups={groups}, got {channels}"
                )
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"{name}: Invalid padding string {padding!r}: padding must be 'same', 'valid' "
                    "or numbers"
                )
            if padding == "same" and any(s != 1 for s in ntuple(stride, axes)):
                raise ValueError(
                    f"{name}: padding='same' is not supported for strided convolutions, "
                    f"got {stride=}"
                )
        modes = ("zeros", "reflect", "replicate", "circular")
        if not isinstance(padding_mode, Hashable):
            raise TypeError(
                f"{name}: padding_mode must be one of {modes}, got a {type(padding_mode).__name__}"
            )
        if self.transposed and padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {name}, got {padding_mode=}'
            )
        if padding_mode not in modes:
            raise ValueError(f"{name}: padding_mode must be one of {modes}, got {padding_mode!r}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = ntuple(kernel_size, axes)
        self.stride = ntuple(stride, axes)
        self.padding = padding if isinstance(padding, str) else ntuple(padding, axes)
        self.dilation = ntuple(dilation, axes)
        self.output_padding = ntuple(output_padding, axes)
        self.groups = groups
        self.padding_mode = padding_mode

    def _weight_shape(self) -> tuple[int, ...]:
        first, second = self.out_channels, self.in_channels
        if self.transposed:
            first, second = second, first
        return (first, second // self.groups, *self.kernel_size)

    def _make_parameters(self, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = Parameter(empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(self.out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        # With a = sqrt(5) the bound is 1 / sqrt(fan_in).
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    @property
    def _reversed_padding_repeated_twice(self) -> list[int]:
        """The padding as `pad` takes it: before and after, last axis first."""
        if self.padding == "same":
            sizes = zip(self.dilation, self.kernel_size, strict=True)
            totals = [dilation * (size - 1) for dilation, size in sizes]
            return [part for n in reversed(totals) for part in (n // 2, n - n // 2)]
        widths = (0,) * self._axes if isinstance(self.padding, str) else self.padding
        return [width for width in reversed(widths) for _ in range(2)]

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = (
                F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode),
                0,
            )
        return getattr(F, self._function)(
            input, weight, bias, self.stride, padding, self.dilation, self.groups
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        none, ones = (0,) * self._axes, (1,) * self._axes
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"]
        parts.append(f"stride={self.stride}")
        for name, default in (("padding", none), ("dilation", ones), ("output_padding", none)):
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class Conv1d(_ConvNd):
    """A 1-dimensional convolution with learned weights; the arguments are those of `Conv2d`.

    Shape:
        input ``(N, in_channels, L)`` or without ``N``, output ``(N, out_channels, L')``, weight
        ``(out_channels, in_channels / groups, kernel_size)``, bias ``(out_channels,)``.

    >>> import nnkit
    >>> nnkit.nn.Conv1d(16, 33, 3, stride=2)(nnkit.zeros(20, 16, 50)).shape
    nnkit.Size([20, 33, 24])
    """

    _axes = 1
    _function = "conv1d"


class Conv2d(_ConvNd):
    """A 2-dimensional convolution with learned weights.

    ``out[n, o, at] = bias[o] + sum of weight[o, c, k] * x[n, c, stride * at + dilation * k]`` over
    channels c and places k in the kernel.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: an int or one for each axis, as the next three.
        stride: how far the kernel moves.
        padding: elements added on both sides of each axis; "valid" is none, "same" as many as
            keep the size.
        dilation: the distance of the kernel's elements.
        groups: how many parts the channels are in; each part of the outputs sees one of the inputs.
        bias: whether there is a bias.
        padding_mode: what is added: "zeros", "reflect", "replicate" or "circular".
        device: where the parameters are.
        dtype: their dtype.

    Shape:
        input ``(N, in_channels, H, W)`` or without ``N``, output ``(N, out_channels, H', W')`` with
        ``H' = floor((H + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1``, weight
        ``(out_channels, in_channels / groups, *kernel_size)``, bias ``(out_channels,)``. Both are
        drawn uniformly from ``[-1/sqrt(n), 1/sqrt(n)]``, n the elements of a kernel.

    Raises:
        ValueError: channels not divisible by ``groups``, an unknown ``padding`` or
            ``padding_mode``, or "same" with a stride.

    >>> import nnkit
    >>> nnkit.nn.Conv2d(3, 8, 3, padding=1)(nnkit.zeros(4, 3, 32, 32)).shape
    nnkit.Size([4, 8, 32, 32])
    """

    _axes = 2
    _function = "conv2d"


class Conv3d(_ConvNd):
    """A 3-dimensional convolution with learned weights; the arguments are those of `Conv2d`.

    Shape:
        input ``(N, in_channels, D, H, W)`` or without ``N``, output ``(N, out_channels, D', H',
        W')``, weight ``(out_channels, in_channels / groups, *kernel_size)``, bias
        ``(out_channels,)``.

    >>> import nnkit
    >>> nnkit.nn.Conv3d(2, 4, (1, 3, 3))(nnkit.zeros(2, 5, 8, 8)).shape
    nnkit.Size([4, 5, 6, 6])
    """

    _axes = 3
    _function = "conv3d"


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1,
        padding: Any = 0, output_padding: Any = 0, groups: int = 1, bias: bool = True,
        dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        Module.__init__(self)
        self._describe(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding,
            groups, padding_mode,
        )  # fmt: skip
        self._make_parameters(bias, device, dtype)

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The elements to add at the end of each axis to get ``output_size``."""
        axes = self._axes
        if output_size is None:
            return self.output_padding
        if not isinstance(output_size, (tuple, list)):
            got = type(output_size).__name__
            raise TypeError(f"{type(self).__name__}: output_size must be tuple of ints, got {got}")
        wanted = tuple(output_size)
        first = 2 if input.ndim == axes + 2 else 1  # of the axes that grow
        if len(wanted) == first + axes:
            wanted = wanted[first:]
        if len(wanted) != axes:
            raise ValueError(
                f"{type(self).__name__}: output_size must have {axes} or {first + axes} elements, "
                f"got {tuple(output_size)}"
            )
        lengths = [input.size(first + axis) for axis in range(axes)]
        rows = zip(lengths, self.stride, self.padding, self.dilation, self.kernel_size)
        least = tuple((n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in rows)
        extra = tuple(w - n for w, n in zip(wanted, least))
        if any(not 0 <= e < s for e, s in zip(extra, self.stride)):
            raise ValueError(
                f"{type(self).__name__}: output_size must be from {least} up to less than "
                f"stride={self.stride} more, got {wanted}"
            )
        return extra

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        return getattr(F, self._function)(
            input, self.weight, self.bias, self.stride, self.padding,
            self._output_padding(input, output_size), self.groups, self.dilation,
        )  # fmt: skip


class ConvTranspose1d(_ConvTransposeNd):
    """A 1-dimensional transposed convolution; the arguments are those of `ConvTranspose2d`.

    Shape:
        input ``(N, in_channels, L)`` or without ``N``, output ``(N, out_channels, L')``, weight
        ``(in_channels, out_channels / groups, kernel_size)``, bias ``(out_channels,)``.

    >>> import nnkit
    >>> nnkit.nn.ConvTranspose1d(2, 3, 4, stride=2)(nnkit.zeros(1, 2, 5)).shape
    nnkit.Size([1, 3, 12])
    """

    _axes = 1
    _function = "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """A 2-dimensional transposed convolution: what `Conv2d` does to a gradient on its way back.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: an int or one for each axis, as the next three.
        stride: how far apart the kernels are laid.
        padding: how much is cut off around the output.
        output_padding: rows and columns added at the end, fewer than stride or dilation.
        groups: how many parts the channels are in.
        bias: whether there is a bias.
        dilation: the distance of the kernel's elements.
        padding_mode: "zeros".
        device: where the parameters are.
        dtype: their dtype.

    Shape:
        input ``(N, in_channels, H, W)`` or without ``N``, output ``(N, out_channels, H', W')`` with
        ``H' = (H - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1``,
        weight ``(in_channels, out_channels / groups, *kernel_size)``, bias ``(out_channels,)``.
        ``forward(input, output_size)`` works the output padding out.

    Raises:
        ValueError: channels not divisible by ``groups``, another ``padding_mode``, or an
            ``output_size`` that cannot be.

    >>> import nnkit
    >>> up = nnkit.nn.ConvTranspose2d(8, 8, 3, stride=2, padding=1)
    >>> up(nnkit.zeros(1, 8, 6, 6), output_size=(12, 12)).shape
    nnkit.Size([1, 8, 12, 12])
    """

    _axes = 2
    _function = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """A 3-dimensional transposed convolution; the arguments are those of `ConvTranspose2d`.

    Shape:
        input ``(N, in_channels, D, H, W)`` or without ``N``, output ``(N, out_channels, D', H',
        W')``, weight ``(in_channels, out_channels / groups, *kernel_size)``, bias
        ``(out_channels,)``.

    >>> import nnkit
    >>> nnkit.nn.ConvTranspose3d(2, 3, 2, stride=2)(nnkit.zeros(1, 2, 3, 3, 3)).shape
    nnkit.Size([1, 3, 6, 6, 6])
    """

    _axes = 3
    _function = "conv_transpose3d"
