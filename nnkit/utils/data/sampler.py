"""Samplers: in which order, and in which batches, a DataLoader visits a dataset."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from nnkit.autograd.ops.creation.factories import empty
from nnkit.autograd.ops.exchange.interchange import as_tensor
from nnkit.autograd.ops.random.factories import randint, randperm
from nnkit.autograd.ops.random.sampling import multinomial
from nnkit.autograd.surface.generator import Generator
from nnkit.backend.dtype import float64, int64

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

Index = TypeVar("Index", covariant=True)

# So many indices are drawn at once with replacement, as torch does.
_CHUNK = 32


class Sampler(Generic[Index]):
    """Base of all samplers: a subclass defines ``__iter__``, and ``__len__`` where it can.

    Example:
        >>> import nnkit
        >>> from nnkit.utils.data import DataLoader, Sampler
        >>> class Backwards(Sampler):
        ...     def __iter__(self):
        ...         return iter((2, 1, 0))
        >>> list(DataLoader([10, 20, 30], sampler=Backwards()))
        [tensor([30]), tensor([20]), tensor([10])]
    """

    def __iter__(self) -> Iterator[Index]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")


class SequentialSampler(Sampler[int]):
    """All indices in their order.

    Args:
        data_source: what has the length.

    Example:
        >>> from nnkit.utils.data import SequentialSampler
        >>> list(SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices at random: a permutation, or draws with replacement.

    Args:
        data_source: what has the length.
        replacement: whether an index may come twice.
        num_samples: how many; as many as there are when not given. Beyond them a permutation
            follows the other.
        generator: where the numbers come from. Without one, each iteration draws a seed from the
            default generator, so that ``nnkit.manual_seed`` gives torch's order.

    Raises:
        TypeError: ``replacement`` is no bool.
        ValueError: ``num_samples`` is no positive int.

    Example:
        >>> from nnkit.utils.data import RandomSampler
        >>> sorted(RandomSampler("abc"))
        [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement!r}"
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                "num_samples should be a positive integer value, but got "
                f"num_samples={self.num_samples!r}"
            )

    @property
    def num_samples(self) -> int:
        """The number of indices in one iteration; the length of the data may change in between."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(int(empty((), dtype=int64).random_().item()))
        if self.replacement:
            for start in range(0, self.num_samples, _CHUNK):
                count = min(_CHUNK, self.num_samples - start)
                yield from randint(size, (count,), generator=generator).tolist()
        else:
            for _ in range(self.num_samples // size):
                yield from randperm(size, generator=generator).tolist()
            # Drawn even where nothing of it is used: the generator may be the caller's.
            rest = randperm(size, generator=generator).tolist()
            yield from rest[: self.num_samples % size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order.

    Args:
        indices: a sequence of indices.
        generator: where the permutation comes from; the default generator when not given.

    Example:
        >>> from nnkit.utils.data import SubsetRandomSampler
        >>> sorted(SubsetRandomSampler([5, 3]))
        [3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given probabilities (``multinomial``).

    Args:
        weights: one number for each index, which need not sum to 1.
        num_samples: how many indices to draw.
        replacement: whether an index may come twice.
        generator: where the numbers come from; the default generator when not given.

    Raises:
        ValueError: ``num_samples`` is no positive int, ``replacement`` no bool, or ``weights``
            not one-dimensional.

    Example:
        >>> from nnkit.utils.data import WeightedRandomSampler
        >>> list(WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Any = None,
    ) -> None:
        if not _positive_int(num_samples):
            raise ValueError(
                "num_samples should be a positive integer value, but got "
                f"num_samples={num_samples!r}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement!r}"
            )
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.ndim != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists.

    Args:
        sampler: an iterable of indices.
        batch_size: how many indices a list has.
        drop_last: whether a shorter last list is left out.

    Raises:
        ValueError: ``batch_size`` is no positive int, or ``drop_last`` no bool.

    Example:
        >>> from nnkit.utils.data import BatchSampler
        >>> list(BatchSampler(range(5), 2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        if not _positive_int(batch_size):
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size!r}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(
                f"drop_last should be a boolean value, but got drop_last={drop_last!r}"
            )
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        size: int = len(self.sampler)  # pyright: ignore[reportArgumentType]
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)


def _positive_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
