"""torch.utils._mode_utils: modes compared, and what is computed without asking them."""

from __future__ import annotations

from typing import Any

from nnkit.compat.dispatch import without_modes as no_dispatch

__all__ = ["all_same_mode", "no_dispatch"]


def all_same_mode(modes: Any) -> bool:
    """Whether modes are one and the same."""
    return all(mode == modes[0] for mode in modes)
