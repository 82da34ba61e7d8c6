"""torch._dynamo.utils: whether code is being compiled, and warnings."""

from __future__ import annotations

from nnkit.backend import warning
from nnkit.compat.passing import Inert, false

is_compile_supported = false
disable_cache_limit = Inert


def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn of the same thing once in a process."""
    warning.warn_once(msg)
