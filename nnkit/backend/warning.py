"""The user's line, at which warnings point."""

from __future__ import annotations

import sys
import warnings
from types import FrameType


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, in the name of the nearest line that is not nnkit's own."""
    warnings.warn(message, category, stacklevel=_users_frame()[0])


ALWAYS: bool = False  # whether `warn_once` warns every time
_warned: set[str] = set()


def warn_once(message: str) -> None:
    """Warn where the process has not yet been warned so."""
    if ALWAYS or message not in _warned:
        _warned.add(message)
        warn(message)


def users_line() -> str:
    """The file and the number of the nearest line that is not nnkit's own."""
    frame = _users_frame()[1]
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "an unknown line"


def _users_frame() -> tuple[int, FrameType | None]:
    """The nearest frame that is not nnkit's own, and how far it is from the caller's callee."""
    level, frame = 2, sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("nnkit."):
        level, frame = level + 1, frame.f_back
    return level, frame
