"""What `copy.copy`, `copy.deepcopy` and `pickle` make of tensors, modules and optimizers."""

from __future__ import annotations

import copy
import io
import pickle
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


# torch warns of hooks that a copy lacks, and of the wrapped step of a copied optimizer.
pytestmark = [
    pytest.mark.filterwarnings("ignore:backward hook"),
    pytest.mark.filterwarnings("ignore:Seems like"),
]

COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": pickled}


def test_a_copy_shares_memory_and_nothing_else(lib: ModuleType) -> None:
    x = lib.ones(2, requires_grad=True)
    x.grad, x.note = lib.ones(2), [1]
    x.register_hook(lambda g: g * 10)
    for value in (x, x * 2, x.detach(), x[:1], lib.nn.Parameter(lib.ones(2))):
        made = copy.copy(value)
        assert made is not value and type(made) is type(value)
        assert made.data_ptr() == value.data_ptr() and made.stride() == value.stride()
        assert made.is_leaf and made.requires_grad == value.requires_grad
        assert made.grad is None and made._base is None
    made = copy.copy(x)
    assert made.note is x.note
    made.sum().backward()
    assert made.grad.tolist() == [1, 1] and x.grad.tolist() == [1, 1]


@pytest.mark.parametrize("way", COPIES)
def test_keeps_class_layout_and_flags(lib: ModuleType, way: str) -> None:
    nn = lib.nn
    frozen = nn.Parameter(lib.ones(2), requires_grad=False)
    last = lib.zeros(2, 3, 4, 4).to(memory_format=lib.channels_last)
    for value in (
        lib.ones(2, requires_grad=True), nn.Parameter(lib.ones(2)), frozen, last,
        nn.Buffer(lib.ones(2)), lib.zeros(0, 3), lib.tensor(True), lib.ones(2, dtype=lib.bfloat16),
        lib.ones(3, 4).t(), lib.tensor([1j, 2]),
    ):  # fmt: skip
        made = COPIES[way](value)
        assert type(made) is type(value) and made.dtype is value.dtype
        assert (made.shape, made.stride()) == (value.shape, value.stride())
        assert made.requires_grad == value.requires_grad and made.tolist() == value.tolist()
        assert isinstance(made, nn.Buffer) == isinstance(value, nn.Buffer)


@pytest.mark.parametrize("way", COPIES)
def test_inference_tensors(lib: ModuleType, way: str) -> None:
    with lib.inference_mode():
        made_inside = lib.ones(2)
    assert not COPIES[way](made_inside).is_inference()
    leaf = lib.ones(2, requires_grad=True)
    with lib.inference_mode():
        for value in (made_inside, leaf, lib.ones(2)):
            copied = COPIES[way](value)
            assert copied.is_inference() and copied.requires_grad == value.requires_grad


@pytest.mark.parametrize("way", COPIES)
def test_parameters_without_a_shape(lib: ModuleType, way: str) -> None:
    made = COPIES[way](lib.nn.UninitializedParameter())
    assert isinstance(made, lib.nn.UninitializedParameter)
    made.materialize((2,))
    assert made.shape == (2,)


def slotted(lib: ModuleType) -> type:
    """A class of tensors with an attribute in a slot, which can be pickled."""

    class Slotted(lib.Tensor):
        __slots__ = ("note",)

        def new_empty(self, *size: Any) -> Any:  # which torch's deepcopy calls
            return lib.empty(*size).as_subclass(Slotted)

    Slotted.__qualname__ = "Slotted"
    globals()["Slotted"] = Slotted
    return Slotted


@pytest.mark.parametrize("way", COPIES)
def test_what_lies_in_slots(lib: ModuleType, way: str) -> None:
    leaf = lib.ones(2, requires_grad=True)
    x = (leaf * 2).as_subclass(slotted(lib))
    assert type(x * 3) is type(x[0]) is type(x)
    (x * x).sum().backward()
    assert leaf.grad.tolist() == [8, 8]
    x = x.detach()
    x.note, x.other = [1], 2
    made = COPIES[way](x)
    assert type(made) is type(x) and made.note == [1] and made.other == 2
    assert (made.note is x.note) is (way == "copy")
    del x.note
    assert not hasattr(COPIES[way](x), "note")


