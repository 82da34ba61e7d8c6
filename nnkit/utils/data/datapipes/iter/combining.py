"""Streams of several streams: behind, beside and between each other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from nnkit.utils.data.datapipes.datapipe import IterDataPipe, lengths_of
from nnkit.utils.data.datapipes.decorators import functional_datapipe


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """Streams one after the other (``concat``).

    Args:
        datapipes: the sources.

    Raises:
        ValueError: there is none.
        TypeError: one of them is no IterDataPipe.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper("ab").concat(IterableWrapper("c")))
        ['a', 'b', 'c']
    """

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = _all_streams(datapipes)

    def __iter__(self) -> Iterator[Any]:
        for datapipe in self.datapipes:
            yield from datapipe

    def __len__(self) -> int:
        return sum(lengths_of(self, self.datapipes))


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[tuple[Any, ...]]):
    """Tuples of a sample of each stream, until the first of them ends (``zip``).

    Args:
        datapipes: the sources.

    Raises:
        TypeError: one of them is no IterDataPipe.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper("ab").zip(IterableWrapper(range(9))))
        [('a', 0), ('b', 1)]
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = _all_streams(datapipes)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(lengths_of(self, self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe[Any]):
    """A sample of each stream in turn, until the first of them ends (``mux``).

    Args:
        datapipes: the sources.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper("ab").mux(IterableWrapper(range(9))))
        ['a', 0, 'b', 1]
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        yield from chain.from_iterable(zip(*self.datapipes, strict=False))

    def __len__(self) -> int:
        lengths = lengths_of(self, self.datapipes)
        return min(lengths) * len(lengths)


def _all_streams(datapipes: tuple[Any, ...]) -> tuple[Any, ...]:
    for datapipe in datapipes:
        if not isinstance(datapipe, IterDataPipe):
            raise TypeError(f"Expected all inputs to be `IterDataPipe`, got a {type(datapipe)}")
    return datapipes
