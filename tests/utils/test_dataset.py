"""Datasets and their splits."""

from __future__ import annotations

import operator
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises
from tests.utils.samples import lists, stream


def test_dataset(lib: ModuleType, data: Any) -> None:
    with pytest.raises(NotImplementedError, match="Subclasses of Dataset should implement"):
        data.Dataset()[0]
    with raises(lib, TypeError, "no len"):
        len(data.Dataset())
    with raises(lib, TypeError, "abstract"):
        data.IterableDataset()
    assert data.Dataset[int] is not None and data.DataLoader[int] is not None


def test_tensor_dataset(lib: ModuleType, data: Any) -> None:
    pairs = data.TensorDataset(lib.arange(4), lib.zeros(4, 2))
    assert len(pairs) == 4 and lists(pairs[2]) == [2, [0.0, 0.0]]
    assert type(pairs[2]) is tuple and lists(pairs[1:3])[0] == [1, 2]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(lib.ones(2), lib.ones(3))
    with raises(lib, IndexError, "index"):
        data.TensorDataset(lib.ones(()))


def test_stack_dataset(lib: ModuleType, data: Any) -> None:
    by_name = data.StackDataset(x=[1, 2], y="ab")
    assert by_name[1] == {"x": 2, "y": "b"} and len(by_name) == 2
    assert by_name.__getitems__([1, 0]) == [{"x": 2, "y": "b"}, {"x": 1, "y": "a"}]
    nested = data.StackDataset(by_name, [5, 6])
    assert nested[0] == ({"x": 1, "y": "a"}, 5)
    assert nested.__getitems__([1]) == [({"x": 2, "y": "b"}, 6)]
    with pytest.raises(ValueError, match="At least one dataset should be passed"):
        data.StackDataset()
    with pytest.raises(ValueError, match="Supported either"):
        data.StackDataset([1], a=[1])
    for arguments in (([1], [1, 2]), ()):
        names = {} if arguments else {"a": [1], "b": [1, 2]}
        with pytest.raises(ValueError, match="Size mismatch between datasets"):
            data.StackDataset(*arguments, **names)

    class Short(list):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [1]

    with pytest.raises(ValueError, match="output size mismatch. Expected 2, got 1"):
        data.StackDataset(Short([1, 2])).__getitems__([0, 1])


def test_concat_dataset(lib: ModuleType, data: Any) -> None:
    both = data.ConcatDataset([[1, 2], [], [3]])
    assert [both[i] for i in (0, 1, 2, -1, -3)] == [1, 2, 3, 3, 1]
    assert len(both) == 3 and both.cumulative_sizes == [2, 2, 3]
    half = data.TensorDataset(lib.arange(2))
    assert lists((half + half)[3]) == [1]
    with raises(lib, IndexError, "index"):
        both[3]
    with pytest.raises(
        ValueError, match="absolute value of index should not exceed dataset length"
    ):
        both[-4]
    with pytest.raises(AssertionError, match="datasets should not be an empty iterable"):
        data.ConcatDataset([])
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        operator.add(half, stream(data, 3))


def test_chain_dataset(lib: ModuleType, data: Any) -> None:
    chained = stream(data, 2) + stream(data, 3)
    assert list(chained) == [0, 1, 0, 1, 2] and list(chained) == [0, 1, 0, 1, 2]
    assert len(stream(data, 2, 2) + stream(data, 3, 3)) == 5
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(stream(data, 2) + [1])
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        len(stream(data, 2, 2) + [1])


def test_subset(lib: ModuleType, data: Any) -> None:
    rows = data.TensorDataset(lib.arange(10))
    part = data.Subset(rows, [5, 7, 9])
    assert len(part) == 3 and lists(part[1]) == [7]
    assert lists(part[[0, 2]]) == [[5, 9]] and lists(part.__getitems__([2])) == [[9]]
    inner = data.Subset(data.StackDataset("abc"), [2, 0])
    assert inner.__getitems__([0]) == [("c",)]
    with raises(lib, IndexError, "index"):
        part[3]

    class Half(data.Subset):
        def __getitem__(self, index: Any) -> Any:
            return super().__getitem__(index) / 2

    class Whole(Half):
        def __getitems__(self, indices: list[int]) -> list[Any]:
            return [self[i] for i in indices]

    with pytest.raises(NotImplementedError, match="Half overrides __getitem__ but not __getitem"):
        Half([2, 4], [1])
    assert lists(list(data.DataLoader(Whole([2, 4], [1])))) == [[2.0]]


@pytest.mark.parametrize(
    ("size", "lengths", "sizes"),
    [
        (10, [3, 7], [3, 7]),
        (10, [0.3, 0.3, 0.4], [3, 3, 4]),
        (10, [0.75, 0.25], [8, 2]),
        (7, [0.5, 0.5], [4, 3]),
        (1, [1], [1]),
        (5, [1], [5]),
    ],
)
def test_random_split(
    lib: ModuleType, data: Any, size: int, lengths: Any, sizes: list[int]
) -> None:
    parts = data.random_split(range(size), lengths)
    assert [len(part) for part in parts] == sizes
    assert sorted(index for part in parts for index in part.indices) == list(range(size))


def test_random_split_refuses(lib: ModuleType, data: Any) -> None:
    for lengths in ([3, 3], [0.5, 0.4], []):
        with pytest.raises(ValueError, match="Sum of input lengths does not equal the length of"):
            data.random_split(range(10), lengths)
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        data.random_split(range(10), [1.2, -0.2])
    with raises(lib, TypeError, "."):
        data.random_split(range(10), [5.0, 5.0])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(range(3), [0.1, 0.1, 0.8])
