"""torch._guards: whether a compiler follows a program by stand-ins of tensors; none does."""

from __future__ import annotations

from nnkit.compat.passing import nothing

active_fake_mode = detect_fake_mode = nothing
