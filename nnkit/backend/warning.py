"""Warnings that point at the user's line."""

from __future__ import annotations

import sys
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, in the name of the nearest line that is not nnkit's own."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("nnkit."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
