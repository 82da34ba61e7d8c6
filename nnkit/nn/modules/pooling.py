"""Pooling layers: the largest element, the mean or the norm of each window."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.nn import functional as F
from nnkit.nn.modules.module import Module
from nnkit.nn.modules.utils import ntuple

__all__ = [
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d",
    "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d",
    "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class _MaxPoolNd(Module):
    _function: str  # of F, where a program may have replaced it

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
            self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class _MaxUnpoolNd(Module):
    _axes: int
    _function: str

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, self._axes)
        self.stride = ntuple(stride if stride is not None else kernel_size, self._axes)
        self.padding = ntuple(padding, self._axes)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return getattr(F, self._function)(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    _function: str

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad, self.divisor_override,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _LPPoolNd(Module):
    _function: str

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._function)(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class _FractionalMaxPoolNd(Module):
    _axes: int
    _function: str

    def __init__(
        self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
        return_indices: bool = False, _random_samples: Tensor | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        name = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name}: exactly one of output_size and output_ratio must be given")
        self.kernel_size = ntuple(kernel_size, self._axes)
        if self._axes == 3 and any(isinstance(k, int) and k <= 0 for k in self.kernel_size):
            raise ValueError(f"{name}: kernel_size must be greater than zero, got {kernel_size}")
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else ntuple(output_size, self._axes)
        self.output_ratio = None if output_ratio is None else ntuple(output_ratio, self._axes)
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"{name}: output_ratio must be between 0 and 1, got {output_ratio}")

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
            self._random_samples,
        )  # fmt: skip


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window; the arguments are those of `MaxPool2d`.

    >>> import nnkit
    >>> nnkit.nn.MaxPool1d(3, stride=2)(nnkit.zeros(1, 16, 50)).shape
    nnkit.Size([1, 16, 24])
    """

    _function = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window; see `nnkit.nn.functional.max_pool2d`.

    Args:
        kernel_size: an int or one for each axis, as the next three.
        stride: the distance of the windows, by default ``kernel_size``.
        padding: how far windows may reach over the ends, at most half of the kernel.
        dilation: the distance of the elements in a window.
        return_indices: also return where the elements were, for `MaxUnpool2d`.
        ceil_mode: whether a last window may reach over the end.

    Shape:
        input ``(N, C, H, W)`` or without ``N``, output ``(N, C, H', W')`` with
        ``H' = floor((H + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1``.

    >>> import nnkit
    >>> nnkit.nn.MaxPool2d(3, stride=2)(nnkit.zeros(1, 16, 50, 32)).shape
    nnkit.Size([1, 16, 24, 15])
    """

    _function = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window; the arguments are those of `MaxPool2d`.

    >>> import nnkit
    >>> nnkit.nn.MaxPool3d(3, stride=2)(nnkit.zeros(1, 2, 8, 8, 8)).shape
    nnkit.Size([1, 2, 3, 3, 3])
    """

    _function = "max_pool3d"


class MaxUnpool1d(_MaxUnpoolNd):
    """The elements put back to where `MaxPool1d` found them, among zeros; see `MaxUnpool2d`.

    >>> import nnkit
    >>> pool = nnkit.nn.MaxPool1d(2, return_indices=True)
    >>> nnkit.nn.MaxUnpool1d(2)(*pool(nnkit.tensor([[1.0, 4.0, 3.0, 2.0]]))).flatten()
    tensor([0., 4., 3., 0.])
    """

    _axes = 1
    _function = "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """The elements put back to where `MaxPool2d` found them, among zeros.

    Args:
        kernel_size: what the pooling had; so ``stride`` and ``padding``.

    Its ``forward(input, indices, output_size)`` takes the size to get, where several are possible.

    >>> import nnkit
    >>> pool = nnkit.nn.MaxPool2d(2, return_indices=True)
    >>> nnkit.nn.MaxUnpool2d(2)(*pool(nnkit.tensor([[[1.0, 4.0], [3.0, 2.0]]]))).flatten()
    tensor([0., 4., 0., 0.])
    """

    _axes = 2
    _function = "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """The elements put back to where `MaxPool3d` found them, among zeros; see `MaxUnpool2d`.

    >>> import nnkit
    >>> pool = nnkit.nn.MaxPool3d(2, return_indices=True)
    >>> nnkit.nn.MaxUnpool3d(2)(*pool(nnkit.ones(1, 2, 2, 2))).sum()
    tensor(1.)
    """

    _axes = 3
    _function = "max_unpool3d"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window; the arguments are those of `AvgPool2d`.

    >>> import nnkit
    >>> nnkit.nn.AvgPool1d(3, stride=2)(nnkit.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]))
    tensor([[2., 4., 6.]])
    """

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        stride = ntuple(stride if stride is not None else kernel_size, 1)
        super().__init__(
            ntuple(kernel_size, 1), stride, ntuple(padding, 1), ceil_mode, count_include_pad
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.count_include_pad,
        )  # fmt: skip


