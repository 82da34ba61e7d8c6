"""torch.xpu: devices of Intel, of which there are none."""

from __future__ import annotations

from nnkit.compat.passing import false, nothing

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "synchronize"]
is_available = is_initialized = _is_compiled = is_bf16_supported = false
synchronize = empty_cache = manual_seed = manual_seed_all = nothing


def device_count() -> int:
    """The number of devices."""
    return 0
