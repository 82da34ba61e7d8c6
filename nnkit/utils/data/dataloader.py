"""`DataLoader`: batches of a dataset, in this process or from workers."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from nnkit.backend.warning import warn
from nnkit.utils.data.collate import default_collate, default_convert, pinned
from nnkit.utils.data.datapipes.datapipe import IterDataPipe
from nnkit.utils.data.dataset import IterableDataset
from nnkit.utils.data.fetch import (
    _DatasetKind,
    base_seed,
    fetcher,
    pins_memory,
    warn_of_more,
)
from nnkit.utils.data.graph_settings import apply_shuffle_settings
from nnkit.utils.data.pipes import rank_among, seed_of_pass, seed_pipe, share_pipe
from nnkit.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from nnkit.utils.data.workers import WorkerIteration, checked_context

__all__ = ["DataLoader"]

Sample = TypeVar("Sample", covariant=True)

_FIXED = {
    "batch_sampler", "batch_size", "dataset", "drop_last", "persistent_workers", "sampler",
}  # fmt: skip


class DataLoader(Generic[Sample]):
    """Iterates over a dataset in batches.

    Args:
        dataset: a map (``__getitem__`` and ``__len__``) or an IterableDataset. In a data pipe the
            ``sharding_filter`` of each worker gives a share, and ``shuffle`` the same order.
        batch_size: samples in a batch; None gives the samples themselves.
        shuffle: whether every iteration has a new random order; switches the ``shuffle`` of a
            data pipe on or off.
        sampler: an iterable of indices, instead of ``shuffle``.
        batch_sampler: an iterable of lists of indices, instead of ``batch_size``, ``shuffle``,
            ``sampler`` and ``drop_last``.
        num_workers: processes that load batches ahead; 0 loads them in this process.
        collate_fn: samples to a batch; ``default_collate`` when not given.
        pin_memory: whether the tensors of a batch lie in page-locked memory, from which
            ``to("cuda", non_blocking=True)`` copies while the GPU computes.
        drop_last: whether a shorter last batch is left out.
        timeout: seconds to wait for a worker's batch; 0 waits on.
        worker_init_fn: called in each worker with its number, before it loads anything.
        multiprocessing_context: how workers are started ("fork", "spawn", ... or such a context);
            the platform's default when not given. Where they are not forked, dataset and
            functions are pickled.
        generator: where the order comes from; the default generator when not given.
        prefetch_factor: batches that are loaded ahead for each worker; 2 when not given.
        persistent_workers: keep the workers for the next iteration.
        pin_memory_device: accepted; page-locked memory serves all GPUs.
        in_order: give the workers' batches in the sampler's order, not as they come.

    With the same seed the batches come in torch's order, and the generator goes on in torch's
    state: one draw when an iteration starts, one for the seed of a permutation. In a worker the
    generators of nnkit, Python and NumPy have torch's seeds.

    Raises:
        ValueError: an argument out of range, or arguments that exclude each other.

    Example:
        >>> from nnkit.utils.data import DataLoader
        >>> list(DataLoader(range(5), batch_size=2))
        [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    drop_last: bool
    sampler: Any
    batch_sampler: Any
    pin_memory: bool
    timeout: float
    _initialized = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        for name, value in (("num_workers", num_workers), ("timeout", timeout)):
            if value < 0:
                raise ValueError(f"DataLoader: {name} option should be non-negative, got {value}")
        self.num_workers = num_workers
        self.check_worker_number_rationality()
        self.dataset = dataset
        self.prefetch_factor = self._batches_ahead(prefetch_factor, persistent_workers)
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.persistent_workers = persistent_workers
        self.generator = generator
        streams = isinstance(dataset, IterableDataset)
        self._dataset_kind = _DatasetKind.Iterable if streams else _DatasetKind.Map
        if isinstance(dataset, IterDataPipe):
            apply_shuffle_settings(dataset, shuffle)  # what it adds is not read, as in torch
        elif streams:
            _unspecified("shuffle", shuffle or None)
        if streams:
            _unspecified("sampler", sampler)
            _unspecified("batch_sampler", batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        if sampler is None:
            if streams:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self._initialized = True

    def _batches_ahead(self, prefetch_factor: int | None, persistent_workers: bool) -> int | None:
        """The value of ``prefetch_factor``, after the checks of what needs workers."""
        if self.num_workers == 0:
            self._only_with_workers(
                "prefetch_factor option could only be specified in multiprocessing", prefetch_factor
            )
            self._only_with_workers(
                "persistent_workers option needs num_workers > 0", persistent_workers or None
            )
            return prefetch_factor
        if prefetch_factor is None:
            return 2
        if prefetch_factor < 1:
            raise ValueError(
                "prefetch_factor option should be non-negative, and 0 fetches nothing: got "
                f"{prefetch_factor}"
            )
        return prefetch_factor

    def check_worker_number_rationality(self) -> None:
        """Warn where there are more workers than processors that this process may use."""
        affinity = getattr(os, "sched_getaffinity", None)  # which some systems lack
        processors = len(affinity(0)) if affinity else os.cpu_count()
        if processors and self.num_workers > processors:
            warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {processors}: excessive "
                "worker creation might get DataLoader running slow or even freeze"
            )

    @property
    def multiprocessing_context(self) -> Any:
        """The context of multiprocessing that starts the workers; None is the usual one."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            self._only_with_workers(
                "multiprocessing_context can only be used with multi-process loading "
                "(num_workers > 0)",
                context,
            )
            context = checked_context(context)
        self._multiprocessing_context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in _FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def _get_iterator(self) -> Any:
        """A new pass, which subclasses may replace."""
        return _Iteration(self) if self.num_workers == 0 else WorkerIteration(self)

    def __iter__(self) -> Iterator[Any]:
        if not self.persistent_workers:
            return self._get_iterator()
        kept = self._iterator
        if kept is None or kept.is_broken:
            kept = self._iterator = self._get_iterator()
        else:
            kept.restart()
        return kept

    def __len__(self) -> int:
        """The number of batches; for a stream by its own word, which may turn out wrong.

        Raises:
            TypeError: the dataset or the sampler has no length.
        """
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        samples: int = len(self.dataset)  # pyright: ignore[reportArgumentType]
        if self.batch_size is None:
            batches = samples
        elif self.drop_last:
            batches = samples // self.batch_size
        else:
            batches = -(-samples // self.batch_size)
        self._IterableDataset_len_called = batches
        return batches

    _IterableDataset_len_called: int | None = None
    _iterator: Any = None  # the pass that persistent workers serve

    def _only_with_workers(self, what: str, value: Any) -> None:
        if value is not None and self.num_workers == 0:
            raise ValueError(f"{what}, but got num_workers=0")

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler


class _Iteration:
    """One pass over a loader. An error in one batch does not end it: ``next`` goes on behind it."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.timeout != 0:
            raise AssertionError(
                f"DataLoader: a pass without workers requires timeout == 0, got {loader.timeout}"
            )
        self._pins = pins_memory(loader)
        seed_pipe(loader.dataset, seed_of_pass(loader))
        base_seed(loader)  # torch draws a seed for its workers even where there are none
        share_pipe(loader.dataset, *rank_among())
        self._loader = loader
        self._promised = loader._IterableDataset_len_called
        self._indices = iter(loader._index_sampler)
        self._fetch = fetcher(loader)
        self._done = 0

    def __iter__(self) -> _Iteration:
        return self

    def __next__(self) -> Any:
        batch = self._fetch(next(self._indices))
        self._done += 1
        warn_of_more(self._loader.dataset, self._promised, self._done)
        return pinned(batch) if self._pins else batch

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")

    def __len__(self) -> int:
        return len(self._loader._index_sampler)


class _InfiniteConstantSampler(Sampler[None]):
    """The sampler of a stream, which has no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


def _unspecified(name: str, value: Any) -> None:
    if value is not None:
        raise ValueError(
            f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
            f"{name}={value}"
        )
