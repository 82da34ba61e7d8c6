"""torch.backends.mha: whether attention takes a shorter way in inference, which nnkit has not."""

from __future__ import annotations

_enabled = True


def get_fastpath_enabled() -> bool:
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Note what is asked for: there is one way, whose numbers are the same."""
    global _enabled
    _enabled = value