def stated(lib: ModuleType) -> type:
    """A class of tensors that say what pickles keep of them."""

    class Stated(lib.Tensor):
        def __getstate__(self) -> Any:
            return {"kept": self.note}

        def __setstate__(self, state: dict) -> None:
            self.note = state["kept"] + 1

    Stated.__qualname__ = "Stated"
    globals()["Stated"] = Stated
    return Stated


def test_states_of_tensors(lib: ModuleType) -> None:
    x = lib.ones(2).as_subclass(stated(lib))
    x.note = 1
    made = pickled(x)
    assert made.note == 2 and made.tolist() == [1, 1] and type(made) is type(x)
    y = lib.ones(2).as_subclass(slotted(lib))
    y.note, y.other = [1], 2
    stream = io.BytesIO()
    lib.save([x, y], stream, **({"format": "torch"} if lib is nnkit else {}))
    stream.seek(0)
    stated_, slotted_ = lib.load(stream, weights_only=False)
    assert type(stated_) is type(x) and stated_.note == 2
    assert type(slotted_) is type(y) and (slotted_.note, slotted_.other) == ([1], 2)


def test_deepcopy(lib: ModuleType) -> None:
    x = lib.ones(2, requires_grad=True)
    x.grad = lib.ones(2)
    made = copy.deepcopy(x)
    assert made.grad.tolist() == [1, 1] and made.grad is not x.grad
    for value in (x * 2, x[:1], lib.split(x, 1)[0]):
        with raises(lib, RuntimeError, "graph leaves"):
            copy.deepcopy(value)
    base = lib.zeros(4)
    whole, part, repeated = copy.deepcopy([base, base[1:3], base[:1].expand(3)])
    assert repeated.stride() == (0,) and part.storage_offset() == 1
    whole.fill_(5)
    assert part.tolist() == [5, 5] and repeated.tolist() == [5] * 3 and base.tolist() == [0] * 4
    bits = lib.zeros(2)
    first, second = copy.deepcopy((bits, bits.view(lib.int32)))
    first.fill_(1)
    assert second.tolist() == [0x3F800000] * 2


def test_pickle_makes_leaves(lib: ModuleType) -> None:
    x = lib.ones(2, requires_grad=True)
    x.grad = lib.ones(2)
    assert pickled(x).grad is None
    made = pickled(x * 2)
    assert made.is_leaf and made.requires_grad and made.tolist() == [2, 2]


@pytest.mark.filterwarnings("default:backward hook")
def test_pickling_warns_of_hooks(lib: ModuleType) -> None:
    hooks = import_module(f"{lib.__name__}.utils.hooks")
    x, y = lib.ones(2, requires_grad=True), lib.nn.Parameter(lib.ones(2))
    options = {"format": "torch"} if lib is nnkit else {}
    meant = hooks.unserializable_hook(lambda g: g)
    for tensor in (x, y):
        tensor.register_hook(meant)
    hooks.warn_if_has_hooks(x)
    pickled(x)
    handle = x.register_hook(lambda g: g)
    y.register_hook(lambda g: g)
    for save in (hooks.warn_if_has_hooks, pickled, lambda x: lib.save(x, io.BytesIO(), **options)):
        with pytest.warns(UserWarning, match="backward hook .* on tensor will not be serialized"):
            save(x)
    pickled(y)  # of a parameter's hooks nothing is said
    handle.remove()
    pickled(x)


def test_an_unpickled_tensor_computes(lib: ModuleType) -> None:
    """Its array comes with a dtype object of its own, which kernels must not take for another."""
    linear = pickled(lib.nn.Linear(2, 2))
    assert linear(lib.ones(1, 2)).shape == (1, 2)
    array = pickle.loads(pickle.dumps(np.ones((2, 2), np.float32)))
    for make in (lib.from_numpy, lib.as_tensor, lib.tensor):
        weight = make(array)
        assert lib.nn.functional.linear(lib.ones(2), weight, lib.ones(2)).tolist() == [3, 3]
        if lib is nnkit:
            assert weight._array.dtype is np.dtype(np.float32)


