"""Mixed precision: `GradScaler`, and `autocast` where it changes nothing.

Casting operations to half precision by themselves is not available; models in half precision
(``model.bfloat16()``) and the scaling of losses are.
"""

from __future__ import annotations

from nnkit.amp.autocast import autocast
from nnkit.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
