"""Maps of samples that are made of others, each by a method of data pipes or by its class."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sized
from typing import Any

from nnkit.backend.warning import warn
from nnkit.utils.data.datapipes.datapipe import MapDataPipe
from nnkit.utils.data.datapipes.decorators import functional_datapipe
from nnkit.utils.data.datapipes.iter.combinatorics import RandomOrder
from nnkit.utils.data.datapipes.iter.grouping import Batches
from nnkit.utils.data.datapipes.utils.common import _check_unpickable_fn

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapperMapDataPipe(MapDataPipe[Any]):
    """The samples of a sequence or a mapping.

    Args:
        sequence: what has the samples.
        deepcopy: whether it is copied now; what cannot be copied is kept, with a warning.

    Example:
        >>> from nnkit.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper("abc")[1]
        'b'
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warn(
                    "SequenceWrapper: the input cannot be deep-copied, so that changes of it are "
                    "seen; deepcopy=False does not try it"
                )

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


def default_fn(data: Any) -> Any:
    """The sample itself."""
    return data


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe[Any]):
    """The results of a function for each sample (``map``).

    Args:
        datapipe: the source.
        fn: the function; nothing is changed when it is not given.

    Example:
        >>> from nnkit.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper("abc").map(str.upper)[0]
        'A'
    """

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any] = default_fn) -> None:
        _check_unpickable_fn(fn)
        self.datapipe = datapipe
        self.fn = fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class BatcherMapDataPipe(Batches, MapDataPipe[Any]):
    """Batches of samples whose indices follow each other (``batch``).

    Args:
        datapipe: the source, whose indices count from 0.
        batch_size: samples in a batch.
        drop_last: whether a shorter last batch is left out.
        wrapper_class: from a list of samples to a batch.

    Raises:
        AssertionError: nothing is to be in a batch.

    Example:
        >>> from nnkit.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper(range(5)).batch(2)[1]
        [2, 3]
    """

    def __getitem__(self, index: int) -> Any:
        batch: list[Any] = []
        try:
            for place in range(index * self.batch_size, (index + 1) * self.batch_size):
                batch.append(self.datapipe[place])
        except IndexError:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from None
        return self.wrapper_class(batch)


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe[Any]):
    """Maps one after the other (``concat``).

    Args:
        datapipes: the sources, whose indices count from 0.

    Raises:
        ValueError: there is none.
        TypeError: one of them is no MapDataPipe, or has no length.

    Example:
        >>> from nnkit.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper("ab").concat(SequenceWrapper("c"))[2]
        'c'
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = _all_maps(datapipes)

    def __getitem__(self, index: int) -> Any:
        within = index
        for datapipe in self.datapipes:
            if within < len(datapipe):
                return datapipe[within]
            within -= len(datapipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe[tuple[Any, ...]]):
    """Tuples of the samples that maps have at one index (``zip``).

    Args:
        datapipes: the sources.

    Raises:
        ValueError: there is none.
        TypeError: one of them is no MapDataPipe, or has no length.

    Example:
        >>> from nnkit.utils.data.datapipes.map import SequenceWrapper
        >>> SequenceWrapper("ab").zip(SequenceWrapper(range(9)))[1]
        ('b', 1)
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = _all_maps(datapipes)

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        try:
            return tuple([datapipe[index] for datapipe in self.datapipes])
        except IndexError as error:
            raise IndexError(f"Index {index} is out of range for one of the inputs") from error

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


def _all_maps(datapipes: tuple[Any, ...]) -> tuple[Any, ...]:
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    for datapipe in datapipes:
        if not isinstance(datapipe, MapDataPipe):
            raise TypeError(f"Expected all inputs to be `MapDataPipe`, got a {type(datapipe)}")
        if not isinstance(datapipe, Sized):
            raise TypeError(f"Expected all inputs to be `Sized`, got a {type(datapipe)}")
    return datapipes


class ShufflerIterDataPipe(RandomOrder):
    """The stream of the samples of a map at random (``shuffle``).

    Args:
        datapipe: the source.
        indices: those of the source; 0 up to its length when not given.

    Example:
        >>> from nnkit.utils.data.datapipes.map import SequenceWrapper
        >>> list(SequenceWrapper("abcde").shuffle().set_seed(0))
        ['c', 'b', 'a', 'e', 'd']
    """

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        super().__init__(datapipe)
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._shuffled_indices: list[Any] = []

    def reset(self) -> None:
        super().reset()
        if self._enabled:
            self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))
        else:
            self._shuffled_indices = self.indices[::-1]

    def __iter__(self) -> Iterator[Any]:
        while self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)

Batcher = BatcherMapDataPipe
Concater = ConcaterMapDataPipe
Mapper = MapperMapDataPipe
SequenceWrapper = SequenceWrapperMapDataPipe
Shuffler = ShufflerIterDataPipe
Zipper = ZipperMapDataPipe
