"""torch.cpu.amp: the older names of `nnkit.amp`, for the CPU."""

from __future__ import annotations

from nnkit.compat.names.cpu.amp.autocast_mode import autocast
from nnkit.compat.names.cpu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
