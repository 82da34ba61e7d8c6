"""torch._guards: whether a compiler traces with fake tensors; none does."""

from __future__ import annotations

from nnkit.compat.passing import nothing

active_fake_mode = detect_fake_mode = nothing
