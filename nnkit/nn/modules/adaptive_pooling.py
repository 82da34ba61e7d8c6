"""Adaptive pooling layers: the number of windows is given, and their size follows."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.nn import functional as F
from nnkit.nn.modules.module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
]  # fmt: skip


class _AdaptiveAvgPoolNd(Module):
    _function: str  # of F, where a program may have replaced it

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(_AdaptiveAvgPoolNd):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._function)(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of each of ``output_size`` windows that divide the input evenly.

    Args:
        output_size: an int.

    >>> import nnkit
    >>> nnkit.nn.AdaptiveAvgPool1d(5)(nnkit.zeros(1, 64, 8)).shape
    nnkit.Size([1, 64, 5])
    """

    _function = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of each of ``output_size`` windows that divide the input evenly.

    Args:
        output_size: an int or (height, width); None keeps the input's.

    >>> import nnkit
    >>> nnkit.nn.AdaptiveAvgPool2d((5, None))(nnkit.zeros(1, 64, 8, 9)).shape
    nnkit.Size([1, 64, 5, 9])
    """

    _function = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of each of ``output_size`` windows that divide the input evenly.

    Args:
        output_size: an int or one for each axis; None keeps the input's.

    >>> import nnkit
    >>> nnkit.nn.AdaptiveAvgPool3d((5, None, 7))(nnkit.zeros(1, 64, 8, 9, 10)).shape
    nnkit.Size([1, 64, 5, 9, 7])
    """

    _function = "adaptive_avg_pool3d"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest element of each of ``output_size`` windows that divide the input evenly.

    Args:
        output_size: an int.
        return_indices: also return where the elements were.

    >>> import nnkit
    >>> nnkit.nn.AdaptiveMaxPool1d(5)(nnkit.zeros(1, 64, 8)).shape
    nnkit.Size([1, 64, 5])
    """

    _function = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest element of each of ``output_size`` windows that divide the input evenly.

    Args:
        output_size: an int or (height, width); None keeps the input's.
        return_indices: also return where the elements were.

    >>> import nnkit
    >>> nnkit.nn.AdaptiveMaxPool2d((5, None))(nnkit.zeros(1, 64, 8, 9)).shape
    nnkit.Size([1, 64, 5, 9])
    """

    _function = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest element of each of ``output_size`` windows that divide the input evenly.

    Args:
        output_size: an int or one for each axis; None keeps the input's.
        return_indices: also return where the elements were.

    >>> import nnkit
    >>> nnkit.nn.AdaptiveMaxPool3d((5, None, 7))(nnkit.zeros(1, 64, 8, 9, 10)).shape
    nnkit.Size([1, 64, 5, 9, 7])
    """

    _function = "adaptive_max_pool3d"
