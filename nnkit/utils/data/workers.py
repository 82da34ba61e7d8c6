"""One pass over a loader whose batches come from worker processes."""

from __future__ import annotations

import contextlib
import queue
import time
import weakref
from collections.abc import Iterator
from typing import Any

from nnkit.utils.data.collate import pinned
from nnkit.utils.data.dataset import IterableDataset
from nnkit.utils.data.fetch import base_seed, fetcher, pins_memory, warn_of_more
from nnkit.utils.data.worker import Exhausted, Failure, Restart, work

SECONDS_BETWEEN_LOOKS_AT_WORKERS = 5.0
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
                f"DataLoader: multiprocessing_context must be one of {known}, got {context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TypeError(
            "DataLoader: multiprocessing_context must be a context of multiprocessing or its "
            f"name, got {context!r}"
        )
    return context


class WorkerIteration:
    """Orders batches from the workers, a few ahead, and gives them in their order.

    Batch ``i`` goes to the next worker in turn that has not come to the end of its stream.
    """

    def __init__(self, loader: Any) -> None:
        import multiprocessing

        context = loader.multiprocessing_context or multiprocessing
        self._loader = loader
        self._pins = pins_memory(loader)
        seed = base_seed(loader)
        self._results = context.Queue()
        self._orders: list[Any] = []
        self._workers: list[Any] = []
        # A loader that keeps this iteration is sent without it.
        kept, loader._iterator = loader._iterator, None
        try:
            for number in range(loader.num_workers):
                orders = context.Queue()
                orders.cancel_join_thread()
                worker = context.Process(
                    target=work,
                    args=(number, loader, fetcher, seed, orders, self._results),
                    daemon=True,
                )
                worker.start()
                self._orders.append(orders)
                self._workers.append(worker)
        finally:
            loader._iterator = kept
        self._end = weakref.finalize(self, _end, self._workers, self._orders, self._results)
        self._begin()

    def restart(self) -> None:
        """Begin again with the same workers; what they still load of the last pass is dropped."""
        for orders in self._orders:
            orders.put((-1, Restart()))
        waiting = len(self._workers)
        while waiting:
            _number, _worker, result = self._next_result()
            waiting -= isinstance(result, Restart)
        self._begin()

    def _begin(self) -> None:
        self._indices: Iterator[Any] = iter(self._loader._index_sampler)
        self._active = [True] * len(self._workers)
        self._turn = 0
        self._sent = 0  # number of the next batch that is ordered
        self._due = 0  # number of the batch that is given next
        self._owners: dict[int, int] = {}  # the worker of each batch that is awaited
        self._ready: dict[int, Any] = {}
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
        self._orders[worker].put((self._sent, indices))
        self._owners[self._sent] = worker
        self._sent += 1

    def __iter__(self) -> WorkerIteration:
        return self

    def __next__(self) -> Any:
        result = self._take()
        if isinstance(result, Failure):
            result.reraise()
        self._done += 1
        if isinstance(self._loader.dataset, IterableDataset):
            warn_of_more(self._loader, self._done)
        return pinned(result) if self._pins else result

    def _take(self) -> Any:
        """The next batch (or failure), whose place in the queue is ordered anew."""
        while True:
            while self._due < self._sent and self._due not in self._owners:
                self._due += 1  # given out of turn, or never to come: its stream has ended
            if self._due >= self._sent:
                if not self._loader.persistent_workers:
                    self._end()
                raise StopIteration
            ready = self._due if self._loader.in_order else next(iter(self._ready), self._due)
            if ready in self._ready:
                del self._owners[ready]
                result = self._ready.pop(ready)
                self._order()
                return result
            number, worker, result = self._next_result()
            if isinstance(result, Exhausted):
                self._active[worker] = False
                self._forget_orders_of(worker)
                self._order()
            else:
                self._ready[number] = result

    def _forget_orders_of(self, worker: int) -> None:
        """A worker at its end answers no more; batches that it sent before are kept."""
        for number, owner in list(self._owners.items()):
            if owner == worker and number not in self._ready:
                del self._owners[number]

    def _next_result(self) -> tuple[int, int, Any]:
        limit = self._loader.timeout
        until = time.monotonic() + limit if limit else None
        while True:
            wait = SECONDS_BETWEEN_LOOKS_AT_WORKERS
            if until is not None:
                wait = min(wait, max(until - time.monotonic(), 0.0))
            try:
                return self._results.get(timeout=wait)
            except queue.Empty:
                pass
            dead = [str(w.pid) for w in self._workers if not w.is_alive()]
            if dead:
                raise RuntimeError(
                    f"DataLoader worker (pid(s) {', '.join(dead)}) exited unexpectedly"
                )
            if until is not None and time.monotonic() >= until:
                raise RuntimeError(f"DataLoader timed out after {limit} seconds")

    def __len__(self) -> int:
        return len(self._loader._index_sampler)


def _end(workers: list[Any], orders: list[Any], results: Any) -> None:
    """Let the workers go: they end when they read None, or are ended."""
    for line in orders:
        with contextlib.suppress(ValueError, OSError):
            line.put(None)
    # A worker that is still writing would wait for a reader: what is written is read away.
    until = time.monotonic() + SECONDS_TO_END
    while any(w.is_alive() for w in workers) and time.monotonic() < until:
        with contextlib.suppress(queue.Empty, EOFError, OSError):
            while True:
                results.get(timeout=0.005)
    for worker in workers:
        if worker.is_alive():
            worker.terminate()
        worker.join()
    for line in (*orders, results):
        line.cancel_join_thread()
        line.close()