def test_modules(lib: ModuleType) -> None:
    nn = lib.nn
    prune = import_module(f"{lib.__name__}.nn.utils.prune")
    x = lib.ones(1, 2)
    shared = nn.Linear(2, 2)
    twice = nn.Sequential(shared, shared)
    tied = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    tied[1].weight = tied[0].weight
    for way in (copy.deepcopy, pickled):
        made = way(twice)
        assert made[0] is made[1] and made[0].weight is not shared.weight
        made = way(tied)
        assert made[0].weight is made[1].weight
    twice(x).sum().backward()
    assert copy.deepcopy(twice)[0].weight.grad is None
    assert copy.copy(shared).weight is shared.weight
    calls: list[int] = []
    shared.register_forward_hook(lambda *_: calls.append(1))
    copy.deepcopy(shared)(x)
    assert calls == [1]
    pruned = prune.l1_unstructured(nn.Linear(2, 2), "weight", amount=0.5)
    pruned(x)
    made = pickled(pruned)
    assert lib.equal(made(x), pruned(x)) and made.weight_orig.is_leaf
    with raises(lib, RuntimeError, "graph leaves"):
        copy.deepcopy(pruned)


def test_optimizers(lib: ModuleType) -> None:
    model = lib.nn.Linear(2, 2)
    optimizer = lib.optim.Adam(model.parameters())
    scheduler = lib.optim.lr_scheduler.StepLR(optimizer, 1)
    model(lib.ones(1, 2)).sum().backward()
    optimizer.step()
    for way in (copy.deepcopy, pickled):
        model2, optimizer2, scheduler2 = way((model, optimizer, scheduler))
        (group,) = optimizer2.param_groups
        assert group["params"][0] is model2.weight and scheduler2.optimizer is optimizer2
        state = optimizer2.state[model2.weight]
        assert state["step"].item() == 1
        assert state["exp_avg"] is not optimizer.state[model.weight]["exp_avg"]
        optimizer2.step()
        scheduler2.step()
        assert group["lr"] != optimizer.param_groups[0]["lr"]


def test_loaded_state_is_the_dicts(lib: ModuleType) -> None:
    model = lib.nn.Linear(2, 2)
    first, second = (lib.optim.Adam(model.parameters()) for _ in range(2))
    model(lib.ones(1, 2)).sum().backward()
    first.step()
    saved = first.state_dict()
    second.load_state_dict(saved)
    for name in ("exp_avg", "step"):
        assert second.state[model.weight][name] is saved["state"][0][name]
    assert second.param_groups[0] is not saved["param_groups"][0]
    wide = lib.nn.Linear(2, 2).double()
    other = lib.optim.Adam(wide.parameters())
    other.load_state_dict(saved)
    assert other.state[wide.weight]["exp_avg"].dtype is lib.float64
    assert other.state[wide.weight]["step"].dtype is lib.float32


def test_sizes(lib: ModuleType) -> None:
    Size = lib.Size
    assert Size(lib.tensor([1, 2])) == (1, 2) and type(Size([lib.tensor(3), True])[0]) is int
    for value in ((1,) + Size([2]), Size([1]) + (2,), Size([1, 2]) * 2, 2 * Size([1]), Size()[:]):
        assert type(value) is Size
    for sizes in ([1.5], ["a"], [None]):
        with raises(lib, TypeError, "takes an iterable of int"):
            Size(sizes)
    with raises(lib, TypeError, "can only concatenate tuple"):
        Size([1]) + [2]


def test_devices_have_no_negative_index(lib: ModuleType) -> None:
    for arguments in ((-1,), ("cpu", -1), ("cuda", -1), ("cuda:-1",), ("cuda:01",)):
        with raises(lib, RuntimeError, "negative|device type|Invalid device string"):
            lib.device(*arguments)


def test_operators_are_copied_by_name(lib: ModuleType) -> None:
    for name in ("__add__", "__radd__", "__rsub__", "__eq__", "__iadd__", "__neg__", "__matmul__"):
        function = getattr(lib.Tensor, name)
        for way in COPIES.values():
            assert way(function) is function, name
