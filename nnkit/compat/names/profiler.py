"""torch.profiler: whether torch's own library of profiling is there; it is not."""

from __future__ import annotations

from nnkit.compat.passing import false
from nnkit.profiler import _always as _default_schedule_fn

__all__ = ["_default_schedule_fn"]

kineto_available = false
