"""Maps of data pipes."""

from __future__ import annotations

import pickle
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises


def numbers(dp: Any, size: int = 7) -> Any:
    return dp.SequenceWrapper(range(size))


PROGRAMS = {
    "sequence": (lambda dp: numbers(dp, 3), [0, 1, 2]),
    "map": (lambda dp: numbers(dp, 3).map(float), [0.0, 1.0, 2.0]),
    "map nothing": (lambda dp: dp.Mapper(numbers(dp, 3)), [0, 1, 2]),
    "batch": (lambda dp: numbers(dp).batch(3), [[0, 1, 2], [3, 4, 5], [6]]),
    "batch, dropping": (lambda dp: numbers(dp).batch(3, drop_last=True), [[0, 1, 2], [3, 4, 5]]),
    "batch to tuples": (lambda dp: numbers(dp, 3).batch(2, wrapper_class=tuple), [(0, 1), (2,)]),
    "concat": (lambda dp: numbers(dp, 2).concat(dp.SequenceWrapper("ab")), [0, 1, "a", "b"]),
    "zip": (lambda dp: numbers(dp).zip(dp.SequenceWrapper("ab")), [(0, "a"), (1, "b")]),
    "shuffle": (lambda dp: numbers(dp).shuffle().set_seed(3), [0, 2, 3, 6, 5, 4, 1]),
    "shuffle keys": (lambda dp: dp.SequenceWrapper({"a": 1, "b": 2, "c": 3})
                     .shuffle(indices=["a", "b", "c"]).set_seed(0), [1, 3, 2]),
    "not shuffled": (lambda dp: numbers(dp, 3).shuffle().set_shuffle(False), [0, 1, 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_samples(data: Any, name: str) -> None:
    make, expected = PROGRAMS[name]
    pipe = make(data.datapipes.map)
    assert list(pickle.loads(pickle.dumps(pipe))) == expected
    assert list(pipe) == expected and len(pipe) == len(expected)


ERRORS = {
    "batch of nothing": (AssertionError, lambda dp: numbers(dp).batch(0)),
    "no batch": (IndexError, lambda dp: numbers(dp).batch(3)[3]),
    "a dropped batch": (IndexError, lambda dp: numbers(dp).batch(3, drop_last=True)[2]),
    "behind the last": (IndexError, lambda dp: numbers(dp).concat(numbers(dp))[14]),
    "behind the shortest": (IndexError, lambda dp: numbers(dp).zip(numbers(dp, 2))[2]),
    "nothing to concat": (ValueError, lambda dp: dp.Concater()),
    "concat of no pipe": (TypeError, lambda dp: numbers(dp).concat([1])),
    "nothing to zip": (ValueError, lambda dp: dp.Zipper()),
    "zip of no pipe": (TypeError, lambda dp: numbers(dp).zip([1])),
    "no function": (TypeError, lambda dp: numbers(dp).map(1)),
    "no key": (KeyError, lambda dp: dp.SequenceWrapper({"a": 1})[0]),
    "no method": (AttributeError, lambda dp: numbers(dp).filter(bool)),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(data: Any, name: str) -> None:
    error, make = ERRORS[name]
    with pytest.raises(error):
        make(data.datapipes.map)


def test_pipes_without_length(lib: ModuleType, data: Any) -> None:
    class Endless(data.MapDataPipe):
        def __getitem__(self, index: int) -> int:
            return index

    pipe = Endless()
    assert pipe.batch(2)[3] == [6, 7] and pipe.map(float)[9] == 9.0
    assert repr(pipe).endswith("Endless")
    for make in (lambda: len(pipe), lambda: len(pipe.batch(2)), lambda: pipe.concat(pipe),
                 lambda: pipe.zip(pipe), lambda: pipe.shuffle()):  # fmt: skip
        with raises(lib, TypeError, "no len|valid length|Sized"):
            make()
    with pytest.raises(NotImplementedError):
        data.MapDataPipe()[0]


def test_indices_from_the_end(data: Any) -> None:
    pipe = numbers(data.datapipes.map)
    assert pipe.batch(3)[-1] == [4, 5, 6] and pipe.concat(pipe)[-1] == 6


def test_orders_follow_the_default_generator(lib: ModuleType, data: Any) -> None:
    lib.manual_seed(0)
    shuffled = numbers(data.datapipes.map, 10).shuffle()
    assert list(shuffled) == [8, 9, 1, 6, 2, 5, 7, 0, 4, 3]
    assert list(shuffled) == [4, 1, 0, 5, 6, 8, 2, 7, 9, 3]


def test_copies_of_the_source(data: Any) -> None:
    source = [1]
    copied = data.datapipes.map.SequenceWrapper(source)
    kept = data.datapipes.map.SequenceWrapper(source, deepcopy=False)
    source.append(2)
    assert len(copied) == 1 and len(kept) == 2
    with pytest.warns(UserWarning):
        data.datapipes.map.SequenceWrapper(x for x in "ab")
