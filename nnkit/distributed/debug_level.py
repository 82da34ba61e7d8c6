"""The debug level: whether the ranks of a group compare the shapes of their calls."""

from __future__ import annotations

import os
from enum import Enum


class DebugLevel(Enum):
    """With DETAIL the ranks compare the shapes of their calls; INFO is as OFF."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level = DebugLevel.OFF


def get_debug_level() -> DebugLevel:
    """The level for groups that are made from now on.

    Example:
        >>> import nnkit.distributed as dist
        >>> dist.get_debug_level().name
        'OFF'
    """
    return _level


def set_debug_level(level: DebugLevel) -> None:
    """Choose the level for groups that are made from now on."""
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Take the level from ``TORCH_DISTRIBUTED_DEBUG``, OFF without it.

    Raises:
        RuntimeError: it names no level.
    """
    name = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF").upper()
    if name not in DebugLevel.__members__:
        raise RuntimeError(
            f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL. It is {name!r}"
        )
    set_debug_level(DebugLevel[name])


set_debug_level_from_env()

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]
