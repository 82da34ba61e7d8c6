"""Streams of batches and of groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nnkit.utils.data.datapipes.datapipe import DataChunk, IterDataPipe, lengths_of
from nnkit.utils.data.datapipes.decorators import functional_datapipe
from nnkit.utils.data.datapipes.utils.common import _check_unpickable_fn


class Batches:
    """What streams and maps of batches share: what they are made of, and how many there are."""

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __len__(self) -> int:
        (samples,) = lengths_of(self, [self.datapipe])
        size = self.batch_size
        return samples // size if self.drop_last else -(-samples // size)


@functional_datapipe("batch")
class BatcherIterDataPipe(Batches, IterDataPipe[Any]):
    """Batches of samples that follow each other (``batch``).

    Args:
        datapipe: the source.
        batch_size: samples in a batch.
        drop_last: whether a shorter last batch is left out.
        wrapper_class: from a list of samples to a batch.

    Raises:
        AssertionError: nothing is to be in a batch.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(5)).batch(2))
        [[0, 1], [2, 3], [4]]
    """

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """The elements of batches (``unbatch``).

    Args:
        datapipe: the source.
        unbatch_level: how many levels of lists are undone; -1 for all.

    Raises:
        ValueError: (in a pass) the level is below -1.
        IndexError: (in a pass) there are fewer levels.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper([[[0, 1]], [[2]]]).unbatch(2))
        [0, 1, 2]
    """

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            if self.unbatch_level < -1:
                raise ValueError("unbatch_level must be -1 or >= 0")
            yield from self._elements(sample, self.unbatch_level)

    def _elements(self, sample: Any, levels: int) -> Iterator[Any]:
        is_batch = isinstance(sample, list)
        if levels == 0 or (levels == -1 and not is_batch):
            yield sample
        elif is_batch:
            for element in sample:
                yield from self._elements(element, max(levels - 1, -1))
        else:
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe"
            )


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Groups of samples with the same key (``groupby``).

    A group is given as soon as it has ``group_size`` samples, the largest one when the buffer is
    full, and the others at the end.

    Args:
        datapipe: the source.
        group_key_fn: from a sample to its key.
        keep_key: whether the key is given with the group, in a tuple.
        buffer_size: how many samples wait for others of their group.
        group_size: the largest size of a group.
        guaranteed_group_size: the least size of a group when the buffer is full; ``group_size``
            when not given.
        drop_remaining: whether a smaller group is left out then; otherwise it is an error.

    Raises:
        AssertionError: a size is out of range.
        RuntimeError: (in a pass) the buffer is full, and no group is large enough.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper("aBcD").groupby(str.isupper))
        [['a', 'c'], ['B', 'D']]
    """

    def __init__(
        self,
        datapipe: Any,
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        _check_unpickable_fn(group_key_fn)
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        least = guaranteed_group_size
        if least is not None and (group_size is None or not 0 < least <= group_size):
            raise AssertionError(
                "guaranteed_group_size must be > 0 and <= group_size and group_size must be set"
            )
        self.datapipe = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self.group_size = group_size
        self.guaranteed_group_size = group_size if least is None else least
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk

    def __iter__(self) -> Iterator[Any]:
        waiting: dict[Any, list[Any]] = {}
        buffered = 0
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            group = waiting.setdefault(key, [])
            group.append(sample)
            buffered += 1
            complete = len(group) == self.group_size
            if not complete and buffered != self.max_buffer_size:
                continue
            if not complete:
                key = max(waiting, key=lambda key: len(waiting[key]))
            group = waiting.pop(key)
            buffered -= len(group)
            if len(group) >= (self.guaranteed_group_size or 0):
                yield self._given(key, group)
            elif not self.drop_remaining:
                raise RuntimeError("Failed to group items", str(group))
        for key, group in waiting.items():
            yield self._given(key, group)

    def _given(self, key: Any, group: list[Any]) -> Any:
        chunk = self.wrapper_class(group)
        return (key, chunk) if self.keep_key else chunk
