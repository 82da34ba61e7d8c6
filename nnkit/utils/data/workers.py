"""One pass over a loader whose batches come from worker processes."""

from __future__ import annotations

import contextlib
import os
import pickle
import time
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

from nnkit.utils.data.collate import pinned
from nnkit.utils.data.fetch import (
    _DatasetKind,
    base_seed,
    fetcher,
    pins_memory,
    warn_of_more,
)
from nnkit.utils.data.pipes import rank_among, seed_of_pass
from nnkit.utils.data.worker import End, ExceptionWrapper, Exhausted, Restart, unpickled, work

SECONDS_TO_END = 5.0


def checked_context(context: Any) -> Any:
    """A context of multiprocessing, given by itself or by its name.

    Raises:
        ValueError: the platform has none of this name.
        TypeError: it is neither.
    """
    import multiprocessing
    from multiprocessing.context import BaseContext

    if isinstance(context, str):
        known = multiprocessing.get_all_start_methods()
        if context not in known:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{known!r}, but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={context!r}"
        )
    return context


class WorkerIteration:
    """Orders batches from the workers, a few ahead, and gives them in their order.

    A batch is ordered from the next worker in turn that has not come to the end of its stream. A
    worker answers in the order of its orders, through a connection of its own: so the end of that
    connection, of which this process holds no copy, is the end of the worker.
    """

    _end: Any = None

    def __init__(self, loader: Any) -> None:
        import multiprocessing

        context = loader.multiprocessing_context or multiprocessing
        self._loader = loader
        self._pins = pins_memory(loader)
        pipe_seed = seed_of_pass(loader)
        seed = base_seed(loader)
        seed_of_pass(loader)  # which torch draws twice for the first pass
        self.is_broken = False  # a worker has died, or a message was cut off
        self._workers: list[Any] = []
        self._connections: list[Any] = []
        self._end = weakref.finalize(self, _end, os.getpid(), self._workers, self._connections)
        # A loader that keeps this iteration is sent without it.
        kept, loader._iterator = loader._iterator, None
        try:
            for number in range(loader.num_workers):
                connection, theirs = context.Pipe()
                self._connections.append(connection)
                worker = context.Process(
                    target=work,
                    args=(number, loader, fetcher, seed, pipe_seed, rank_among(), theirs),
                    daemon=True,
                )
                worker.start()
                theirs.close()
                self._workers.append(worker)
        finally:
            loader._iterator = kept
        self._begin()

    def restart(self) -> None:
        """Begin again with the same workers; what they still load of the last pass is dropped."""
        workers = range(len(self._workers))
        restart = Restart(seed_of_pass(self._loader))
        with self._unbroken():
            for worker in workers:
                self._tell(worker, restart)
            for worker in workers:
                while not isinstance(self._answer([worker])[1], Restart):
                    pass
        self._begin()

    def _begin(self) -> None:
        self._indices: Iterator[Any] = iter(self._loader._index_sampler)
        self._promised = self._loader._IterableDataset_len_called
        self._active = [True] * len(self._workers)
        self._turn = 0
        self._awaited: list[int] = []  # the worker of each answer that is due, in their order
        self._done = 0
        for _ in range(self._loader.prefetch_factor * len(self._workers)):
            self._order()

    def _order(self) -> None:
        """Order one more batch, if there is one and a worker for it."""
        for _ in self._workers:
            worker = self._turn
            self._turn = (worker + 1) % len(self._workers)
            if self._active[worker]:
                break
        else:
            return
        try:
            indices = next(self._indices)
        except StopIteration:
            return
        self._tell(worker, indices)

    def __iter__(self) -> WorkerIteration:
        return self

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")

    def _shutdown_workers(self) -> None:
        """Let the workers go now, and not when nobody holds the pass any more."""
        if self._end is not None:
            self._end()

    def __del__(self) -> None:
        self._shutdown_workers()

    def __next__(self) -> Any:
        result = self._take()
        if isinstance(result, ExceptionWrapper):
            result.reraise()
        self._done += 1
        if self._loader._dataset_kind == _DatasetKind.Iterable:
            warn_of_more(self._loader.dataset, self._promised, self._done)
        return pinned(result) if self._pins else result

    def _take(self) -> Any:
        """The next batch (or failure), in whose place another one is ordered."""
        while self._awaited:
            worker, result = self._answer(self._awaited[: 1 if self._loader.in_order else None])
            if not self._loader.in_order:
                self._turn = worker  # it is free; another may be slow
            if isinstance(result, Exhausted):  # it answers no more
                self._active[worker] = False
                self._awaited = [other for other in self._awaited if other != worker]
            self._order()
            if not isinstance(result, Exhausted):
                return result
        if not self._loader.persistent_workers:
            self._end()
        raise StopIteration

    def _tell(self, worker: int, order: Any) -> None:
        content = pickle.dumps(order, pickle.HIGHEST_PROTOCOL)
        # A worker that is gone is noticed when its answer is due.
        with self._unbroken():
            with contextlib.suppress(OSError):
                self._connections[worker].send_bytes(content)
            self._awaited.append(worker)

    def _answer(self, workers: Iterable[int]) -> tuple[int, Any]:
        """The next answer of any of these workers, and which one gave it."""
        from multiprocessing.connection import wait

        limit = self._loader.timeout
        connections = {self._connections[worker]: worker for worker in workers}
        ready: list[Any] = list(connections)
        with self._unbroken():
            if limit or len(ready) > 1:
                ready = wait(ready, limit or None)
            if ready:
                worker = connections[ready[0]]
                try:
                    result = unpickled(self._connections[worker].recv_bytes(), worker)
                except (EOFError, OSError) as error:
                    words = self._obituary(self._workers[worker])
                    if isinstance(error, OSError) and self._workers[worker].is_alive():
                        raise  # what a handler of signals has raised, such as TimeoutError
                    raise RuntimeError(words) from None
                self._awaited.remove(worker)
                return worker, result
        raise RuntimeError(f"DataLoader timed out after {limit} seconds")

    @contextlib.contextmanager
    def _unbroken(self) -> Iterator[None]:
        """A block of messages: after an error in it, nobody knows what the next message answers."""
        if self.is_broken:
            raise RuntimeError("DataLoader: this iteration has lost its workers")
        try:
            yield
        except BaseException:
            self.is_broken = True
            raise

    @staticmethod
    def _obituary(worker: Any) -> str:
        worker.join(1.0)
        return (
            f"DataLoader worker (pid(s) {worker.pid}) exited unexpectedly "
            f"with exit code {worker.exitcode}"
        )

    def __len__(self) -> int:
        return len(self._loader._index_sampler)


def _end(parent: int, workers: list[Any], connections: list[Any]) -> None:
    """Let the workers go: they end when they read `End`, or are ended."""
    if os.getpid() != parent:
        return  # a forked process drops its copy of the iteration
    for connection in connections:
        with contextlib.suppress(OSError):
            connection.send(End())
    until = time.monotonic() + SECONDS_TO_END
    for worker in workers:
        worker.join(max(until - time.monotonic(), 0.0))
        for stop in (worker.terminate, worker.kill):
            if worker.is_alive():
                stop()
                worker.join(1.0)
    for connection in connections:
        connection.close()
