"""torch._dynamo.utils: whether programs are compiled; they are not."""

from __future__ import annotations

from nnkit.compat.passing import false

is_compile_supported = false
