"""Fake quantization with an observer of the extrema, in one call."""

from __future__ import annotations

from typing import Any

import nnkit
from nnkit import Tensor

__all__ = ["fused_moving_avg_obs_fake_quant"]


def fused_moving_avg_obs_fake_quant(
    input: Tensor, observer_on: Tensor, fake_quant_on: Tensor, running_min: Tensor,
    running_max: Tensor, scale: Tensor, zero_point: Tensor, averaging_const: float,
    quant_min: int, quant_max: int, ch_axis: int, per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:  # fmt: skip
    """`fake_quantize_per_tensor_affine` by the moving averages of the extrema.

    ``running_min`` and ``running_max`` are written where ``observer_on`` is 1, ``scale`` and
    ``zero_point`` where ``fake_quant_on`` is.

    Args:
        averaging_const: the weight of the new extrema in the averages.
        ch_axis, per_row_fake_quant: whether each index of an axis has its own extrema.
        symmetric_quant: whether 0 lies in the middle.
    """
    observed, played = bool(observer_on), bool(fake_quant_on)
    if observed:
        with nnkit.no_grad():
            x = input.transpose(0, ch_axis).flatten(1) if per_row_fake_quant else input
            low, high = x.aminmax(dim=1) if per_row_fake_quant else x.aminmax()
            for running, new in ((running_min, low), (running_max, high)):
                moved = running + averaging_const * (new - running)
                running.copy_(nnkit.where(running.isinf(), new, moved))
    if not played:
        return input.clone()
    found = _levels(running_min, running_max, quant_min, quant_max, symmetric_quant)
    with nnkit.no_grad():
        for kept, new in zip((scale, zero_point), found):
            kept.copy_(new.reshape(kept.shape))
    if per_row_fake_quant:
        return nnkit.fake_quantize_per_channel_affine(
            input, scale, zero_point, ch_axis, quant_min, quant_max
        )
    return nnkit.fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max)


def _levels(low: Tensor, high: Tensor, least: int, most: int, symmetric: bool) -> Any:
    """The scale and the zero point by which integers from ``least`` to ``most`` represent 0 and the
    values between ``low`` and ``high``."""
    low, high = low.double().clamp(max=0), high.double().clamp(min=0)
    if symmetric:
        half = (most - least) // 2
        widest = nnkit.maximum(low.abs() / (half + 1), high / half).float().double()
        low, high = -(half + 1) * widest, half * widest
    step = ((high - low) / (most - least)).float().double()
    step = nnkit.where((step == 0) | (1 / step).isinf(), 0.1, step)
    by_low, by_high = least - low / step, most - high / step
    nearer = (abs(least) + (low / step).abs()) < (abs(most) + (high / step).abs())
    zero = nnkit.where(nearer, by_low, by_high).round().clamp(least, most)
    return step, zero
