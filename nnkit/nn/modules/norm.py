"""Normalization layers without running statistics."""

from __future__ import annotations

import numbers
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation.factories import empty
from nnkit.autograd.ops.shape.joining import cat
from nnkit.nn import functional as F
from nnkit.nn import init
from nnkit.nn.functional.norm import sum_of_neighbours
from nnkit.nn.modules.module import Module
from nnkit.nn.parameter import Parameter

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class _Affine(Module):
    """A weight that starts as ones and a bias that starts as zeros."""

    weight: Parameter | None
    bias: Any  # a Parameter, or None

    def _make(self, shape: Any, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, wanted in (("weight", weight), ("bias", weight and bias)):
            if wanted:
                setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
            else:
                self.register_parameter(name, None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


def _shape_of(normalized_shape: Any) -> tuple[Any, ...]:
    if isinstance(normalized_shape, numbers.Integral):
        return (normalized_shape,)
    return tuple(normalized_shape)


class LayerNorm(_Affine):
    """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias`` over the last dimensions.

    Args:
        normalized_shape: their sizes; an int for the last one alone.
        eps: keeps the quotient finite.
        elementwise_affine: whether there are weight and bias, of that shape.
        bias: whether there is a bias.
        device: where the parameters are.
        dtype: their dtype.

    Input and output: (..., *normalized_shape).

    >>> import nnkit
    >>> nnkit.nn.LayerNorm(2, eps=0.0, elementwise_affine=False)(nnkit.tensor([[1.0, 3.0]]))
    tensor([[-1.,  1.]])
    """

    normalized_shape: tuple[int, ...]
    eps: float
    elementwise_affine: bool

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._make(self.normalized_shape, elementwise_affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """``x / sqrt(mean(x**2) + eps) * weight`` over the last dimensions.

    Args:
        normalized_shape: their sizes; an int for the last one alone.
        eps: by default the distance from 1 to the next number.
        elementwise_affine: whether there is a weight, of that shape.
        device: where it is.
        dtype: its dtype.

    Input and output: (..., *normalized_shape).

    >>> import nnkit
    >>> nnkit.nn.RMSNorm(2, eps=0.0)(nnkit.tensor([[1.0, 7.0]])).detach()
    tensor([[0.2000, 1.4000]])
    """

    normalized_shape: tuple[int, ...]
    eps: float | None
    elementwise_affine: bool
    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape_of(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        if elementwise_affine:
            self.weight = Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
        else:
            self.register_parameter("weight", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(_Affine):
    """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias`` over groups of channels.

    Args:
        num_groups: into how many groups the channels are divided.
        num_channels: how many channels there are.
        eps: keeps the quotient finite.
        affine: whether there are weight and bias, (num_channels,).
        device: where the parameters are.
        dtype: their dtype.
        bias: whether there is a bias.

    Input and output: (N, C, ...).

    Raises:
        ValueError: the channels cannot be divided so.

    >>> import nnkit
    >>> layer = nnkit.nn.GroupNorm(2, 4, eps=0.0, affine=False)
    >>> layer(nnkit.tensor([[1.0, 3.0, 0.0, 8.0]]))
    tensor([[-1.,  1., -1.,  1.]])
    """

    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_channels ({num_channels}) must be divisible by num_groups "
                f"({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._make(num_channels, affine, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """``x / (k + alpha * mean(x**2 over size neighbouring channels))**beta``.

    Args:
        size: how many channels are taken together.
        alpha: factor of the mean.
        beta: exponent.
        k: added to it.

    Input and output: (N, C, d1, ...).

    >>> import nnkit
    >>> nnkit.nn.LocalResponseNorm(2, alpha=2.0, beta=1.0)(nnkit.ones(1, 2, 1)).flatten()
    tensor([0.5000, 0.3333])
    """

    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """`LocalResponseNorm` of images, as Torch 7 had it: ``x / (k + alpha / size * sum)**beta``.

    The sum of squares takes as many channels after each as before it, so ``size - 1`` for an even
    ``size``, and the first channel everywhere, as in torch; whose gradient, however, leaves out a
    channel, and is that of no function.

    Args:
        size: how many channels are taken together.
        alpha: factor of the mean.
        beta: exponent.
        k: added to it.

    Input and output: (N, C, H, W).

    Raises:
        ValueError: the input has not four dimensions.

    >>> import nnkit
    >>> nnkit.nn.CrossMapLRN2d(3, alpha=3.0, beta=1.0)(nnkit.ones(1, 2, 1, 1)).flatten()
    tensor([0.3333, 0.3333])
    """

    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
        squares, reach = input * input, (self.size - 1) // 2
        total = sum_of_neighbours(squares, reach, reach)
        within, beyond = total.tensor_split([reach + 1], 1)
        total = cat([within, beyond + squares.narrow(1, 0, 1)], 1)
        return input * (total * (self.alpha / self.size) + self.k) ** -self.beta

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
