"""Mixed precision: `GradScaler`, and `autocast` where it changes nothing.

Casting operations to half precision by themselves is not available; models in half precision
(``model.bfloat16()``) and the scaling of losses are. What asks for the state of casting is told
that it is off.
"""

from __future__ import annotations

from nnkit.amp.autocast import autocast
from nnkit.amp.custom import custom_bwd, custom_fwd
from nnkit.amp.grad_scaler import GradScaler
from nnkit.amp.state import is_autocast_available

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
