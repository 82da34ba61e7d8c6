"""The stream of anything that can be iterated."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

from nnkit.backend.warning import warn
from nnkit.utils.data.datapipes.datapipe import IterDataPipe, lengths_of


class IterableWrapperIterDataPipe(IterDataPipe[Any]):
    """The samples of an iterable.

    Args:
        iterable: anything that can be iterated.
        deepcopy: whether each pass reads a copy of it, so that a change of a sample does not
            reach the next pass; what cannot be copied is read itself, with a warning.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(3)))
        [0, 1, 2]
    """

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(self.iterable)
            except TypeError:
                warn(
                    "IterableWrapper: the input cannot be deep-copied, so that a change of a "
                    "sample in place reaches the next pass; deepcopy=False does not try it"
                )
        yield from source

    def __len__(self) -> int:
        return lengths_of(self, [self.iterable])[0]