class AvgPool2d(_AvgPoolNd):
    """The mean of each window; see `nnkit.nn.functional.avg_pool2d`.

    Args:
        kernel_size: an int or one for each axis, as the next two.
        stride: the distance of the windows, by default ``kernel_size``.
        padding: how far windows may reach over the ends, at most half of the kernel.
        ceil_mode: whether a last window may reach over the end.
        count_include_pad: whether the zeros of the padding count as elements.
        divisor_override: what the sum of each window is divided by instead of their number.

    Shape:
        input ``(N, C, H, W)`` or without ``N``, output ``(N, C, H', W')`` with
        ``H' = floor((H + 2 padding - kernel_size) / stride) + 1``.

    >>> import nnkit
    >>> nnkit.nn.AvgPool2d((3, 2), stride=(2, 1))(nnkit.zeros(20, 16, 50, 32)).shape
    nnkit.Size([20, 16, 24, 31])
    """

    _function = "avg_pool2d"


class AvgPool3d(_AvgPoolNd):
    """The mean of each window; the arguments are those of `AvgPool2d`.

    >>> import nnkit
    >>> nnkit.nn.AvgPool3d(2)(nnkit.zeros(2, 3, 4, 6, 8)).shape
    nnkit.Size([2, 3, 2, 3, 4])
    """

    _function = "avg_pool3d"


class LPPool1d(_LPPoolNd):
    """The p-norm of each window; see `LPPool2d`.

    >>> import nnkit
    >>> nnkit.nn.LPPool1d(2, 2)(nnkit.ones(1, 8)).shape
    nnkit.Size([1, 4])
    """

    _function = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """The p-norm of each window; see `nnkit.nn.functional.lp_pool2d`.

    Args:
        norm_type: p; 1 gives the sum.
        kernel_size: an int or (height, width), as ``stride``, which is ``kernel_size`` by default.
        ceil_mode: whether a last window may reach over the end.

    >>> import nnkit
    >>> nnkit.nn.LPPool2d(2, 2)(nnkit.ones(1, 4, 4)).shape
    nnkit.Size([1, 2, 2])
    """

    _function = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """The p-norm of each window; see `LPPool2d`.

    >>> import nnkit
    >>> nnkit.nn.LPPool3d(2, 2)(nnkit.ones(1, 4, 4, 4)).shape
    nnkit.Size([1, 2, 2, 2])
    """

    _function = "lp_pool3d"


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Max pooling over windows at pseudo-random distances.

    Args:
        kernel_size: an int or one for each axis.
        output_size: the size of the result, or
        output_ratio: what part of the input's size it is, between 0 and 1.
        return_indices: also return where the elements were.

    Source: Graham, "Fractional Max-Pooling" (2014).

    Raises:
        ValueError: not exactly one of size and ratio is given, or a ratio out of range.

    >>> import nnkit
    >>> nnkit.nn.FractionalMaxPool2d(2, output_ratio=0.5)(nnkit.zeros(1, 3, 9, 9)).shape
    nnkit.Size([1, 3, 4, 4])
    """

    _axes = 2
    _function = "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Max pooling over windows at pseudo-random distances; see `FractionalMaxPool2d`.

    >>> import nnkit
    >>> nnkit.nn.FractionalMaxPool3d(2, output_ratio=0.5)(nnkit.zeros(1, 3, 9, 9, 9)).shape
    nnkit.Size([1, 3, 4, 4, 4])
    """

    _axes = 3
    _function = "fractional_max_pool3d"
