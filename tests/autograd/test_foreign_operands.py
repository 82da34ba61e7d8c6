"""What Python's protocols ask of a tensor, and what is refused with torch's types of errors."""

from __future__ import annotations

import operator
import sys
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises

NAMES = "add sub mul truediv pow mod floordiv and or xor lshift rshift".split()


class Unknown:
    """Of no interest to anybody."""


class Answering:
    """Answers where it stands on the right."""


for _name in NAMES:
    setattr(Answering, f"__r{_name}__", lambda self, other, name=_name: name)


@pytest.mark.parametrize("name", NAMES)
def test_operators_leave_what_they_do_not_know(lib: ModuleType, name: str) -> None:
    for dtype in (lib.float32, lib.int64):
        x = lib.ones(2, dtype=dtype)
        for method in (f"__{name}__", f"__r{name}__", f"__i{name}__"):
            assert getattr(x, method)(Unknown()) is NotImplemented
        plain = getattr(operator, name if hasattr(operator, name) else name + "_")
        assert plain(x, Answering()) == name
        assert getattr(operator, f"i{name}")(x, Answering()) == name
        with pytest.raises(TypeError, match="unsupported operand"):
            getattr(operator, f"i{name}")(x, Unknown())


class Listed:
    def __init__(self, values: list) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: int) -> Any:
        return self.values[place]


class Silent(Listed):
    def __getitem__(self, place: int) -> Any:
        raise TypeError


def test_sequences_by_what_they_offer(lib: ModuleType) -> None:
    assert lib.tensor(Listed([1.0, 2.0])).tolist() == [1, 2]
    assert lib.as_tensor([Listed([1, 2]), [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert lib.tensor([[], []]).shape == (2, 0)
    with raises(lib, ValueError, "could not determine the shape"):
        lib.tensor(Silent([1.0]))
    endless: list = []
    endless.append(endless)
    with raises(lib, ValueError, "too many dimensions"):
        lib.tensor(endless)
    with raises(lib, RuntimeError, "infer dtype of dict"):
        lib.tensor({"a": 1})


def test_what_cannot_be_done_has_torchs_type_of_error(lib: ModuleType) -> None:
    x = lib.ones(3)
    with raises(lib, TypeError, "does not support deleting items"):
        del x[0]
    for empty, place in ((lib.ones(0, 3), 5), (lib.ones(0, 3), -1)):
        with raises(lib, RuntimeError, "element is out of DATA bounds"):
            lib.index_select(empty, 1, lib.tensor([0, place]))
    for function in (lib.linspace, lib.logspace):
        with raises(lib, RuntimeError, "inferred dtype"):
            function(0, 1j, 3, dtype=lib.float32)
    with raises(lib, RuntimeError, "a stride divisible by 2 for all but last dimension"):
        lib.view_as_complex(lib.ones(9).as_strided((2, 2), (1, 1)))
    with raises(lib, RuntimeError, "does not support the out kwarg when as_tuple is True"):
        lib.nonzero(x, as_tuple=True, out=lib.empty(0, dtype=lib.int64))
    with raises(lib, ValueError, "an integer of 64 bits"):
        lib.set_num_threads(2**65)
    with raises(lib, RuntimeError, "non-zero size for non-batch"):
        lib.nn.AdaptiveMaxPool1d(3)(lib.ones(1, 0, 5))
    with raises(lib, RuntimeError, "non-zero size for non-batch"):
        lib.nn.AdaptiveAvgPool3d(3)(lib.ones(1, 0, 5, 5, 5))
    assert lib.nn.AdaptiveAvgPool2d(3)(lib.ones(1, 0, 5, 5)).shape == (1, 0, 3, 3)
    for shape, lengths in (((0, 0), []), ((0, 0), [[1]]), ((0, 2), [1, 1]), ((2, 2, 0), [2, 1])):
        with raises(lib, RuntimeError, "cannot pack an empty tensor"):
            pack = lib.nn.utils.rnn.pack_padded_sequence
            pack(lib.ones(shape), lib.tensor(lengths, dtype=lib.int64))


def test_small_forms(lib: ModuleType) -> None:
    nothing = lib.ones(0)
    assert lib.cat([nothing, nothing], dim=1).shape == (0,)
    counts = lib.histogram(lib.tensor([1.0, 2.0, 1.0]), 3, out=(lib.empty(0), lib.empty(0)))
    assert counts[0].tolist() == [2, 0, 1]
    drawn = lib.bernoulli(lib.tensor([0.0, 1.0]), out=lib.empty(2, dtype=lib.int64))
    assert drawn.tolist() == [0, 1]
    x = lib.ones(2, dtype=lib.float64).new_empty_strided((2, 3), (1, 2))
    assert x.stride() == (1, 2) and x.dtype is lib.float64
    assert (x.sparse_dim(), x.dense_dim()) == (0, 2)
    assert lib.autograd.is_multithreading_enabled()
    with lib.autograd.set_multithreading_enabled(False):
        assert not lib.autograd.is_multithreading_enabled()
    assert lib.autograd.is_multithreading_enabled()


@pytest.mark.filterwarnings("ignore:TypedStorage:UserWarning")
def test_bytes_in_either_order(lib: ModuleType) -> None:
    given = bytearray([1, 2, 3, 4])
    assert lib.ShortStorage.from_buffer(given, "big").tolist() == [258, 772]
    assert lib.IntStorage.from_buffer(given, "little")[0] == 67305985
    if lib.__name__ == "nnkit":
        assert lib.ShortStorage.from_buffer(given, sys.byteorder).tolist() == [513, 1027]


def test_the_last_offset_of_bags(lib: ModuleType) -> None:
    """Where rows are looked at one by one, torch's last bag ends with the input."""
    table = lib.arange(12.0).reshape(4, 3)
    places, offsets = lib.arange(4), lib.tensor([0, 3, 3])

    def bags(**options: Any) -> Any:
        bag = lib.nn.functional.embedding_bag
        return bag(places, table, offsets, include_last_offset=True, **options)[1].tolist()

    assert bags(mode="sum") == bags(mode="mean") == [0, 0, 0]
    assert bags(mode="max") == bags(mode="sum", padding_idx=1) == [9, 10, 11]
    with raises(lib, RuntimeError, "padding_idx must be within"):
        bags(padding_idx=-6)


def test_hooks_left_while_they_run(lib: ModuleType) -> None:
    """As torch, which leaves none too few when one is left by another."""

    def unpack(x: Any) -> Any:
        hooks.__exit__()
        return x

    hooks = lib.autograd.graph.saved_tensors_hooks(lambda x: x, unpack)
    other = lib.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x)
    for _ in range(3):
        with other:
            hooks.__enter__()
            lib.ones(3, requires_grad=True).sin().sum().backward()
    for _ in range(3):
        hooks.__exit__()


def test_wrong_parametrizations(lib: ModuleType) -> None:
    parametrize, Module = lib.nn.utils.parametrize, lib.nn.Module

    class Pair(Module):
        def forward(self, *parts: Any) -> Any:
            return parts

        def right_inverse(self, x: Any) -> Any:
            return None, x

    layer = lib.nn.Linear(2, 2)
    with raises(lib, ValueError, "of the sequence with type NoneType"):
        parametrize.register_parametrization(layer, "weight", Pair())
    parametrize.register_parametrization(layer, "weight", lib.nn.Identity())
    with raises(lib, ValueError, "must return a tensor. Got tuple"):
        parametrize.register_parametrization(layer, "weight", Pair())
