"""torch.cpu.amp.grad_scaler: `nnkit.amp.GradScaler` for the CPU."""

from __future__ import annotations

from typing import Any

from nnkit import amp
from nnkit.amp.older import warn_of


class GradScaler(amp.GradScaler):
    """`nnkit.amp.GradScaler` for "cpu"."""

    def __init__(self, init_scale: float = 2.0**16, *args: Any, **kwargs: Any) -> None:
        warn_of("cpu", "GradScaler")
        super().__init__("cpu", init_scale, *args, **kwargs)
