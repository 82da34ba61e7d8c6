"""What runs in a worker process: its seeds, its loop, what it knows of itself."""

from __future__ import annotations

import os
import queue
import random
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nnkit.backend.random import seed_numpy
from nnkit.backend.threads import set_num_threads
from nnkit.random import manual_seed

SECONDS_BETWEEN_LOOKS_AT_PARENT = 5.0


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker knows of itself; ``dataset`` is its own copy."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class Restart:
    """Sent to a worker that is to begin its dataset again; it sends it back."""


class Exhausted:
    """Sent by a worker whose stream has ended."""


class Failure:
    """An error of a worker on its way to the main process, with its traceback as text."""

    def __init__(self, worker: int) -> None:
        kind, error, trace = sys.exc_info()
        self.kind = kind
        self.text = "".join(traceback.format_exception(kind, error, trace))
        self.worker = worker

    def reraise(self) -> None:
        """Raise an error of the same type; its message holds the worker's traceback."""
        assert self.kind is not None
        message = (
            f"Caught {self.kind.__name__} in DataLoader worker process {self.worker}.\n"
            f"Original {self.text}"
        )
        if self.kind is KeyError:  # which shows its message by repr
            raise KeyError(_Text(message))
        try:
            error = self.kind(message)
        except Exception:  # its constructor wants other arguments
            raise RuntimeError(message) from None
        raise error


class _Text(str):
    """A string whose repr is itself, so that a KeyError prints its lines."""

    def __repr__(self) -> str:
        return str(self)


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker process of a DataLoader: its ``id``, ``num_workers``, ``seed`` and ``dataset``.

    None in the main process.

    Example:
        >>> import nnkit
        >>> nnkit.utils.data.get_worker_info() is None
        True
    """
    return _info


def work(
    worker: int,
    loader: Any,
    fetcher: Callable[[Any], Callable[[Any], Any]],
    base_seed: int,
    orders: Any,
    results: Any,
) -> None:
    """Fetch the batches that are ordered until None comes, or until the parent is gone."""
    global _info
    set_num_threads(1)  # the workers are the parallel part
    seed = base_seed + worker
    random.seed(seed)
    manual_seed(seed)
    seed_numpy(base_seed, worker)
    _info = WorkerInfo(worker, loader.num_workers, seed, loader.dataset)
    parent = os.getppid()

    def begin() -> Any:
        try:
            return fetcher(loader)
        except Exception:
            return Failure(worker)

    try:
        if loader.worker_init_fn is not None:
            loader.worker_init_fn(worker)
        fetch = begin()
    except Exception:
        fetch = Failure(worker)
    ended = False
    while True:
        try:
            order = orders.get(timeout=SECONDS_BETWEEN_LOOKS_AT_PARENT)
        except queue.Empty:
            if os.getppid() != parent:
                return
            continue
        if order is None:
            return
        number, indices = order
        if isinstance(indices, Restart):
            ended = False
            fetch = begin()
            results.put((number, worker, indices))
        elif not ended:  # orders behind the end of a stream need no answer
            result = _fetched(fetch, indices, worker)
            ended = isinstance(result, Exhausted)
            results.put((number, worker, result))


def _fetched(fetch: Any, indices: Any, worker: int) -> Any:
    if isinstance(fetch, Failure):
        return fetch
    try:
        return fetch(indices)
    except StopIteration:
        return Exhausted()
    except Exception:
        return Failure(worker)
