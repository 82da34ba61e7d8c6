"""torch.amp.grad_scaler: see `nnkit.amp.GradScaler`."""

from __future__ import annotations

from enum import Enum


class OptState(Enum):
    """The progress of a scaler for an optimizer in a step, as programs with loops of their own
    ask."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2
