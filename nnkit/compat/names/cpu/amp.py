"""torch.cpu.amp: the older names of `nnkit.amp`, for the CPU."""

from __future__ import annotations

from typing import Any

import nnkit
from nnkit import amp
from nnkit.amp.older import warn_of

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """`nnkit.amp.autocast` for "cpu"."""

    def __init__(
        self, enabled: bool = True, dtype: Any = nnkit.bfloat16, cache_enabled: bool = True
    ) -> None:
        warn_of("cpu", "autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`nnkit.amp.GradScaler` for "cpu"."""

    def __init__(self, init_scale: float = 2.0**16, *args: Any, **kwargs: Any) -> None:
        warn_of("cpu", "GradScaler")
        super().__init__("cpu", init_scale, *args, **kwargs)
