"""torch.mps: Apple's GPUs, of which there are none."""

from __future__ import annotations

from nnkit.compat.passing import false, nothing

is_available = false
synchronize = empty_cache = manual_seed = nothing


def device_count() -> int:
    """The number of devices."""
    return 0
