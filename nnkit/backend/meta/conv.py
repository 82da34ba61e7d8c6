"""Convolutions of arrays without memory."""

from __future__ import annotations

from typing import Any

from nnkit.backend.meta.array import Meta, empty
from nnkit.backend.windows import window_counts

Ints = tuple[int, ...]


def conv(
    x: Meta, weight: Meta, bias: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Meta:
    size = window_counts(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    return empty((x.shape[0], weight.shape[0], *size), x.dtype)


def conv_grad_input(g: Meta, weight: Meta, shape: tuple, *options: Any) -> Meta:
    return empty(shape, g.dtype)


conv_grad_weight = conv_grad_input


def conv_transpose(x: Meta, weight: Meta, bias: Any, shape: tuple, *options: Any) -> Meta:
    return empty(shape, x.dtype)
