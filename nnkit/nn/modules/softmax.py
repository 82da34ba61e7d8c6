"""Softmax layers."""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.nn import functional as F
from nnkit.nn.modules.module import Module

__all__ = ["LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class _AlongDim(Module):
    """The base of the softmax layers.

    Args:
        dim: the dimension that is normalized; to leave it out is deprecated.
    """

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """``exp(x) / sum(exp(x), dim)``: positive numbers that add up to 1 along ``dim``.

    Args:
        dim: the dimension that is normalized; to leave it out is deprecated.

    Input and output have any shape.

    >>> import nnkit
    >>> nnkit.nn.Softmax(dim=1)(nnkit.zeros(1, 4))
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)


class Softmin(_AlongDim):
    """``softmax(-x)``: the smallest number gets the largest share.

    Args:
        dim: the dimension that is normalized; to leave it out is deprecated.

    Input and output have any shape.

    >>> import nnkit
    >>> nnkit.nn.Softmin(dim=0)(nnkit.tensor([1.0, 1.0]))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim)


class LogSoftmax(_AlongDim):
    """``log(softmax(x))``, computed without overflow or a logarithm of 0.

    Args:
        dim: the dimension that is normalized; to leave it out is deprecated.

    Input and output have any shape.

    >>> import nnkit
    >>> nnkit.nn.LogSoftmax(dim=0)(nnkit.tensor([0.0, 1000.0]))
    tensor([-1000.,     0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)


class Softmax2d(Module):
    """`Softmax` over the channels of an image, at each place by itself.

    Input and output: (N, C, H, W) or (C, H, W).

    Raises:
        ValueError: the input has neither 3 nor 4 dimensions.

    >>> import nnkit
    >>> nnkit.nn.Softmax2d()(nnkit.zeros(2, 1, 1))
    tensor([[[0.5000]],
    <BLANKLINE>
            [[0.5000]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)
