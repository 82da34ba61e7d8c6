"""The older names of `nnkit.amp`, for a GPU."""

from __future__ import annotations

from typing import Any

from nnkit import amp
from nnkit.amp.older import warn_of

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(amp.autocast):
    """`nnkit.amp.autocast` for "cuda"."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        warn_of("cuda", "autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`nnkit.amp.GradScaler` for "cuda"."""

    def __init__(self, init_scale: float = 2.0**16, *args: Any, **kwargs: Any) -> None:
        warn_of("cuda", "GradScaler")
        super().__init__("cuda", init_scale, *args, **kwargs)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`nnkit.amp.custom_fwd` for "cuda"."""
    warn_of("cuda", "custom_fwd")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None) -> Any:
    """`nnkit.amp.custom_bwd` for "cuda"."""
    warn_of("cuda", "custom_bwd")
    return amp.custom_bwd(bwd, device_type="cuda")
