"""Datasets: what a DataLoader draws samples from."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from nnkit.autograd import Tensor
from nnkit.autograd.ops.random.factories import randperm
from nnkit.backend.warning import warn

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

Sample = TypeVar("Sample", covariant=True)


class Dataset(Generic[Sample]):
    """A map from an index to a sample: a subclass defines ``__getitem__`` and ``__len__``.

    A subclass may also define ``__getitems__``, which takes a list of indices and returns a list
    of samples. Two datasets are joined by ``+``.

    Example:
        >>> from nnkit.utils.data import Dataset
        >>> class Squares(Dataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, index):
        ...         return index ** 2
        >>> both = Squares() + Squares()
        >>> len(both), both[4]
        (6, 1)
    """

    def __getitem__(self, index: Any) -> Sample:
        raise NotImplementedError(
            "Subclasses of Dataset should implement __getitem__, which "
            f"{type(self).__name__} does not"
        )

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Sample], Iterable[Sample]):
    """A stream of samples: a subclass defines ``__iter__``. Two streams are joined by ``+``.

    Example:
        >>> import nnkit
        >>> from nnkit.utils.data import DataLoader, IterableDataset
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(4))
        >>> list(DataLoader(Count(), batch_size=2))
        [tensor([0, 1]), tensor([2, 3])]
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # pyright: ignore
        return ChainDataset([self, other])


def samples_at(dataset: Any, indices: list[Any]) -> list[Any]:
    """The samples at several indices, by the dataset's own ``__getitems__`` where it has one."""
    if callable(getattr(dataset, "__getitems__", None)):
        return dataset.__getitems__(indices)
    return [dataset[index] for index in indices]


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of equal length, a sample being a tuple of one row of each.

    Args:
        tensors: tensors whose first dimensions agree.

    Raises:
        AssertionError: the lengths differ.

    Example:
        >>> import nnkit
        >>> from nnkit.utils.data import TensorDataset
        >>> TensorDataset(nnkit.arange(4), nnkit.zeros(4))[2]
        (tensor(2), tensor(0.))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        lengths = [tensor.shape[0] for tensor in tensors]
        if len(set(lengths)) > 1:
            raise AssertionError(f"Size mismatch between tensors: lengths {lengths}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """Datasets of equal length side by side: a sample holds one sample of each.

    Args:
        args: datasets; a sample is a tuple.
        kwargs: datasets by name, instead; a sample is a dictionary.

    Raises:
        ValueError: both or none were given, or the lengths differ.

    Example:
        >>> import nnkit
        >>> from nnkit.utils.data import StackDataset
        >>> StackDataset(x=[1, 2], y=["a", "b"])[1]
        {'x': 2, 'y': 'b'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not (args or kwargs):
            raise ValueError("StackDataset: At least one dataset should be passed")
        if args and kwargs:
            raise ValueError(
                "StackDataset: Supported either tuple- (via args) or dict- (via kwargs) like "
                "datasets, but both are given"
            )
        self.datasets = args or kwargs
        lengths = [len(dataset) for dataset in self._all()]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: lengths {lengths}")
        self._length = lengths[0]

    def _all(self) -> Iterable[Any]:
        return self.datasets.values() if isinstance(self.datasets, dict) else self.datasets

    def _combine(self, parts: Iterable[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, parts, strict=True))
        return tuple(parts)

    def __getitem__(self, index: Any) -> Any:
        return self._combine(dataset[index] for dataset in self._all())

    def __getitems__(self, indices: list[int]) -> list[Any]:
        columns = []
        for dataset in self._all():
            column = samples_at(dataset, indices)
            if len(column) != len(indices):
                raise ValueError(
                    "Nested dataset's output size mismatch. Expected "
                    f"{len(indices)}, got {len(column)} of {type(dataset).__name__}.__getitems__"
                )
            columns.append(column)
        return [self._combine(parts) for parts in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Any]):
    """Datasets one after the other.

    Args:
        datasets: datasets with a length.

    Raises:
        AssertionError: there is none, or one of them is an IterableDataset.
        ValueError: (on indexing) a negative index reaches beyond the first sample.

    Example:
        >>> from nnkit.utils.data import ConcatDataset
        >>> ConcatDataset([[1, 2], [3]])[-1]
        3
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset: datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset: it has no index")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The running sum of the lengths."""
        return list(itertools.accumulate(len(element) for element in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old name of ``cumulative_sizes``."""
        warn("cummulative_sizes is renamed: use cumulative_sizes", FutureWarning)
        return self.cumulative_sizes

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError(
                    "ConcatDataset: absolute value of index should not exceed dataset length "
                    f"{len(self)}, got {index}"
                )
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        if which:
            index -= self.cumulative_sizes[which - 1]
        return self.datasets[which][index]


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other.

    Args:
        datasets: iterable datasets.

    Raises:
        AssertionError: (on iteration or ``len``) one of them is no IterableDataset.

    Example:
        >>> import nnkit
        >>> from nnkit.utils.data import ChainDataset, IterableDataset
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(2))
        >>> list(ChainDataset([Count(), Count()]))
        [0, 1, 0, 1]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}"
                )
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self._checked())

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[Sample]):
    """The samples of a dataset at some indices.

    Args:
        dataset: a dataset with an index.
        indices: which samples, in which order.

    Raises:
        NotImplementedError: a subclass has a ``__getitem__`` of its own, but no ``__getitems__``,
            which a DataLoader would call.

    Example:
        >>> from nnkit.utils.data import Subset
        >>> list(Subset("abcd", [3, 0]))
        ['d', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        own = type(self)
        if own.__getitem__ is not Subset.__getitem__ and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{own.__name__} overrides __getitem__ but not __getitems__, which a DataLoader "
                "would call: it may be [self[index] for index in indices]"
            )
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        return samples_at(self.dataset, [self.indices[index] for index in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Any = None
) -> list[Subset]:
    """Divide a dataset at random into subsets without overlap.

    Args:
        dataset: a dataset with a length.
        lengths: the sizes of the parts, or fractions that sum to 1; what rounding leaves over
            goes to the parts one by one, from the first.
        generator: where the permutation comes from; the default generator when not given.

    Raises:
        ValueError: the sizes do not sum to the dataset's length, or a fraction is not in [0, 1].

    Example:
        >>> import nnkit
        >>> from nnkit.utils.data import random_split
        >>> [len(part) for part in random_split(range(10), [0.75, 0.25])]
        [8, 2]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        sizes = []
        for position, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(
                    f"Fraction at index {position} is not between 0 and 1: got {fraction}"
                )
            sizes.append(math.floor(len(dataset) * fraction))
        for position in range(len(dataset) - sum(sizes)):
            sizes[position % len(sizes)] += 1
        for position, size in enumerate(sizes):
            if size == 0:
                warn(f"Length of split at index {position} is 0")
    else:
        sizes = list(lengths)
    if sum(sizes) != len(dataset):
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset: got "
            f"{list(lengths)} for {len(dataset)}"
        )
    indices = randperm(sum(sizes), generator=generator).tolist()
    ends = itertools.accumulate(sizes)
    return [
        Subset(dataset, indices[end - size : end]) for end, size in zip(ends, sizes, strict=True)
    ]
