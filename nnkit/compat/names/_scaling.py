"""The two steps of a gradient scaler, for libraries with scalers of their own."""

from __future__ import annotations

from nnkit import Tensor, no_grad
from nnkit.amp.scaling import adapted
from nnkit.amp.scaling import unscale as _amp_foreach_non_finite_check_and_unscale_

__all__ = ["_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_"]


@no_grad()
def _amp_update_scale_(
    self: Tensor, growth_tracker: Tensor, found_inf: Tensor, scale_growth_factor: float,
    scale_backoff_factor: float, growth_interval: int,
) -> Tensor:  # fmt: skip
    """Update a scale, and the number of good steps since it changed, after a step.

    Returns:
        The scale, written in place.
    """
    scale, good_steps = adapted(
        self.item(), int(growth_tracker), bool(found_inf), scale_growth_factor,
        scale_backoff_factor, growth_interval,
    )  # fmt: skip
    growth_tracker.fill_(good_steps)
    return self.fill_(scale)
