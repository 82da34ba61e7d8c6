"""Normalization as functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.spatial import in_format_of
from nnkit.autograd.ops import norm as ops
from nnkit.autograd.ops.padding import pad
from nnkit.backend.dtype import FLOATING, bfloat16, float16, int64

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm",
]  # fmt: skip


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias`` over the last dimensions.

    Arguments and errors are those of `nnkit.layer_norm`.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.layer_norm(nnkit.tensor([1.0, 3.0]), (2,), eps=0.0)
        tensor([-1.,  1.])
    """
    return ops.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """``x / sqrt(mean(x**2) + eps) * weight`` over the last dimensions.

    Arguments and errors are those of `nnkit.rms_norm`.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.rms_norm(nnkit.tensor([1.0, 7.0]), (2,), eps=0.0)
        tensor([0.2000, 1.4000])
    """
    return ops.rms_norm(input, normalized_shape, weight, eps)


def _check_count(name: str, values: int, what: str, shape: Any) -> None:
    if values == 1:
        raise ValueError(
            f"{name}: Expected more than 1 {what} when training, got input size {list(shape)}"
        )


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """``(x - mean(x)) / sqrt(var(x) + eps) * weight + bias`` over groups of channels.

    Arguments and errors are those of `nnkit.group_norm`.

    Raises:
        ValueError: a group of a single sample has only one value.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.group_norm(nnkit.tensor([[1.0, 3.0, 0.0, 8.0]]), 2, eps=0.0)
        tensor([[-1.,  1., -1.,  1.]])
    """
    if input.ndim < 2:
        raise RuntimeError(
            f"group_norm(): Expected at least 2 dimensions for input tensor but got {input.ndim}"
        )
    if num_groups > 0:
        shape = input.shape
        values = shape[0] * shape[1] // num_groups * math.prod(shape[2:])
        _check_count("group_norm", values, "value per channel", shape)
    return ops.group_norm(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` for each channel.

    Arguments and errors are those of `nnkit.batch_norm`, where they stand in another order.

    Raises:
        ValueError: a channel has only one value in training, or ``eps`` is not positive then.

    Example:
        >>> import nnkit
        >>> x, mean, var = nnkit.tensor([[5.0]]), nnkit.tensor([1.0]), nnkit.tensor([4.0])
        >>> nnkit.nn.functional.batch_norm(x, mean, var, eps=0.0)
        tensor([[2.]])
    """
    if training:
        shape = input.shape
        _check_count("batch_norm", shape[0] * math.prod(shape[2:]), "value per channel", shape)
        if eps <= 0:
            raise ValueError(f"batch_norm: eps must be positive during training, got {eps}")
    return ops.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, True
    )


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` for each channel of each sample.

    Arguments and errors are those of `nnkit.instance_norm`, where they stand in another order.

    Raises:
        ValueError: a channel has only one value and ``use_input_stats`` is true.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.instance_norm(nnkit.tensor([[[1.0, 3.0]]]), eps=0.0)
        tensor([[[-1.,  1.]]])
    """
    if use_input_stats:
        values = math.prod(input.shape[2:])
        _check_count("instance_norm", values, "spatial element", input.shape)
    return ops.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """``x / (k + alpha * mean(x**2 over size neighbouring channels))**beta``.

    Channels beyond the edge count as 0. Krizhevsky et al., "ImageNet classification with deep
    convolutional neural networks", 2012.

    Args:
        input: (N, C, d1, ...), floating point.
        size: how many channels are taken together.
        alpha: factor of the mean.
        beta: exponent.
        k: added to it.

    Raises:
        ValueError: ``input`` has fewer than 3 dimensions.
        RuntimeError: ``size`` is not positive.

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(1, 2, 1)
        >>> nnkit.nn.functional.local_response_norm(x, 2, alpha=2.0, beta=1.0)
        tensor([[[0.5000],
                 [0.3333]]])
    """
    if input.ndim < 3:
        raise ValueError(
            "local_response_norm: Expected 3D or higher dimensionality input "
            f"(got {input.ndim} dimensions)"
        )
    if size <= 0:
        raise RuntimeError(f"local_response_norm: size should be greater than zero, but got {size}")
    if not input.numel():
        return input
    if input.dtype.category < FLOATING and input.dtype is not int64:
        raise NotImplementedError(
            f"local_response_norm: not implemented for '{input.dtype.name}' tensors"
        )
    if input.ndim > 3 and input.dtype in (float16, bfloat16):  # no volumes are averaged in torch
        raise NotImplementedError(
            f"local_response_norm: not implemented for '{input.dtype.name}' tensors of more than 3 "
            "dimensions"
        )
    total = sum_of_neighbours(input * input, size // 2, (size - 1) // 2)
    # torch's mean of integers is one too.
    mean = total / size if input.is_floating_point() else total // size
    return input / in_format_of(input, mean * alpha + k) ** beta


def sum_of_neighbours(input: Tensor, before: int, after: int) -> Tensor:
    """The sum of each channel and of those around it; beyond the edge they count as 0."""
    channels = input.shape[1]
    padded = pad(input, [0, 0] * (input.ndim - 2) + [before, after])
    total = padded.narrow(1, 0, channels)
    for start in range(1, before + after + 1):
        total = total + padded.narrow(1, start, channels)
    return total
