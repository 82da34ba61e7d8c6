"""Module: modes, calls, moves, copies, printing."""

from __future__ import annotations

import copy
import pickle
import sys
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises
from tests.nn.models import layer, tree


class Stream(nnkit.nn.Module):
    def forward(self, x: Any) -> Any:
        return x


# Modes and gradients


def test_train_and_eval(lib: ModuleType) -> None:
    model = tree(lib)
    assert model.eval() is model
    assert not any(module.training for module in model.modules())
    assert model.train() is model
    assert all(module.training for module in model.modules())
    with raises(lib, ValueError, "mode must be a bool, got int"):
        model.train(1)


def test_requires_grad(lib: ModuleType) -> None:
    model = tree(lib)
    assert model.requires_grad_(False) is model
    assert not any(p.requires_grad for p in model.parameters())
    assert all(p.requires_grad for p in model.requires_grad_().parameters())


def test_zero_grad(lib: ModuleType) -> None:
    model = lib.nn.Linear(2, 1)
    model(lib.ones(1, 2)).sum().backward()
    grad = model.weight.grad
    model.zero_grad(set_to_none=False)
    assert model.weight.grad.tolist() == [[0.0, 0.0]]
    assert model.weight.grad is grad
    model.zero_grad()
    assert model.weight.grad is None
    model.zero_grad(set_to_none=False)
    assert model.bias.grad is None


# Calls


def test_forward_is_missing(lib: ModuleType) -> None:
    with raises(lib, NotImplementedError, 'is missing the required "forward" function'):
        lib.nn.Module()(1)
    with raises(lib, NotImplementedError, 'is missing the required "forward" function'):
        lib.nn.Module().forward(1)


