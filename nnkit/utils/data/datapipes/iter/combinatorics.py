"""Streams in another order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sized
from typing import Any

from nnkit.utils.data.datapipes.datapipe import IterDataPipe, lengths_of
from nnkit.utils.data.datapipes.decorators import functional_datapipe
from nnkit.utils.data.datapipes.utils.common import StreamWrapper
from nnkit.utils.data.fetch import draw_seed
from nnkit.utils.data.sampler import SequentialSampler


class SamplerIterDataPipe(IterDataPipe[Any]):
    """The indices that a sampler gives for a stream with a length.

    Args:
        datapipe: what has the length.
        sampler: the class of the sampler.
        sampler_args: its arguments.
        sampler_kwargs: its arguments by name.

    Raises:
        AssertionError: the stream has no length.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper, Sampler
        >>> list(Sampler(IterableWrapper("abc")))
        [0, 1, 2]
    """

    def __init__(
        self,
        datapipe: Any,
        sampler: Any = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe = datapipe
        self.sampler_args = sampler_args or ()
        self.sampler_kwargs = {**(sampler_kwargs or {}), "data_source": datapipe}
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return lengths_of(self, [self.sampler])[0]


class RandomOrder(IterDataPipe[Any]):
    """The base of streams in a random order, whose seed is set for the next pass.

    A pass without one draws it from the default generator.
    """

    def __init__(self, datapipe: Any) -> None:
        self.datapipe = datapipe
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> Any:
        """Whether the order is random; gives the pipe itself."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Any:
        """The seed of the next pass; gives the pipe itself."""
        self._seed = seed
        return self

    def reset(self) -> None:
        if self._enabled:
            self._rng.seed(draw_seed() if self._seed is None else self._seed)
            self._seed = None

    def __len__(self) -> int:
        return lengths_of(self, [self.datapipe])[0]


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(RandomOrder):
    """The samples at random, each taken from a buffer of those that come next (``shuffle``).

    Args:
        datapipe: the source.
        buffer_size: how many wait; as many as there are for any order, 1 for that of the source.
        unbatch_level: how many levels of batches are undone before.

    Raises:
        AssertionError: nothing may wait.

    Example:
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(5)).shuffle().set_seed(0))
        [3, 4, 0, 2, 1]
    """

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        super().__init__(datapipe.unbatch(unbatch_level) if unbatch_level else datapipe)
        self.buffer_size = buffer_size
        self._buffer: list[Any] = []

    def reset(self) -> None:
        super().reset()
        self._buffer = []

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        buffer, draw = self._buffer, self._rng.randrange
        for sample in self.datapipe:
            if len(buffer) == self.buffer_size:
                place = draw(len(buffer))
                buffer[place], sample = sample, buffer[place]
                yield sample
            else:
                buffer.append(sample)
        while buffer:
            yield buffer.pop(draw(len(buffer)))

    def __del__(self) -> None:
        StreamWrapper.close_streams(vars(self).get("_buffer"))
