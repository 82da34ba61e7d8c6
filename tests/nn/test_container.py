"""Sequential, ModuleList and ModuleDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises


def plain(lib: ModuleType, kind: str = "Sequential") -> Any:
    nn = lib.nn
    modules = [nn.Identity(), nn.Flatten(), nn.Linear(2, 2)]
    return nn.Sequential(*modules) if kind == "Sequential" else nn.ModuleList(modules)


def kinds(modules: Any) -> str:
    """The first letter of each child."""
    return "".join(type(module).__name__[0] for module in modules)


def keys(modules: Any) -> str:
    return "".join(modules._modules)


indexed = pytest.mark.parametrize("kind", ["Sequential", "ModuleList"])


# Sequential and ModuleList


@indexed
def test_index(lib: ModuleType, kind: str) -> None:
    modules = plain(lib, kind)
    first, _, last = list(modules)
    assert modules[0] is first and modules[-1] is last and len(modules) == 3
    assert modules[lib.tensor(2)] is last and modules[True] is modules[1]
    assert first in modules and lib.nn.Identity() not in modules


@indexed
@pytest.mark.parametrize(
    ("index", "error", "match"),
    [
        (3, IndexError, "index 3 is out of range of 3"),
        (-4, IndexError, "index -4 is out of range of 3"),
        ("a", TypeError, "str"),
        (1.0, TypeError, "float"),
    ],
)
def test_wrong_index(lib: ModuleType, kind: str, index: Any, error: Any, match: str) -> None:
    with raises(lib, error, match):
        plain(lib, kind)[index]
    with raises(lib, error, match):
        plain(lib, kind)[index] = lib.nn.Identity()
    with raises(lib, error, match):
        del plain(lib, kind)[index]
    with raises(lib, error, match):
        plain(lib, kind).pop(index)


@indexed
@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (slice(1, None), "FL"),
        (slice(None, None, 2), "IL"),
        (slice(None, None, -1), "LFI"),
        (slice(5, None), ""),
    ],
)
def test_slice(lib: ModuleType, kind: str, part: slice, expected: str) -> None:
    modules = plain(lib, kind)
    taken = modules[part]
    assert type(taken) is type(modules) and kinds(taken) == expected


def test_slice_keeps_names_of_a_sequential_only(lib: ModuleType) -> None:
    assert keys(plain(lib)[1:]) == "12"
    assert keys(plain(lib, "ModuleList")[1:]) == "01"


@indexed
def test_set_item(lib: ModuleType, kind: str) -> None:
    modules = plain(lib, kind)
    modules[-1] = lib.nn.Identity()
    assert kinds(modules) == "IFI" and keys(modules) == "012"
    with raises(lib, TypeError, "cannot assign a int"):
        modules[1] = 3
    with raises(lib, TypeError, "slice"):
        modules[0:2] = [lib.nn.Identity()] * 2


@indexed
@pytest.mark.parametrize(
    ("index", "left"), [(0, "FL"), (-1, "IF"), (slice(0, 2), "L"), (slice(None, None, 2), "F")]
)
def test_delete_and_pop(lib: ModuleType, kind: str, index: Any, left: str) -> None:
    modules = plain(lib, kind)
    del modules[index]
    assert kinds(modules) == left and keys(modules) == "012"[: len(left)]
    modules = plain(lib, kind)
    expected = modules[index]
    popped = modules.pop(index)
    assert kinds(modules) == left
    if isinstance(index, slice):
        assert type(popped) is type(modules) and list(popped) == list(expected)
    else:
        assert popped is expected


@indexed
def test_append_and_extend(lib: ModuleType, kind: str) -> None:
    modules = plain(lib, kind)
    assert modules.append(lib.nn.Identity()) is modules
    assert modules.extend(m for m in (lib.nn.Flatten(), lib.nn.Linear(1, 1))) is modules
    assert kinds(modules) == "IFLIFL" and keys(modules) == "012345"
    with raises(lib, TypeError, "int is not a Module subclass"):
        modules.append(3)
    with raises(lib, TypeError, "int"):
        modules.extend(3)


@indexed
def test_extend_by_itself(kind: str) -> None:
    modules = plain(nnkit, kind)
    assert kinds(modules.extend(modules)) == "IFLIFL"


@indexed
@pytest.mark.parametrize(("index", "expected"), [(0, "LIFL"), (1, "ILFL"), (3, "IFLL")])
def test_insert(lib: ModuleType, kind: str, index: int, expected: str) -> None:
    modules = plain(lib, kind)
    modules.insert(index, lib.nn.Linear(3, 3))
    assert kinds(modules) == expected and keys(modules) == "0123"


def test_insert_of_a_sequential(lib: ModuleType) -> None:
    modules = plain(lib)
    assert modules.insert(-1, lib.nn.Identity()) is modules
    assert kinds(modules) == "IFIL"
    for index in (5, -5):
        with raises(lib, IndexError, f"index {index} is out of range of 4"):
            modules.insert(index, lib.nn.Identity())
    with raises(lib, AssertionError, "must be a Module, got int"):
        modules.insert(0, 3)


def test_insert_of_a_list_is_that_of_python() -> None:
    modules = plain(nnkit, "ModuleList")
    modules.insert(-1, nnkit.nn.Identity())
    modules.insert(99, nnkit.nn.Identity())
    assert kinds(modules) == "IFILI"
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        modules.insert(0, 3)  # pyright: ignore[reportArgumentType]


def test_sequential_runs(lib: ModuleType) -> None:
    double = lib.nn.Identity()
    double.forward = lambda x: x * 2
    assert lib.nn.Sequential(double, double)(lib.ones(1)).item() == 4
    assert lib.nn.Sequential()(3) == 3
    with raises(lib, TypeError, "None"):
        lib.nn.Sequential(None)(3)


def test_sequential_of_names(lib: ModuleType) -> None:
    nn = lib.nn

    def named() -> Any:
        return nn.Sequential(OrderedDict(a=nn.Identity(), b=nn.Flatten()))

    modules = named()
    assert keys(modules) == "ab" and modules[1] is modules.b
    assert keys(modules[1:]) == "b"
    modules[0] = nn.Linear(1, 1)
    assert keys(modules) == "ab" and kinds(modules) == "LF"
    assert keys(modules.append(nn.Identity())) == "ab2"
    assert keys(named() + named()) == "0123"
    modules = named()
    modules += named()
    assert keys(modules) == "ab23"
    del modules[0]
    assert keys(modules) == "012"


@pytest.mark.parametrize("arguments", [(3,), ([],), ({},)])
def test_sequential_refuses(lib: ModuleType, arguments: Any) -> None:
    with raises(lib, TypeError, "is not a Module subclass"):
        lib.nn.Sequential(*arguments)


def test_sequential_arithmetic(lib: ModuleType) -> None:
    modules = plain(lib)
    assert kinds(modules + modules) == "IFLIFL"
    assert kinds(modules * 2) == kinds(2 * modules) == "IFLIFL"
    assert (modules * 2)[0] is modules[0]
    same = modules
    same *= 2
    assert same is modules and kinds(modules) == "IFLIFL"
    same += plain(lib)
    assert same is modules and len(modules) == 9


@pytest.mark.parametrize(
    ("operation", "other", "error", "match"),
    [
        (operator.add, [], ValueError, "only a Sequential can be added, got list"),
        (operator.iadd, 3, ValueError, "only a Sequential can be added, got int"),
        (operator.mul, 0, ValueError, "must be positive, got 0"),
        (operator.imul, -1, ValueError, "must be positive, got -1"),
        (operator.mul, 1.5, TypeError, "must be an int, got float"),
        (operator.imul, "a", TypeError, "must be an int, got str"),
    ],
)
def test_sequential_arithmetic_refuses(
    lib: ModuleType, operation: Callable, other: Any, error: Any, match: str
) -> None:
    with raises(lib, error, match):
        operation(plain(lib), other)


def test_list_arithmetic(lib: ModuleType) -> None:
    modules = plain(lib, "ModuleList")
    assert kinds(modules + [lib.nn.Identity()]) == "IFLI"
    same = modules
    same += [lib.nn.Identity()]
    assert same is modules and len(modules) == 4
    with raises(lib, TypeError, "int"):
        operator.add(modules, 3)


def test_list_refuses(lib: ModuleType) -> None:
    with raises(lib, TypeError, "should be called with an iterable, but got int"):
        lib.nn.ModuleList(3)
    with raises(lib, TypeError, "int is not a Module subclass"):
        lib.nn.ModuleList([3])
    with raises(lib, NotImplementedError, 'is missing the required "forward" function'):
        lib.nn.ModuleList()(3)


def test_list_repr(lib: ModuleType) -> None:
    nn = lib.nn
    modules = nn.ModuleList(
        [nn.Identity(), nn.Identity(), nn.Flatten(), *(nn.Sequential(nn.Identity()),) * 3]
    )
    assert repr(modules) == (
        "ModuleList(\n"
        "  (0-1): 2 x Identity()\n"
        "  (2): Flatten(start_dim=1, end_dim=-1)\n"
        "  (3-5): 3 x Sequential(\n"
        "    (0): Identity()\n"
        "  )\n"
        ")"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


# ModuleDict


def test_dict(lib: ModuleType) -> None:
    nn = lib.nn
    modules = nn.ModuleDict({"a": nn.Identity(), "b": nn.Flatten()})
    assert modules["a"] is modules.a and len(modules) == 2 and "a" in modules
    assert list(modules) == list(modules.keys()) == ["a", "b"]
    assert dict(modules.items()) == modules._modules
    assert list(modules.values()) == [modules.a, modules.b]
    modules["c"] = nn.Linear(1, 1)
    del modules["b"]
    popped = modules.a
    assert modules.pop("a") is popped and list(modules) == ["c"]
    modules.update([("d", nn.Identity())])
    modules.update(nn.ModuleDict({"e": nn.Identity()}))
    modules.update({"c": nn.Flatten()})
    assert list(modules) == ["c", "d", "e"] and kinds(modules.values()) == "FII"
    modules.clear()
    assert len(modules) == 0
    assert list(nn.ModuleDict([("x", nn.Identity())])) == ["x"]


@pytest.mark.parametrize(
    ("content", "error", "match"),
    [
        (3, TypeError, "should be called with an iterable of key/value pairs, but got int"),
        ([3], TypeError, "element #0 should be Iterable; is int"),
        ([("a",)], ValueError, "element #0 has length 1; 2 is required"),
        ({"a": 3}, TypeError, "int is not a Module subclass"),
        ({3: None}, TypeError, "name should be a string. Got int"),
        ({"a.b": None}, KeyError, "t contain"),
        ({"keys": None}, KeyError, "attribute 'keys' already exists"),
    ],
)
def test_dict_refuses(lib: ModuleType, content: Any, error: Any, match: str) -> None:
    with raises(lib, error, match):
        lib.nn.ModuleDict(content)


def test_dict_misses(lib: ModuleType) -> None:
    modules = lib.nn.ModuleDict()
    for access in (modules.__getitem__, modules.__delitem__, modules.pop):
        with raises(lib, KeyError, "x"):
            access("x")
    with raises(lib, NotImplementedError, 'is missing the required "forward" function'):
        modules(3)


def test_positions_as_names(lib: ModuleType) -> None:
    for items in (
        lib.nn.ModuleList([lib.nn.ReLU()] * 3),
        lib.nn.ParameterList([lib.ones(1)] * 3),
    ):
        assert [items._get_abs_string_index(i) for i in (0, -1)] == ["0", "2"]
        with raises(lib, IndexError, "index 3 is out of range"):
            items._get_abs_string_index(3)
    x, y = lib.ones(1), lib.ones(1)
    assert x._cdata == x._cdata != y._cdata
