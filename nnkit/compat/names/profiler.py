"""torch.profiler: whether torch's own library of profiling is there; it is not."""

from __future__ import annotations

from nnkit.compat.passing import false

kineto_available = false
