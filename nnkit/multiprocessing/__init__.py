"""Python's ``multiprocessing`` with tensors that processes share, as ``torch.multiprocessing``.

A tensor that is sent to another process, through a queue, a pipe or as an argument, moves to shared
memory, and the other process maps that: what one of them writes the other reads.
"""

from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403 # pyright: ignore[reportWildcardImportFromLibrary]

from nnkit.multiprocessing import pool as pool
from nnkit.multiprocessing import queue as queue
from nnkit.multiprocessing import reductions as reductions
from nnkit.multiprocessing.spawn import ProcessContext as ProcessContext
from nnkit.multiprocessing.spawn import ProcessException as ProcessException
from nnkit.multiprocessing.spawn import ProcessExitedException as ProcessExitedException
from nnkit.multiprocessing.spawn import ProcessRaisedException as ProcessRaisedException
from nnkit.multiprocessing.spawn import spawn as spawn
from nnkit.multiprocessing.spawn import start_processes as start_processes

__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    "set_sharing_strategy", "get_sharing_strategy", "get_all_sharing_strategies",
    *_multiprocessing.__all__,
]  # fmt: skip

_STRATEGIES = ("file_descriptor", "file_system")
_strategy = _STRATEGIES[0]


def get_all_sharing_strategies() -> set[str]:
    """The names of the ways to share memory."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The chosen way to share memory."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how memory is shared; both names stand for files without a name.

    Raises:
        AssertionError: there is no such way.
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"new_strategy must be one of {_STRATEGIES}, got {new_strategy!r}")
    _strategy = new_strategy


reductions.register()
