"""default_collate and default_convert."""

from __future__ import annotations

from array import array
from collections import OrderedDict, defaultdict, namedtuple
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.frameworks import raises
from tests.utils.samples import lists

Point = namedtuple("Point", "x y")


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
        ([None], TypeError, "found <class 'NoneType'>"),
        ([{1}], TypeError, "found <class 'set'>"),
        ([1j], TypeError, "numbers, dicts or lists; found <class"),
        ([np.array(["a"])], TypeError, "found <U1"),
        ([1, "a"], TypeError, "str"),
        ([[1, 2], [3]], RuntimeError, "each element in list of batch should be of equal size"),
        ([(1,), (3, 4)], RuntimeError, "each element in list of batch should be of equal size"),
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


def test_collate_by_a_table_of_classes(data: Any) -> None:
    from nnkit.utils.data.collate import collate, default_collate_fn_map

    class Named(str): ...

    def shout(batch: list, *, collate_fn_map: Any = None) -> str:
        return "".join(batch).upper()

    table = {**default_collate_fn_map, Named: shout}
    assert collate([(Named("a"), "b")] * 2, collate_fn_map=table) == ["AA", ("b", "b")]
    assert collate([{"n": 1}], collate_fn_map={(int, float): lambda b, **_: b}) == {"n": [1]}
    with pytest.raises(TypeError, match="found <class 'int'>"):
        collate([1])
