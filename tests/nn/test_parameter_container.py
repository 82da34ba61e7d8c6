"""ParameterList and ParameterDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises

# ParameterList


def weights(lib: ModuleType) -> Any:
    return lib.nn.ParameterList([lib.nn.Parameter(lib.ones(2)), lib.ones(2, 3)])


def test_parameter_list(lib: ModuleType) -> None:
    values = weights(lib)
    assert all(type(value) is lib.nn.Parameter for value in values)
    assert len(values) == 2 and values[-1].shape == (2, 3)
    assert [name for name, _ in values.named_parameters()] == ["0", "1"]
    values[0] = lib.ones(5)
    assert type(values[0]) is lib.nn.Parameter and values[0].shape == (5,)
    assert values.append(3) is values and values[2] == 3
    assert values.extend("ab") is values and values[4] == "b"
    values += [None]
    assert len(values) == 6 and len(list(values.parameters())) == 2
    assert [type(v).__name__ for v in values[1:4]] == ["Parameter", "int", "str"]
    assert type(values[:1]) is lib.nn.ParameterList


@pytest.mark.parametrize(
    ("index", "error", "match"),
    [(2, IndexError, "index 2 is out of range of 2"), ("a", TypeError, "str")],
)
def test_parameter_list_wrong_index(lib: ModuleType, index: Any, error: Any, match: str) -> None:
    with raises(lib, error, match):
        weights(lib)[index]
    with raises(lib, error, match):
        weights(lib)[index] = lib.ones(1)


def test_parameter_list_refuses(lib: ModuleType) -> None:
    with raises(lib, TypeError, "should be called with an iterable, but got int"):
        lib.nn.ParameterList(3)
    with raises(lib, TypeError, "should be called with an iterable, but got Tensor"):
        lib.nn.ParameterList(lib.ones(3))
    with raises(lib, TypeError, "cannot assign a int to parameter '0'"):
        weights(lib)[0] = 3
    with raises(lib, RuntimeError, "cannot be called"):
        weights(lib)(3)


def test_parameter_list_repr(lib: ModuleType) -> None:
    name = lib.__name__
    assert repr(weights(lib).append("x")) == (
        "ParameterList(\n"
        f"    (0): Parameter containing: [{name}.float32 of size 2]\n"
        f"    (1): Parameter containing: [{name}.float32 of size 2x3]\n"
        "    (2): Object of type: str\n"
        ")"
    )
    assert repr(lib.nn.ParameterList()) == "ParameterList()"


# ParameterDict


def named(lib: ModuleType) -> Any:
    return lib.nn.ParameterDict({"b": lib.ones(3), "a": lib.nn.Parameter(lib.ones(2))})


def test_parameter_dict(lib: ModuleType) -> None:
    values = named(lib)
    assert list(values) == ["a", "b"] and list(reversed(values)) == ["b", "a"]
    assert all(type(value) is lib.nn.Parameter for value in values.values())
    assert [name for name, _ in values.named_parameters()] == ["a", "b"]
    assert values["a"] is values.a and "a" in values and len(values) == 2
    assert [key for key, _ in values.items()] == list(values.keys())
    values["c"] = 3
    values["a"] = None
    assert values["c"] == 3 and values["a"] is None
    del values["b"]
    assert list(values) == ["a", "c"] and not hasattr(values, "b")


def test_parameter_dict_methods(lib: ModuleType) -> None:
    values = named(lib)
    assert values.copy()["a"] is values["a"] and list(values.copy()) == ["a", "b"]
    assert values.setdefault("a", 3) is values["a"]
    assert values.setdefault("c", 3) == 3 and values.setdefault("d") is None
    assert values.get("x") is None and values.get("x", 5) == 5 and values.get("c") == 3
    assert values.popitem() == ("d", None) and values.pop("c") == 3
    assert list(values) == ["a", "b"]
    made = values.fromkeys(["x", "y"], 1)
    assert list(made.items()) == [("x", 1), ("y", 1)] and type(made) is lib.nn.ParameterDict
    values.clear()
    assert len(values) == 0 and list(values.parameters()) == []
    with raises(lib, KeyError, "empty"):
        values.popitem()


def test_parameter_dict_order(lib: ModuleType) -> None:
    values = lib.nn.ParameterDict([("z", 1), ("y", 2)])
    values.update(OrderedDict(x=1, w=2))
    values.update({"v": 1, "u": 2})
    values.update(lib.nn.ParameterDict([("t", 1), ("s", 2)]))
    assert "".join(values) == "zyxwuvts"


def test_parameter_dict_union(lib: ModuleType) -> None:
    values = named(lib)
    assert "".join(values | {"c": lib.ones(1)}) == "abc" and "".join(values) == "ab"
    union = {"c": 3} | values
    assert list(union) == ["c", "a", "b"] and type(union) is dict
    same = values
    same |= lib.nn.ParameterDict({"d": lib.ones(1)})
    assert same is values and "".join(values) == "abd"


@pytest.mark.parametrize(
    ("content", "error", "match"),
    [
        (3, TypeError, "should be called with an iterable of key/value pairs, but got int"),
        ([3], TypeError, "element #0 should be Iterable; is int"),
        ([("a",)], ValueError, "element #0 has length 1; 2 is required"),
        ({3: 1}, TypeError, "a key must be a string, got int"),
    ],
)
def test_parameter_dict_refuses(lib: ModuleType, content: Any, error: Any, match: str) -> None:
    with raises(lib, error, match):
        lib.nn.ParameterDict(content)
    if content == 3:
        with raises(lib, error, match):
            operator.or_(named(lib), content)


def test_parameter_dict_misses(lib: ModuleType) -> None:
    values = named(lib)
    with raises(lib, AttributeError, "no attribute 'x'"):
        values["x"]
    with raises(lib, AttributeError, "no attribute 'x'"):
        values.pop("x")
    with raises(lib, KeyError, "x"):
        del values["x"]
    with raises(lib, TypeError, "a key must be a string, got int"):
        values[3]
    with raises(lib, KeyError, "attribute 'keys' already exists"):
        values["keys"] = lib.ones(1)
    with raises(lib, KeyError, "t contain"):
        values["a.b"] = lib.ones(1)
    with raises(lib, RuntimeError, "cannot be called"):
        values(3)


def test_parameter_dict_repr(lib: ModuleType) -> None:
    values = lib.nn.ParameterDict({"a": 3})
    assert repr(values) == "ParameterDict(  (a): Object of type: int)"
    text = repr(lib.nn.ParameterDict({"a": lib.ones(2, 3)}))
    expected = "ParameterDict(  (a): Parameter containing: [nnkit.FloatTensor of size 2x3])"
    assert text.replace("torch", "nnkit") == expected
