"""Dropout layers: active in training, the identity in evaluation."""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.nn import functional as F
from nnkit.nn.modules.module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """The base of the dropouts.

    Args:
        p: the probability that an element (or a channel) is dropped.
        inplace: write into the input.

    Raises:
        ValueError: ``p`` lies outside [0, 1].
    """

    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Sets each element to 0 with chance ``p`` and multiplies the others by ``1 / (1 - p)``.

    Input and output have any shape.

    >>> import nnkit
    >>> _ = nnkit.manual_seed(0)
    >>> layer = nnkit.nn.Dropout(0.5)
    >>> layer(nnkit.ones(4))
    tensor([0., 0., 2., 0.])
    >>> layer.eval()(nnkit.ones(4))
    tensor([1., 1., 1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """`Dropout` of whole channels of inputs (N, C, L) or (C, L).

    Example:
        >>> import nnkit
        >>> x = nnkit.nn.Dropout1d(0.5)(nnkit.ones(1, 4, 3))
        >>> bool((x == x[:, :, :1]).all())
        True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """`Dropout` of whole channels of inputs (N, C, H, W).

    Example:
        >>> import nnkit
        >>> x = nnkit.nn.Dropout2d(0.5)(nnkit.ones(1, 4, 3, 3))
        >>> bool((x == x[:, :, :1, :1]).all())
        True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """`Dropout` of whole channels of inputs (N, C, D, H, W) or (C, D, H, W).

    Example:
        >>> import nnkit
        >>> x = nnkit.nn.Dropout3d(0.5)(nnkit.ones(1, 4, 3, 3, 3))
        >>> bool((x == x[:, :, :1, :1, :1]).all())
        True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1, for networks with SELU. Never in place.

    Example:
        >>> import nnkit
        >>> nnkit.nn.AlphaDropout(0.2).eval()(nnkit.ones(2))
        tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels: dimension 1 of inputs (N, C, ...). Never in place.

    Example:
        >>> import nnkit
        >>> x = nnkit.nn.FeatureAlphaDropout(0.5)(nnkit.ones(1, 4, 3))
        >>> bool((x == x[:, :, :1]).all())
        True
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
