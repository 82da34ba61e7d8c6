"""torch.backends.opt_einsum: a library that orders products, which nnkit does without."""

from __future__ import annotations

from nnkit.compat.passing import Inert, false, nothing

is_available = false
get_opt_einsum = nothing
enabled = False
strategy = None
flags = Inert


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[bool, None]:
    """What was set before: never anything."""
    return enabled, strategy
