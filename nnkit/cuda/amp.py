"""The older names of `nnkit.amp`, for a GPU."""

from __future__ import annotations

from typing import Any

from nnkit import amp

__all__ = ["GradScaler", "autocast"]


class autocast(amp.autocast):
    """`nnkit.amp.autocast` for "cuda"."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`nnkit.amp.GradScaler` for "cuda"."""

    def __init__(self, init_scale: float = 2.0**16, *args: Any, **kwargs: Any) -> None:
        super().__init__("cuda", init_scale, *args, **kwargs)
