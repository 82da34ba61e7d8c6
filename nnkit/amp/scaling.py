"""The two steps of a gradient scaler."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.ops.exchange.interchange import tensor
from nnkit.backend.dtype import float32


@no_grad()
def unscale(gradients: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiply gradients by ``inv_scale``; ``found_inf`` becomes 1 if one holds inf or NaN.

    Raises:
        RuntimeError: one of the two is not of one element.
    """
    for name, value in (("found_inf", found_inf), ("inv_scale", inv_scale)):
        if value.numel() != 1:
            raise RuntimeError(f"{name} must be a 1-element tensor, got shape {list(value.shape)}")
    for gradient in gradients:
        if not bool(gradient.isfinite().all()):
            found_inf.fill_(1)
        gradient.mul_(inv_scale.to(gradient.device).reshape(()))


def in_float32(scale: float) -> float:
    """The scale as it is kept."""
    return tensor(scale, dtype=float32).item()


def adapted(
    scale: float, good_steps: int, found_inf: bool, growth: float, backoff: float, interval: int
) -> tuple[float, int]:
    """The scale after one more step, and the number of good steps since it changed."""
    if found_inf:
        return in_float32(scale * backoff), 0
    if good_steps + 1 != interval:
        return scale, good_steps + 1
    grown = in_float32(scale * growth)
    return (grown if math.isfinite(grown) else scale), 0
