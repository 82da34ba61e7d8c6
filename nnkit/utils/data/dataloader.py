"""`DataLoader`: batches of a dataset, in this process."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from nnkit.autograd import Tensor
from nnkit.autograd.ops.creation import empty
from nnkit.autograd.ops.interchange import tensor
from nnkit.backend.dtype import int64
from nnkit.cuda import is_available
from nnkit.utils.data.collate import default_collate, default_convert, pinned
from nnkit.utils.data.dataset import IterableDataset, Subset, TensorDataset, samples_at
from nnkit.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "get_worker_info"]

Sample = TypeVar("Sample", covariant=True)

_FIXED = {
    "batch_sampler", "batch_size", "dataset", "drop_last", "persistent_workers", "sampler",
}  # fmt: skip


class DataLoader(Generic[Sample]):
    """Iterates over a dataset in batches.

    Args:
        dataset: a map (``__getitem__`` and ``__len__``) or an IterableDataset.
        batch_size: samples in a batch; None gives the samples themselves.
        shuffle: whether every iteration has a new random order.
        sampler: an iterable of indices, instead of ``shuffle``.
        batch_sampler: an iterable of lists of indices, instead of ``batch_size``, ``shuffle``,
            ``sampler`` and ``drop_last``.
        num_workers: 0, since samples are loaded in this process.
        collate_fn: samples to a batch; ``default_collate`` when not given.
        pin_memory: whether the tensors of a batch lie in page-locked memory, from which
            ``to("cuda", non_blocking=True)`` copies while the GPU computes.
        drop_last: whether a shorter last batch is left out.
        timeout: for workers; 0.
        worker_init_fn: for workers; not called.
        multiprocessing_context: for workers; None.
        generator: where the order comes from; the default generator when not given.
        prefetch_factor: for workers; None.
        persistent_workers: for workers; False.
        pin_memory_device: accepted; page-locked memory serves all GPUs.
        in_order: for workers; without effect.

    With the same seed the batches come in torch's order, and the generator goes on in torch's
    state: one draw when an iteration starts, one for the seed of a permutation.

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
        if num_workers != 0:
            raise ValueError(
                f"DataLoader: num_workers must be 0, got {num_workers}: "
                "loading in worker processes comes with a later release"
            )
        if timeout < 0:
            raise ValueError(f"DataLoader: timeout must not be negative, got {timeout}")
        _only_with_workers("prefetch_factor", prefetch_factor)
        _only_with_workers("persistent_workers", persistent_workers or None)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.persistent_workers = persistent_workers
        self.generator = generator
        streams = isinstance(dataset, IterableDataset)
        if streams:
            _unspecified("shuffle", shuffle or None)
            _unspecified("sampler", sampler)
            _unspecified("batch_sampler", batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler and shuffle exclude each other")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("DataLoader: drop_last needs a batch_size, got batch_size=None")
        if sampler is None:
            if streams:
                sampler = _EndlessSampler()
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

    def __setattr__(self, name: str, value: Any) -> None:
        if self._initialized and name in _FIXED:
            raise ValueError(f"DataLoader: {name} cannot change after the loader was made")
        if name == "multiprocessing_context":
            _only_with_workers(name, value)
        super().__setattr__(name, value)

    def __iter__(self) -> Iterator[Any]:
        return _Iteration(self)

    def __len__(self) -> int:
        """The number of batches; for a stream by its own word, which may turn out wrong.

        Raises:
            TypeError: the dataset or the sampler has no length.
        """
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        samples: int = len(self.dataset)  # pyright: ignore[reportArgumentType]
        if self.batch_size is None:
            batches = samples
        elif self.drop_last:
            batches = samples // self.batch_size
        else:
            batches = -(-samples // self.batch_size)
        self._promised = batches
        return batches

    _promised: int | None = None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler


class _Iteration:
    """One pass over a loader. An error in one batch does not end it: ``next`` goes on behind it."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.timeout != 0:
            raise AssertionError(f"DataLoader: a timeout needs workers, got {loader.timeout}")
        self._pins = loader.pin_memory and is_available()
        if loader.pin_memory and not self._pins:
            warnings.warn(
                "DataLoader: pin_memory=True has no effect, since there is no GPU", stacklevel=3
            )
        # torch draws a seed for its workers even where there are none.
        self._base_seed = int(empty((), dtype=int64).random_(generator=loader.generator).item())
        self._loader = loader
        self._indices = iter(loader._index_sampler)
        self._fetch = _fetcher(loader)
        self._done = 0

    def __iter__(self) -> _Iteration:
        return self

    def __next__(self) -> Any:
        batch = self._fetch(next(self._indices))
        self._done += 1
        promised = self._loader._promised
        if promised is not None and self._done > promised:
            warnings.warn(
                f"DataLoader: the dataset promised {promised} batches by its length, "
                f"this is number {self._done}",
                stacklevel=2,
            )
        return pinned(batch) if self._pins else batch

    def __len__(self) -> int:
        return len(self._loader._index_sampler)


def _fetcher(loader: DataLoader[Any]) -> Callable[[Any], Any]:
    """The function from what the sampler gives to what the user gets."""
    dataset, collate = loader.dataset, loader.collate_fn
    batched = loader.batch_sampler is not None
    if isinstance(dataset, IterableDataset):
        stream = iter(dataset)

        def from_stream(indices: Any) -> Any:
            if not batched:
                return collate(next(stream))
            samples = list(itertools.islice(stream, len(indices)))
            if not samples or (loader.drop_last and len(samples) < len(indices)):
                raise StopIteration
            return collate(samples)

        return from_stream
    if not batched:
        return lambda index: collate(dataset[index])
    gather = _gather(dataset) if collate is default_collate else None
    if gather is not None:
        return gather
    return lambda indices: collate(samples_at(dataset, indices))


def _gather(dataset: Any) -> Callable[[Any], list[Tensor]] | None:
    """What default_collate makes of rows of tensors, by one gather for each tensor.

    64 rows of 784 numbers take 75 us instead of 800.
    """
    if type(dataset) is TensorDataset:

        def rows(indices: Any) -> list[Tensor]:
            index = tensor([operator.index(i) for i in indices], dtype=int64)
            return [column[index] for column in dataset.tensors]

        return rows
    if type(dataset) is Subset:
        inner = _gather(dataset.dataset)
        if inner is not None:
            return lambda indices: inner([dataset.indices[i] for i in indices])
    return None


class _EndlessSampler(Sampler[None]):
    """What a stream is drawn with: it has no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


def get_worker_info() -> None:
    """What a worker process knows of itself: None, as in the main process.

    Example:
        >>> import nnkit
        >>> nnkit.utils.data.get_worker_info() is None
        True
    """
    return None


def _only_with_workers(name: str, value: Any) -> None:
    if value is not None:
        raise ValueError(f"DataLoader: {name} needs num_workers > 0, got {name}={value!r}")


def _unspecified(name: str, value: Any) -> None:
    if value is not None:
        raise ValueError(f"DataLoader: an IterableDataset has its own order, got {name}={value!r}")
