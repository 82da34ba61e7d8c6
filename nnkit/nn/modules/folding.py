"""Windows as columns and back, and rearrangements between channels and space, as layers."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.nn import functional as F
from nnkit.nn.modules.module import Module

__all__ = ["ChannelShuffle", "Fold", "PixelShuffle", "PixelUnshuffle", "Unfold"]


class Unfold(Module):
    """The windows of an image as columns; see `nnkit.nn.functional.unfold`.

    Shape:
        input ``(N, C, H, W)``, output ``(N, C * prod(kernel_size), number of windows)``, both
        without ``N`` too.

    >>> import nnkit
    >>> nnkit.nn.Unfold((2, 3))(nnkit.zeros(2, 5, 3, 4)).shape
    nnkit.Size([2, 30, 4])
    """

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Fold(Module):
    """Columns added up where their windows overlap; see `nnkit.nn.functional.fold`.

    Shape:
        input ``(N, C * prod(kernel_size), number of windows)``, output ``(N, C, *output_size)``,
        both without ``N`` too.

    >>> import nnkit
    >>> nnkit.nn.Fold(output_size=(4, 5), kernel_size=(2, 2))(nnkit.zeros(1, 12, 12)).shape
    nnkit.Size([1, 3, 4, 5])
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
        stride: Any = 1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class PixelShuffle(Module):
    """``(*, C * r**2, H, W)`` as ``(*, C, H * r, W * r)``; see `nnkit.nn.functional.pixel_shuffle`.

    >>> import nnkit
    >>> nnkit.nn.PixelShuffle(3)(nnkit.zeros(1, 9, 4, 4)).shape
    nnkit.Size([1, 1, 12, 12])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """``(*, C, H * r, W * r)`` as ``(*, C * r**2, H, W)``: the inverse of `PixelShuffle`.

    >>> import nnkit
    >>> nnkit.nn.PixelUnshuffle(3)(nnkit.zeros(1, 1, 12, 12)).shape
    nnkit.Size([1, 9, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Channels regrouped across groups; see `nnkit.nn.functional.channel_shuffle`.

    >>> import nnkit
    >>> nnkit.nn.ChannelShuffle(2)(nnkit.arange(4.0).reshape(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
