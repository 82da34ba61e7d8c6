"""Transposed convolution."""

from __future__ import annotations

from typing import Any


def conv_transpose(
    B: Any, x: Any, weight: Any, bias: Any,
    shape: tuple, stride: tuple, padding: tuple, dilation: tuple, groups: int,
) -> Any:  # fmt: skip
    """The gradient of `conv` in its input, seen as a layer, plus a bias for each channel."""
    out = B.conv_grad_input(x, weight, shape, stride, padding, dilation, groups)
    if bias is None:
        return out
    return B.add(out, B.reshape(bias, (shape[1],) + (1,) * len(stride)))
