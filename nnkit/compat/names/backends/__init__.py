"""torch.backends: libraries behind torch that nnkit has not, and who may change settings."""

from __future__ import annotations

_frozen = False


def flags_frozen() -> bool:
    """Whether `disable_global_flags` was called."""
    return _frozen


def disable_global_flags() -> None:
    """Say that settings shall be changed by contexts alone, which nothing here enforces."""
    global _frozen
    _frozen = True