def test_forward_of_an_instance(lib: ModuleType) -> None:
    module = lib.nn.Identity()
    module.forward = lambda x, *, scale: x * scale
    assert module(3, scale=2) == 6


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes on errors need Python 3.11")
def test_error_names_the_module() -> None:
    class Failing(nnkit.nn.Module):
        def forward(self, x: Any) -> Any:
            raise ZeroDivisionError("no")

    class Hidden(nnkit.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [Failing()]

        def forward(self, x: Any) -> Any:
            return self.parts[0](x)

    sequential = nnkit.nn.Sequential
    model = sequential(sequential(Failing()))
    for model, note in [
        (Failing(), "in Failing"),
        (sequential(sequential(Failing())), "in Sequential, module '0.0' (Failing)"),
        (sequential(Hidden()), "in Sequential, module '0.<Failing>' (Failing)"),
    ]:
        with pytest.raises(ZeroDivisionError) as caught:
            model(1)
        assert vars(caught.value)["__notes__"] == [note]
        assert str(pickle.loads(pickle.dumps(caught.value))) == "no"


# Device and dtype


def test_casts(lib: ModuleType) -> None:
    for method, dtype in [
        ("double", lib.float64),
        ("half", lib.float16),
        ("bfloat16", lib.bfloat16),
        ("float", lib.float32),
    ]:
        model = layer(lib)
        model.count = lib.nn.Buffer(lib.zeros(1, dtype=lib.int64))
        before = model.p
        assert getattr(model, method)() is model
        assert model.p is before and before.dtype == dtype and model.b.dtype == dtype
        assert model.count.dtype == lib.int64
        assert model.p.is_leaf and model.p.requires_grad and isinstance(model.p, lib.nn.Parameter)


def test_type_casts_integers_too(lib: ModuleType) -> None:
    model = lib.nn.Module()
    model.count = lib.nn.Buffer(lib.zeros(1, dtype=lib.int64))
    assert model.type(lib.float64).count.dtype == lib.float64


def test_to(lib: ModuleType) -> None:
    model = layer(lib)
    assert model.to(lib.float64) is model
    assert model.p.dtype == lib.float64
    model.to("cpu")
    model.to(lib.device("cpu"), non_blocking=True)
    assert model.p.dtype == lib.float64
    assert model.to("cpu", lib.float16).p.dtype == lib.float16
    assert model.to(dtype=lib.float32, device="cpu").p.dtype == lib.float32
    assert model.to(lib.ones(1, dtype=lib.float64)).p.dtype == lib.float64
    assert model.to(None).p.dtype == lib.float64
    model.to()


def test_to_complex_warns(lib: ModuleType) -> None:
    with pytest.warns(UserWarning, match="Complex modules are a new feature"):
        assert layer(lib).to(lib.complex64).p.dtype == lib.complex64


def test_to_moves_gradients(lib: ModuleType) -> None:
    model = lib.nn.Linear(2, 1)
    model(lib.ones(1, 2)).sum().backward()
    model.double()
    assert model.weight.grad.dtype == lib.float64
    model(lib.ones(1, 2, dtype=lib.float64)).sum().backward()
    assert model.weight.grad.tolist() == [[2.0, 2.0]]


def test_to_refuses(lib: ModuleType) -> None:
    model, tensor = layer(lib), lib.ones(2)
    with raises(lib, TypeError, "floating point or complex"):
        model.to(lib.int32)
    with raises(lib, RuntimeError, "does not take copy=True|does not accept copy"):
        model.to("cpu", copy=True)
    for each in (model, tensor):
        with raises(lib, RuntimeError, "foo"):
            each.to("foo")
        with raises(lib, TypeError, "'foo' is unknown or given twice"):
            each.to(foo=1)
        with raises(lib, TypeError, "argument 'dtype' must be nnkit.dtype, not int"):
            each.to("cpu", 3)
        with raises(lib, TypeError, "argument 'device' must be nnkit.device, not list"):
            each.to([])
        with raises(lib, TypeError, "unknown or given twice"):
            each.to("cpu", device="cpu")
        with raises(lib, TypeError, "at most 4 such arguments, got 5"):
            each.to("cpu", lib.float32, False, False, None)
        with raises(lib, TypeError, "non_blocking and copy must be bool, got 1, False"):
            each.to(lib.float32, 1)
        with raises(lib, TypeError, "argument 'memory_format' must be memory_format, not int"):
            each.to(memory_format=3)
        with raises(lib, ValueError, "Overflow"):
            each.to(2**63)


def test_to_a_number(lib: ModuleType) -> None:
    """It stands for a tensor of it, whose dtype is taken."""
    assert layer(lib).to(3.5).p.dtype == lib.float64
    assert lib.ones(1).to(True).dtype == lib.bool
    assert lib.ones(1).to(float).dtype == lib.float64
    assert lib.ones(1).to(complex).dtype == lib.complex128


def test_to_empty(lib: ModuleType) -> None:
    model = layer(lib)
    before = model.p
    assert model.to_empty(device="cpu") is model
    assert model.p is before and before.shape == (2,)
    model = lib.nn.Sequential(layer(lib))
    data = model[0].p.data_ptr()
    model.to_empty(device="cpu", recurse=False)
    assert model[0].p.data_ptr() == data


# Copies


def test_deepcopy(lib: ModuleType) -> None:
    model = tree(lib)
    twin = copy.deepcopy(model)
    assert twin[0] is twin[1][1] and twin[0] is not model[0]
    assert twin[0].weight is not model[0].weight
    assert twin[0].weight.tolist() == model[0].weight.tolist()
    assert repr(twin) == repr(model)


def test_copy_shares_parameters(lib: ModuleType) -> None:
    model = layer(lib)
    assert copy.copy(model).p is model.p


def test_pickle(lib: ModuleType) -> None:
    model = tree(lib)
    model.register_forward_hook(print)
    twin = pickle.loads(pickle.dumps(model))
    assert twin[0] is twin[1][1]
    assert twin[0].weight.tolist() == model[0].weight.tolist()
    assert len(twin._forward_hooks) == 1


# Printing


def test_repr(lib: ModuleType) -> None:
    class Block(lib.nn.Module):
        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

        def extra_repr(self) -> str:
            return self.text

    model = Block("a=1\nb=2")
    model.inner = lib.nn.Sequential(Block("one"), None)
    model.empty = Block("")
    assert repr(model) == (
        "Block(\n"
        "  a=1\n"
        "  b=2\n"
        "  (inner): Sequential(\n"
        "    (0): Block(one)\n"
        "    (1): None\n"
        "  )\n"
        "  (empty): Block()\n"
        ")"
    )
    assert repr(Block("a=1\nb=2")) == "Block(\n  a=1\n  b=2\n)"
    assert model._get_name() == "Block"


def test_call_is_cheap() -> None:
    """A call without hooks runs nothing of the hook machinery."""
    module = Stream()
    module.__dict__["_call_with_hooks"] = None
    assert module(3) == 3


def test_data_parallel_on_one_device(lib: ModuleType) -> None:
    layer, x = lib.nn.Linear(2, 1), lib.ones(3, 2)
    wrapped = lib.nn.DataParallel(layer)
    assert wrapped(x).tolist() == layer(x).tolist()
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    if not lib.cuda.is_available():
        assert lib.nn.DataParallel(layer, device_ids=[0, 1])(x).tolist() == layer(x).tolist()
    elif lib.__name__ == "nnkit":
        with pytest.raises(NotImplementedError, match="one GPU at most"):
            lib.nn.DataParallel(layer, device_ids=[0, 1])


def test_memory_formats_are_accepted(lib: ModuleType) -> None:
    conv, x = lib.nn.Conv2d(2, 2, 2), lib.ones(1, 2, 3, 3)
    before = conv(x).tolist()
    assert conv.to(memory_format=lib.channels_last)(x).tolist() == [
        [[pytest.approx(row, abs=1e-6) for row in plane] for plane in image] for image in before
    ]  # sums of terms below 1, which may cancel


def test_a_replica_has_no_parameters(lib: ModuleType) -> None:
    module = lib.nn.Linear(2, 1)
    module.register_buffer("count", lib.zeros(1))
    replica = module._replicate_for_data_parallel()
    assert type(replica) is type(module) and not list(replica.parameters())
    replica.weight = module.weight.view_as(module.weight)
    replica.bias = module.bias * 2
    replica.count = lib.ones(1)
    assert replica(lib.ones(1, 2)).requires_grad and module.count.item() == 0
    assert replica.weight._base is module.weight and len(list(module.parameters())) == 2
