"""DataLoader."""

from __future__ import annotations

import pickle
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises
from tests.utils.samples import lists, stream


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
    assert len(list(loader)) == 2  # `list` asks the length when the pass has begun
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
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        (
            {"prefetch_factor": 2},
            "prefetch_factor option could only be specified in multiprocessing",
        ),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"multiprocessing_context": "fork"}, "can only be used with multi-process loading"),
        ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
        ({"batch_size": 1.5}, "but got batch_size=1.5"),
        (
            {"batch_size": None, "drop_last": True},
            "disables auto-batching and is mutually exclusive with",
        ),
        ({"sampler": [1], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
        (
            {"batch_sampler": [[1]], "shuffle": True},
            "batch_sampler option is mutually exclusive with batch_size, shuffle",
        ),
        (
            {"batch_sampler": [[1]], "batch_size": 2},
            "batch_sampler option is mutually exclusive with batch_size, shuffle",
        ),
        (
            {"batch_sampler": [[1]], "drop_last": True},
            "batch_sampler option is mutually exclusive with batch_size, shuffle",
        ),
        (
            {"batch_sampler": [[1]], "sampler": [1]},
            "batch_sampler option is mutually exclusive with batch_size, shuffle",
        ),
    ],
)
def test_loader_refuses(lib: ModuleType, data: Any, arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        data.DataLoader([1, 2], **arguments)


@pytest.mark.parametrize(
    "arguments", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}]
)
def test_loader_of_a_stream_refuses(lib: ModuleType, data: Any, arguments: dict[str, Any]) -> None:
    name = next(iter(arguments))
    match = f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}="
    with pytest.raises(ValueError, match=match):
        data.DataLoader(stream(data, 3), **arguments)


def test_loader_of_nothing_cannot_shuffle(lib: ModuleType, data: Any) -> None:
    with pytest.raises(ValueError, match="num_samples should be a positive integer value, but got"):
        data.DataLoader([], shuffle=True)


@pytest.mark.parametrize(
    "name", ["batch_size", "sampler", "batch_sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_loader_is_fixed(lib: ModuleType, data: Any, name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is"):
        setattr(data.DataLoader([1]), name, 3)


def test_timeout_needs_workers(lib: ModuleType, data: Any) -> None:
    loader = data.DataLoader([1], timeout=3)
    with pytest.raises(AssertionError, match="requires timeout == 0"):
        iter(loader)
    with pytest.raises(ValueError, match="can only be used with multi-process loading"):
        loader.multiprocessing_context = "fork"


def test_pin_memory_warns(data: Any) -> None:
    with pytest.warns(UserWarning, match="pin_memory"):
        assert lists(list(data.DataLoader([1], pin_memory=True))) == [[1]]


def test_no_worker_info(data: Any) -> None:
    assert data.get_worker_info() is None


def test_a_stream_that_is_its_own_iterator(data: Any) -> None:
    """Each `iter` of it begins anew, so a pass may call it once alone."""

    class Counted(data.IterableDataset):
        def __iter__(self) -> Any:
            self.numbers = iter(range(5))
            return self

        def __next__(self) -> int:
            return next(self.numbers)

    assert lists(list(data.DataLoader(Counted(), batch_size=2))) == [[0, 1], [2, 3], [4]]


def test_a_loader_with_passes_of_its_own(data: Any) -> None:
    made = []

    class Loader(data.DataLoader):
        def _get_iterator(self) -> Any:
            made.append(super()._get_iterator())
            return made[-1]

    assert iter(Loader([1])) is made[0] and len(made) == 1
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(made[0])
    assert isinstance(data.DataLoader.multiprocessing_context, property)
