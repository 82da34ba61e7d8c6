"""A worker process: its seeds, its loop, what it knows of itself."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import random
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from nnkit.backend.random import seed_numpy
from nnkit.backend.threads import set_num_threads
from nnkit.random import manual_seed
from nnkit.utils.data.pipes import seed_pipe, share_pipe

SECONDS_BETWEEN_LOOKS_AT_PARENT = 0.5


@dataclass(frozen=True)
class WorkerInfo:
    """A worker's knowledge of itself; ``dataset`` is its own copy."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


@dataclass(frozen=True)
class Restart:
    """Sent to a worker that is to begin its dataset again; it sends it back."""

    pipe_seed: int | None  # of the dataset's random pipes


class End:
    """Sent to a worker that is to end."""


class Exhausted:
    """Sent by a worker whose stream has ended."""


class ExceptionWrapper:
    """An error on its way to another process, with its traceback as text.

    Args:
        exc_info: what `sys.exc_info` gives, by default the error that is being handled.
        where: where it has happened, for the message.
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        info: Any = sys.exc_info() if exc_info is None else exc_info
        kind, error, trace = info
        self.name = kind.__name__
        self.exc_type = kind if _can_be_sent(kind) else RuntimeError
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    @classmethod
    def of_worker(cls, worker: int) -> ExceptionWrapper:
        """The error that a worker is handling."""
        return cls(where=f"in DataLoader worker process {worker}")

    def reraise(self) -> None:
        """Raise an error of the same type; its message holds the traceback.

        It is a RuntimeError where the type cannot be sent, or wants other arguments.
        """
        message = f"Caught {self.name} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:  # which shows its message by repr
            raise KeyError(_Text(message))
        try:
            error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class _Text(str):
    """A string whose repr is itself, so that a KeyError prints its lines."""

    def __repr__(self) -> str:
        return str(self)


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The ``id``, ``num_workers``, ``seed`` and ``dataset`` of the worker process that this is.

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
    pipe_seed: int | None,
    ranks: tuple[int, int],
    connection: Any,
) -> None:
    """Fetch the batches that are ordered until `End` comes, or until the parent is gone.

    Batches that are ready wait in a queue, from which a thread sends them, so that the next ones
    are fetched while the parent is busy.
    """
    global _info
    set_num_threads(1)  # the workers are the parallel part
    seed = base_seed + worker
    random.seed(seed)
    manual_seed(seed)
    seed_numpy(base_seed, worker)
    _info = WorkerInfo(worker, loader.num_workers, seed, loader.dataset)
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    threading.Thread(target=_send, args=(connection, results), daemon=True).start()
    # The main process is interrupted as well; where it is gone, nobody waits.
    with contextlib.suppress(KeyboardInterrupt, EOFError):
        for result in _answers(worker, loader, fetcher, pipe_seed, ranks, connection):
            results.put(pickled(result, worker))


def _answers(
    worker: int,
    loader: Any,
    fetcher: Any,
    pipe_seed: int | None,
    ranks: tuple[int, int],
    connection: Any,
) -> Iterator[Any]:
    """The answers to orders, one each."""
    failure = None
    try:
        share_pipe(loader.dataset, *ranks, worker, loader.num_workers)
        if loader.worker_init_fn is not None:
            loader.worker_init_fn(worker)
    except Exception:
        failure = ExceptionWrapper.of_worker(worker)

    def begin(pipe_seed: int | None) -> Any:
        try:
            seed_pipe(loader.dataset, pipe_seed)
            return failure or fetcher(loader)
        except Exception:
            return ExceptionWrapper.of_worker(worker)

    fetch = begin(pipe_seed)
    ended = False
    while not isinstance(order := unpickled(connection.recv_bytes(), worker), End):
        if isinstance(order, Restart):
            ended = False
            fetch = begin(order.pipe_seed)
            yield order
        elif not ended:  # orders behind the end of a stream need no answer
            result = (
                order if isinstance(order, ExceptionWrapper) else _fetched(fetch, order, worker)
            )
            ended = isinstance(result, Exhausted)
            yield result


def _fetched(fetch: Any, indices: Any, worker: int) -> Any:
    if isinstance(fetch, ExceptionWrapper):
        return fetch
    try:
        return fetch(indices)
    except StopIteration:
        return Exhausted()
    except Exception:
        return ExceptionWrapper.of_worker(worker)


def _end_with_parent() -> None:
    """End this process when the parent is gone, whatever it is doing.

    The end of the connection is no sign of that: forked processes have copies of the parent's
    end. Nor is the signal that Linux can send, which comes when the parent's *thread* ends.
    """
    from multiprocessing import parent_process

    process, parent = parent_process(), os.getppid()
    assert process is not None
    while process.is_alive() and os.getppid() == parent:
        process.join(SECONDS_BETWEEN_LOOKS_AT_PARENT)
    os._exit(1)


def _send(connection: Any, results: Any) -> None:
    with contextlib.suppress(OSError):  # the parent is gone
        while True:
            connection.send_bytes(results.get())


def pickled(value: Any, worker: int) -> Any:
    """A value, or why it cannot be sent. Its tensors are copies, not memory that is shared: a
    worker may be gone when its batch is looked at."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        return pickle.dumps(ExceptionWrapper.of_worker(worker))


def unpickled(content: Any, worker: int) -> Any:
    """The value that was sent, or why it cannot be received."""
    try:
        return pickle.loads(content)
    except Exception:
        return ExceptionWrapper.of_worker(worker)


def _can_be_sent(kind: type) -> bool:
    try:
        return pickle.loads(pickle.dumps(kind)) is kind
    except Exception:
        return False
