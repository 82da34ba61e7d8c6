"""Padding layers."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.nn import functional as F
from nnkit.nn.modules.module import Module
from nnkit.nn.modules.utils import ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _PadNd(Module):
    """Padding by a number, or by (before, after) of the last axis, of the one before it, ..."""

    _axes: int
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self._axes)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """Put ``value`` around the last axis.

    Args:
        padding: an int, or (before, after).
        value: what is put there.

    >>> import nnkit
    >>> nnkit.nn.ConstantPad1d((1, 2), 9.0)(nnkit.tensor([[1.0, 2.0, 3.0]]))
    tensor([[9., 1., 2., 3., 9., 9.]])
    """

    _axes = 1


class ConstantPad2d(_ConstantPadNd):
    """Put ``value`` around the last two axes.

    Args:
        padding: an int, or (left, right, top, bottom).
        value: what is put there.

    >>> import nnkit
    >>> nnkit.nn.ConstantPad2d(1, 9.0)(nnkit.zeros(2, 3, 3)).shape
    nnkit.Size([2, 5, 5])
    """

    _axes = 2


class ConstantPad3d(_ConstantPadNd):
    """Put ``value`` around the last three axes.

    Args:
        padding: an int, or (left, right, top, bottom, front, back).
        value: what is put there.

    >>> import nnkit
    >>> nnkit.nn.ConstantPad3d(1, 9.0)(nnkit.zeros(2, 3, 3, 3)).shape
    nnkit.Size([2, 5, 5, 5])
    """

    _axes = 3


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """Put zeros around the last axis.

    Args:
        padding: an int, or (before, after).

    >>> import nnkit
    >>> nnkit.nn.ZeroPad1d((1, 2))(nnkit.tensor([[1.0, 2.0, 3.0]]))
    tensor([[0., 1., 2., 3., 0., 0.]])
    """


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """Put zeros around the last two axes.

    Args:
        padding: an int, or (left, right, top, bottom).

    >>> import nnkit
    >>> nnkit.nn.ZeroPad2d(1)(nnkit.zeros(2, 3, 3)).shape
    nnkit.Size([2, 5, 5])
    """


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """Put zeros around the last three axes.

    Args:
        padding: an int, or (left, right, top, bottom, front, back).

    >>> import nnkit
    >>> nnkit.nn.ZeroPad3d(1)(nnkit.zeros(2, 3, 3, 3)).shape
    nnkit.Size([2, 5, 5, 5])
    """


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Mirror at the edges of the last axis.

    Args:
        padding: an int, or (before, after).
            Less than the size.

    >>> import nnkit
    >>> nnkit.nn.ReflectionPad1d((1, 2))(nnkit.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2., 1.]])
    """

    _axes = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Mirror at the edges of the last two axes.

    Args:
        padding: an int, or (left, right, top, bottom).

    >>> import nnkit
    >>> nnkit.nn.ReflectionPad2d(1)(nnkit.zeros(2, 3, 3)).shape
    nnkit.Size([2, 5, 5])
    """

    _axes = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Mirror at the edges of the last three axes.

    Args:
        padding: an int, or (left, right, top, bottom, front, back).

    >>> import nnkit
    >>> nnkit.nn.ReflectionPad3d(1)(nnkit.zeros(2, 3, 3, 3)).shape
    nnkit.Size([2, 5, 5, 5])
    """

    _axes = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Repeat the edges of the last axis.

    Args:
        padding: an int, or (before, after).

    >>> import nnkit
    >>> nnkit.nn.ReplicationPad1d((1, 2))(nnkit.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 2., 3., 3., 3.]])
    """

    _axes = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeat the edges of the last two axes.

    Args:
        padding: an int, or (left, right, top, bottom).

    >>> import nnkit
    >>> nnkit.nn.ReplicationPad2d(1)(nnkit.zeros(2, 3, 3)).shape
    nnkit.Size([2, 5, 5])
    """

    _axes = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeat the edges of the last three axes.

    Args:
        padding: an int, or (left, right, top, bottom, front, back).

    >>> import nnkit
    >>> nnkit.nn.ReplicationPad3d(1)(nnkit.zeros(2, 3, 3, 3)).shape
    nnkit.Size([2, 5, 5, 5])
    """

    _axes = 3


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        dimensions = (self._axes + 1, self._axes + 2)
        if input.ndim not in dimensions:
            expected = " or ".join(f"{d}D" for d in dimensions)
            raise ValueError(
                f"{type(self).__name__}: expected {expected} input (got {input.ndim}D input)"
            )
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """Go on at the other end of the last axis.

    Args:
        padding: an int, or (before, after).
            At most the size.

    >>> import nnkit
    >>> nnkit.nn.CircularPad1d((1, 2))(nnkit.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1., 2.]])
    """

    _axes = 1


class CircularPad2d(_CircularPadNd):
    """Go on at the other end of the last two axes.

    Args:
        padding: an int, or (left, right, top, bottom).

    >>> import nnkit
    >>> nnkit.nn.CircularPad2d(1)(nnkit.zeros(2, 3, 3)).shape
    nnkit.Size([2, 5, 5])
    """

    _axes = 2


class CircularPad3d(_CircularPadNd):
    """Go on at the other end of the last three axes.

    Args:
        padding: an int, or (left, right, top, bottom, front, back).

    >>> import nnkit
    >>> nnkit.nn.CircularPad3d(1)(nnkit.zeros(2, 3, 3, 3)).shape
    nnkit.Size([2, 5, 5, 5])
    """

    _axes = 3
