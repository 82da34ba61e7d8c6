"""torch.mps: Apple's GPUs, of which there are none."""

from __future__ import annotations

from nnkit.compat.names.xpu import (
    device_count,
    empty_cache,
    is_available,
    manual_seed,
    synchronize,
)

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]
