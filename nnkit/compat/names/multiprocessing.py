"""torch.multiprocessing: Python's own; a tensor travels as a copy, not as shared memory."""

from __future__ import annotations

import multiprocessing as _multiprocessing
from typing import Any

from nnkit.compat.passing import nothing

for _name in _multiprocessing.__all__:
    globals()[_name] = getattr(_multiprocessing, _name)
_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_system"
_add_docstr = nothing


def get_all_sharing_strategies() -> set[str]:
    """The ways in which memory can be shared."""
    return set(_STRATEGIES)


def get_sharing_strategy() -> str:
    """The way in which memory is shared."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose the way in which memory is shared; here there is one.

    Raises:
        AssertionError: no such way.
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(f"{new_strategy} is not one of {sorted(_STRATEGIES)}")
    _strategy = new_strategy


def _started(fn: Any, index: int, args: tuple) -> None:
    fn(index, *args)


def spawn(
    fn: Any,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Run ``fn(index, *args)`` in ``nprocs`` processes.

    Raises:
        RuntimeError: one of them has failed.
    """
    context: Any = _multiprocessing.get_context(start_method)
    processes = [
        context.Process(target=_started, args=(fn, index, args), daemon=daemon)
        for index in range(nprocs)
    ]
    for process in processes:
        process.start()
    if not join:
        return processes
    for index, process in enumerate(processes):
        process.join()
        if process.exitcode:
            raise RuntimeError(f"process {index} terminated with exit code {process.exitcode}")
    return None
