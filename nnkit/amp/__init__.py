"""Mixed precision: operations that choose theirs (`autocast`), and losses scaled up so that
gradients in half precision do not vanish (`GradScaler`)."""

from __future__ import annotations

from nnkit.amp.autocast import autocast
from nnkit.amp.custom import custom_bwd, custom_fwd
from nnkit.amp.grad_scaler import GradScaler
from nnkit.amp.state import is_autocast_available

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
