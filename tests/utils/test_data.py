"""Datasets, samplers, collate and DataLoader."""

from __future__ import annotations

import operator
from array import array
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
import nnkit.utils.data
from tests.frameworks import raises

Point = namedtuple("Point", "x y")


@pytest.fixture
def data(lib: ModuleType) -> Any:
    __import__(f"{lib.__name__}.utils.data")
    return lib.utils.data


def stream(data: Any, size: int, length: int | None = None) -> Any:
    class Stream(data.IterableDataset):
        def __iter__(self) -> Iterator[int]:
            return iter(range(size))

    class Measured(Stream):
        def __len__(self) -> int:
            assert length is not None
            return length

    return Stream() if length is None else Measured()


def lists(value: Any) -> Any:
    """Tensors inside a structure as lists."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, dict):
        return {key: lists(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [lists(item) for item in value]
    return value


# Datasets


def test_dataset(lib: ModuleType, data: Any) -> None:
    with raises(lib, NotImplementedError, "__getitem__"):
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
    with raises(lib, AssertionError, r"different lengths \[2, 3\]"):
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
    with raises(lib, ValueError, "either by position or by name"):
        data.StackDataset()
    with raises(lib, ValueError, "either by position or by name"):
        data.StackDataset([1], a=[1])
    for arguments in (([1], [1, 2]), ()):
        names = {} if arguments else {"a": [1], "b": [1, 2]}
        with raises(lib, ValueError, r"different lengths \[1, 2\]"):
            data.StackDataset(*arguments, **names)

    class Short(list):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [1]

    with raises(lib, ValueError, "returned 1 samples for 2 indices"):
        data.StackDataset(Short([1, 2])).__getitems__([0, 1])


def test_concat_dataset(lib: ModuleType, data: Any) -> None:
    both = data.ConcatDataset([[1, 2], [], [3]])
    assert [both[i] for i in (0, 1, 2, -1, -3)] == [1, 2, 3, 3, 1]
    assert len(both) == 3 and both.cumulative_sizes == [2, 2, 3]
    half = data.TensorDataset(lib.arange(2))
    assert lists((half + half)[3]) == [1]
    with raises(lib, IndexError, "index"):
        both[3]
    with raises(lib, ValueError, "index -4 is out of range of 3"):
        both[-4]
    with raises(lib, AssertionError, "at least one"):
        data.ConcatDataset([])
    with raises(lib, AssertionError, "has no index"):
        operator.add(half, stream(data, 3))


def test_chain_dataset(lib: ModuleType, data: Any) -> None:
    chained = stream(data, 2) + stream(data, 3)
    assert list(chained) == [0, 1, 0, 1, 2] and list(chained) == [0, 1, 0, 1, 2]
    assert len(stream(data, 2, 2) + stream(data, 3, 3)) == 5
    with raises(lib, AssertionError, "an IterableDataset is expected, got list"):
        list(stream(data, 2) + [1])
    with raises(lib, AssertionError, "an IterableDataset is expected, got list"):
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
        with raises(lib, ValueError, "do not sum to that of the dataset, 10"):
            data.random_split(range(10), lengths)
    with raises(lib, ValueError, r"fraction 0 is 1.2, not in \[0, 1\]"):
        data.random_split(range(10), [1.2, -0.2])
    with raises(lib, TypeError, "."):
        data.random_split(range(10), [5.0, 5.0])
    with pytest.warns(UserWarning, match="1 is (empty|0)"):
        data.random_split(range(3), [0.1, 0.1, 0.8])


# Samplers


def test_samplers(lib: ModuleType, data: Any) -> None:
    assert list(data.SequentialSampler("abc")) == [0, 1, 2]
    assert len(data.SequentialSampler("abc")) == 3
    assert sorted(data.RandomSampler("abc")) == [0, 1, 2]
    assert len(data.RandomSampler("abc", num_samples=7)) == 7
    twice = list(data.RandomSampler("abc", num_samples=7))
    assert len(twice) == 7 and sorted(twice[:3]) == sorted(twice[3:6]) == [0, 1, 2]
    drawn = list(data.RandomSampler("abc", replacement=True, num_samples=70))
    assert len(drawn) == 70 and set(drawn) == {0, 1, 2}
    assert sorted(data.SubsetRandomSampler([5, 3])) == [3, 5]
    assert len(data.SubsetRandomSampler([5, 3])) == 2 and not list(data.SubsetRandomSampler([]))
    weighted = data.WeightedRandomSampler([0.0, 1.0, 1.0], 20)
    assert len(weighted) == len(list(weighted)) == 20 and set(weighted) <= {1, 2}
    assert sorted(data.WeightedRandomSampler([1.0, 2.0], 2, replacement=False)) == [0, 1]
    with raises(lib, NotImplementedError, "__iter__"):
        iter(data.Sampler())


def test_batch_sampler(data: Any) -> None:
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(data.BatchSampler(range(5), 2, False)) == 3
    assert len(data.BatchSampler(range(5), 2, True)) == 2
    assert list(data.BatchSampler(range(4), 2, False)) == [[0, 1], [2, 3]]
    assert list(data.BatchSampler([], 2, False)) == []


@pytest.mark.parametrize(
    ("name", "arguments", "error", "match"),
    [
        ("RandomSampler", ("",), ValueError, "num_samples must be a positive int, got 0"),
        ("RandomSampler", ("ab", 3), TypeError, "replacement must be a bool, got 3"),
        ("RandomSampler", ("ab", False, -1), ValueError, "num_samples must be a positive int"),
        ("RandomSampler", ("ab", False, 1.5), ValueError, "num_samples must be a positive int"),
        ("WeightedRandomSampler", ([1], 0), ValueError, "num_samples must be a positive int"),
        ("WeightedRandomSampler", ([1], True), ValueError, "num_samples must be a positive int"),
        ("WeightedRandomSampler", ([1], 1, 3), ValueError, "replacement must be a bool, got 3"),
        ("WeightedRandomSampler", ([[1]], 1), ValueError, r"got shape \(1, 1\)"),
        ("BatchSampler", ([1], 0, False), ValueError, "batch_size must be a positive int, got 0"),
        ("BatchSampler", ([1], 1.5, False), ValueError, "batch_size must be a positive int"),
        ("BatchSampler", ([1], True, False), ValueError, "batch_size must be a positive int"),
        ("BatchSampler", ([1], 2, 3), ValueError, "drop_last must be a bool, got 3"),
    ],
)
def test_samplers_refuse(
    lib: ModuleType, data: Any, name: str, arguments: Any, error: Any, match: str
) -> None:
    with raises(lib, error, match):
        getattr(data, name)(*arguments)


# Collate


@pytest.mark.parametrize(
    ("batch", "expected", "dtype"),
    [
        ([1, 2], [1, 2], "int64"),
        ((1, 2), [1, 2], "int64"),
        ([1.0, 2], [1.0, 2.0], "float64"),
        ([1, 2.5], [1, 2.5], "float32"),
        ([True, False], [True, False], "bool"),
        ([np.ones(2), np.zeros(2)], [[1.0, 1.0], [0.0, 0.0]], "float64"),
        ([np.float32(1), np.float32(2)], [1.0, 2.0], "float32"),
        ([np.int64(1), np.int64(2)], [1, 2], "int64"),
        ([np.array(1), np.array(2)], [1, 2], "int64"),
        ([np.bool_(True)], [True], "bool"),
    ],
)
def test_collate_to_a_tensor(
    lib: ModuleType, data: Any, batch: Any, expected: Any, dtype: str
) -> None:
    collated = data.default_collate(batch)
    assert collated.tolist() == expected and collated.dtype == getattr(lib, dtype)


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        ([b"a", b"b"], [b"a", b"b"]),
        ([np.str_("a")], [np.str_("a")]),
        ([(1, "x"), (2, "y")], [[1, 2], ["x", "y"]]),
        ([[1, 2], [3, 4]], [[1, 3], [2, 4]]),
        ([[], []], []),
        ([range(2), range(2)], [[0, 0], [1, 1]]),
        ([array("i", [1, 2]), array("i", [3, 4])], [[1, 3], [2, 4]]),
        (
            [{"a": 1, "b": [2, "x"]}, {"a": 3, "b": [4, "y"]}],
            {"a": [1, 3], "b": [[2, 4], ["x", "y"]]},
        ),
    ],
)
def test_collate_structures(data: Any, batch: Any, expected: Any) -> None:
    assert lists(data.default_collate(batch)) == expected


@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
def test_collate_keeps_types(data: Any, function: str) -> None:
    def run(sample: Any) -> Any:
        collate = getattr(data, function)
        return collate([sample]) if function == "default_collate" else collate(sample)

    counted = defaultdict(int, a=1)
    assert type(run(counted)) is defaultdict and run(counted).default_factory is int
    assert type(run(OrderedDict(a=1))) is OrderedDict
    assert type(run(Point(1, 2))) is Point
    assert type(run((1, 2))) is list and type(run([1, 2])) is list
    assert counted["a"] == 1


def test_collate_tensors(lib: ModuleType, data: Any) -> None:
    stacked = data.default_collate([lib.ones(2), lib.zeros(2)])
    assert stacked.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    with raises(lib, RuntimeError, "stack"):
        data.default_collate([lib.ones(2), lib.ones(3)])


@pytest.mark.parametrize(
    ("batch", "error", "match"),
    [
        ([None], TypeError, "got NoneType"),
        ([{1}], TypeError, "got set"),
        ([1j], TypeError, "got complex"),
        ([np.array(["a"])], TypeError, "dtype <U1 make no batch"),
        ([1, "a"], TypeError, "str"),
        ([[1, 2], [3]], RuntimeError, r"equal lengths, got \[2, 1\]"),
        ([(1,), (3, 4)], RuntimeError, r"equal lengths, got \[1, 2\]"),
        ([{"a": 1}, {"b": 1}], KeyError, "a"),
        ([], IndexError, "index"),
    ],
)
def test_collate_refuses(lib: ModuleType, data: Any, batch: Any, error: Any, match: str) -> None:
    with raises(lib, error, match):
        data.default_collate(batch)


def test_convert(lib: ModuleType, data: Any) -> None:
    convert = data.default_convert
    assert convert(1) == 1 and convert("a") == "a" and convert(b"a") == b"a"
    assert convert(None) is None and convert({1, 2}) == {1, 2} and convert(range(2)) == [0, 1]
    assert isinstance(convert(np.ones(2)), lib.Tensor)
    assert convert(np.float64(2)).dtype == lib.float64
    assert type(convert(np.array(["a"]))) is np.ndarray
    assert lists(convert({"a": np.ones(1), "b": [np.ones(1), 1]})) == {"a": [1.0], "b": [[1.0], 1]}
    tensor = lib.ones(1)
    assert convert(tensor) is tensor


# DataLoader


def test_batches(lib: ModuleType, data: Any) -> None:
    rows = data.TensorDataset(lib.arange(5), lib.arange(5) * 10)
    loader = data.DataLoader(rows, batch_size=2)
    expected = [[[0, 1], [0, 10]], [[2, 3], [20, 30]], [[4], [40]]]
    assert lists(list(loader)) == expected and lists(list(loader)) == expected
    assert type(next(iter(loader))) is list
    assert len(loader) == 3 and len(iter(loader)) == 3
    dropping = data.DataLoader(rows, batch_size=2, drop_last=True)
    assert lists(list(dropping)) == expected[:2] and len(dropping) == 2


def test_batches_of_tensors_are_those_of_default_collate(lib: ModuleType, data: Any) -> None:
    rows = data.TensorDataset(lib.rand(9, 2, 3), lib.arange(9), lib.rand(9) > 0.5)
    nested = data.Subset(data.Subset(rows, [8, 6, 4, 2, 0]), [4, 0, 1, -1])
    indices = [3, lib.tensor(1), 0, -2]
    for dataset in (rows, nested):
        (batch,) = data.DataLoader(dataset, batch_sampler=[indices])
        expected = data.default_collate([dataset[i] for i in indices])
        assert type(batch) is list and lists(batch) == lists(expected)
        assert [part.dtype for part in batch] == [part.dtype for part in expected]
    with raises(lib, IndexError, "index"):
        list(data.DataLoader(rows, batch_sampler=[[9]]))


def test_no_batches(lib: ModuleType, data: Any) -> None:
    rows = data.TensorDataset(lib.arange(2))
    loader = data.DataLoader(rows, batch_size=None)
    assert lists(list(loader)) == [[0], [1]] and len(loader) == 2
    assert next(iter(loader))[0].shape == ()
    assert list(data.DataLoader([1.5, "a"], batch_size=None)) == [1.5, "a"]
    assert list(data.DataLoader("ab", batch_size=None, collate_fn=str.upper)) == ["A", "B"]


def test_own_sampler_and_collate(data: Any) -> None:
    letters = "abcdef"
    loader = data.DataLoader(letters, sampler=[5, 0, 1], batch_size=2)
    assert list(loader) == [["f", "a"], ["b"]]
    loader = data.DataLoader(letters, batch_sampler=[[1, 2], [3]])
    assert list(loader) == [["b", "c"], ["d"]] and loader.batch_size is None
    joined = data.DataLoader(letters, batch_size=4, collate_fn="".join)
    assert list(joined) == ["abcd", "ef"]
    joined.collate_fn = len
    assert list(joined) == [4, 2]


def test_getitems_is_used(data: Any) -> None:
    class Many(list):
        def __getitems__(self, indices: list[int]) -> list[str]:
            return [str(index) for index in indices]

    assert list(data.DataLoader(Many("ab"), batch_size=2)) == [["0", "1"]]


def test_any_mapping_of_indices(data: Any) -> None:
    assert lists(list(data.DataLoader({0: 5, 1: 6}, batch_size=2))) == [[5, 6]]
    assert list(data.DataLoader([])) == []


def test_stream(lib: ModuleType, data: Any) -> None:
    load = data.DataLoader
    assert lists(list(load(stream(data, 5), batch_size=2))) == [[0, 1], [2, 3], [4]]
    assert lists(list(load(stream(data, 5), batch_size=2, drop_last=True))) == [[0, 1], [2, 3]]
    assert list(load(stream(data, 2), batch_size=None)) == [0, 1]
    with raises(lib, TypeError, "no len"):
        len(load(stream(data, 5)))
    assert len(load(stream(data, 5, 5), batch_size=2)) == 3
    assert len(load(stream(data, 5, 5), batch_size=2, drop_last=True)) == 2
    assert len(load(stream(data, 5, 5), batch_size=None)) == 5
    loader = load(stream(data, 2, 1))
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="1"):
        list(loader)


def test_an_error_does_not_end_the_iteration(data: Any) -> None:
    class Holes(list):
        def __getitem__(self, index: Any) -> Any:
            if index == 1:
                raise ZeroDivisionError(index)
            return index

    iteration = iter(data.DataLoader(Holes("abc")))
    assert lists(next(iteration)) == [0]
    with pytest.raises(ZeroDivisionError):
        next(iteration)
    assert lists(next(iteration)) == [2]
    with pytest.raises(StopIteration):
        next(iteration)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"num_workers": -1}, "num_workers must be 0, got -1"),
        ({"timeout": -1}, "timeout must not be negative, got -1"),
        ({"prefetch_factor": 2}, "prefetch_factor needs num_workers > 0"),
        ({"persistent_workers": True}, "persistent_workers needs num_workers > 0"),
        ({"multiprocessing_context": "fork"}, "multiprocessing_context needs num_workers > 0"),
        ({"batch_size": 0}, "batch_size must be a positive int, got 0"),
        ({"batch_size": 1.5}, "batch_size must be a positive int, got 1.5"),
        ({"batch_size": None, "drop_last": True}, "drop_last needs a batch_size"),
        ({"sampler": [1], "shuffle": True}, "sampler and shuffle exclude each other"),
        ({"batch_sampler": [[1]], "shuffle": True}, "batch_sampler excludes"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler excludes"),
        ({"batch_sampler": [[1]], "drop_last": True}, "batch_sampler excludes"),
        ({"batch_sampler": [[1]], "sampler": [1]}, "batch_sampler excludes"),
    ],
)
def test_loader_refuses(lib: ModuleType, data: Any, arguments: dict[str, Any], match: str) -> None:
    with raises(lib, ValueError, match):
        data.DataLoader([1, 2], **arguments)


@pytest.mark.parametrize(
    "arguments", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}]
)
def test_loader_of_a_stream_refuses(lib: ModuleType, data: Any, arguments: dict[str, Any]) -> None:
    with raises(lib, ValueError, f"its own order, got {next(iter(arguments))}="):
        data.DataLoader(stream(data, 3), **arguments)


def test_loader_of_nothing_cannot_shuffle(lib: ModuleType, data: Any) -> None:
    with raises(lib, ValueError, "num_samples must be a positive int, got 0"):
        data.DataLoader([], shuffle=True)


def test_workers_come_later() -> None:
    with pytest.raises(ValueError, match="num_workers must be 0, got 2: .* later release"):
        nnkit.utils.data.DataLoader([1], num_workers=2)


@pytest.mark.parametrize(
    "name", ["batch_size", "sampler", "batch_sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_loader_is_fixed(lib: ModuleType, data: Any, name: str) -> None:
    with raises(lib, ValueError, f"{name} cannot change"):
        setattr(data.DataLoader([1]), name, 3)


def test_timeout_needs_workers(lib: ModuleType, data: Any) -> None:
    loader = data.DataLoader([1], timeout=3)
    with raises(lib, AssertionError, "a timeout needs workers, got 3"):
        iter(loader)
    with raises(lib, ValueError, "multiprocessing_context needs num_workers > 0"):
        loader.multiprocessing_context = "fork"


def test_pin_memory_warns(data: Any) -> None:
    with pytest.warns(UserWarning, match="pin_memory"):
        assert lists(list(data.DataLoader([1], pin_memory=True))) == [[1]]


def test_no_worker_info(data: Any) -> None:
    assert data.get_worker_info() is None


# The order of batches


def orders(lib: Any, with_generator: bool) -> list[Any]:
    """What every random part gives, and where it leaves the generator."""
    __import__(f"{lib.__name__}.utils.data")
    data = lib.utils.data
    lib.manual_seed(5)
    own = lib.Generator().manual_seed(7) if with_generator else None
    found: list[Any] = []

    def state() -> Any:
        return lib.rand(2, generator=own).tolist()

    for batch_size in (1, 4, None):
        loader = data.DataLoader(range(11), batch_size=batch_size, shuffle=True, generator=own)
        for _ in range(2):
            found += [lists(list(loader)), state()]
    iteration = iter(data.DataLoader(range(3), generator=own))
    found += [state(), lists(list(iteration)), state()]
    for sampler in (
        data.RandomSampler(range(5), generator=own),
        data.RandomSampler(range(5), num_samples=12, generator=own),
        data.RandomSampler(range(5), num_samples=10, generator=own),
        data.RandomSampler(range(50), replacement=True, num_samples=70, generator=own),
        data.RandomSampler(range(50), replacement=True, num_samples=64, generator=own),
        data.SubsetRandomSampler([3, 1, 4, 15], generator=own),
        data.WeightedRandomSampler([0.1, 5.0, 2.0, 0.3], 30, generator=own),
        data.WeightedRandomSampler([0.1, 5.0, 2.0, 0.3], 3, False, generator=own),
    ):
        found += [list(sampler), state(), list(sampler), state()]
    split = {} if own is None else {"generator": own}
    found += [[part.indices for part in data.random_split(range(9), [0.5, 0.5], **split)], state()]
    return found


@pytest.mark.parametrize("with_generator", [False, True])
def test_orders_are_those_of_torch(torch: ModuleType, with_generator: bool) -> None:
    for ours, theirs in zip(
        orders(nnkit, with_generator), orders(torch, with_generator), strict=True
    ):
        assert ours == theirs


def test_a_seed_repeats_the_order(lib: ModuleType) -> None:
    assert orders(lib, False) == orders(lib, False)
