"""Parameter, Buffer, and both before their shape is known."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType

import pytest

import nnkit
from tests.frameworks import raises


def test_parameter(lib: ModuleType) -> None:
    data = lib.ones(2)
    parameter = lib.nn.Parameter(data)
    assert parameter.requires_grad and parameter.is_leaf and isinstance(parameter, lib.Tensor)
    data[0] = 5.0
    assert parameter.tolist() == [5.0, 1.0]
    assert not lib.nn.Parameter(parameter, requires_grad=False).requires_grad
    assert lib.nn.Parameter().shape == (0,)
    assert type(parameter * 2) is lib.Tensor
    assert not isinstance(parameter * 2, lib.nn.Parameter)
    assert not isinstance(3, lib.nn.Parameter)


def test_parameter_repr(lib: ModuleType) -> None:
    parameter = lib.nn.Parameter(lib.ones(2))
    assert repr(parameter) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    frozen = lib.nn.Parameter(lib.ones(2), requires_grad=False)
    assert repr(frozen) == "Parameter containing:\ntensor([1., 1.])"


def test_parameter_refuses(lib: ModuleType) -> None:
    with raises(lib, AttributeError, "data must be a Tensor, got list"):
        lib.nn.Parameter([1.0])
    with raises(lib, RuntimeError, "floating point and complex"):
        lib.nn.Parameter(lib.tensor([1]))
    assert lib.nn.Parameter(lib.tensor([1]), requires_grad=False).tolist() == [1]


def test_parameter_copies(lib: ModuleType) -> None:
    parameter = lib.nn.Parameter(lib.ones(2), requires_grad=False)
    parameter.note = "x"
    deep = copy.deepcopy(parameter)
    assert type(deep) is lib.nn.Parameter and not deep.requires_grad
    assert deep.data_ptr() != parameter.data_ptr()
    memo: dict[int, object] = {}
    assert copy.deepcopy(parameter, memo) is copy.deepcopy(parameter, memo)
    shallow = copy.copy(parameter)
    assert shallow.data_ptr() == parameter.data_ptr() and shallow.note == "x"
    pickled = pickle.loads(pickle.dumps(parameter))
    assert type(pickled) is lib.nn.Parameter and pickled.note == "x"
    assert pickled.tolist() == [1.0, 1.0] and not pickled.requires_grad


def test_subclass_keeps_its_type(lib: ModuleType) -> None:
    class Own(lib.Tensor):
        pass

    own = lib.Tensor._make_subclass(Own, lib.ones(2))
    parameter = lib.nn.Parameter(own)
    assert type(parameter) is Own and isinstance(parameter, lib.nn.Parameter)
    assert parameter.requires_grad and not isinstance(own, lib.nn.Parameter)
    assert repr(parameter) == "Parameter(Own([1., 1.], requires_grad=True))"
    assert repr(parameter.detach()) == "Own([1., 1.])"
    assert Own.dtype is lib.Tensor.dtype


def test_buffer(lib: ModuleType) -> None:
    data = lib.ones(2)
    buffer = lib.nn.Buffer(data)
    assert isinstance(buffer, lib.nn.Buffer) and buffer.persistent
    assert type(buffer) is lib.Tensor and repr(buffer) == "tensor([1., 1.])"
    assert not isinstance(data, lib.nn.Buffer)
    assert not lib.nn.Buffer(data, persistent=False).persistent
    assert lib.nn.Buffer().shape == (0,)
    with raises(lib, AttributeError, "data must be a Tensor, got list"):
        lib.nn.Buffer([1.0])


@pytest.mark.parametrize("kind", ["UninitializedParameter", "UninitializedBuffer"])
def test_uninitialized(lib: ModuleType, kind: str) -> None:
    make = getattr(lib.nn.parameter, kind)
    tensor = make(dtype=lib.float64)
    assert repr(tensor) == f"<{kind}>"
    assert lib.nn.parameter.is_lazy(tensor) and not lib.nn.parameter.is_lazy(lib.ones(1))
    assert tensor.dtype == lib.float64 and tensor.device == lib.device("cpu")
    assert tensor.is_leaf and tensor.grad is None
    with raises(lib, RuntimeError, "access the shape of an uninitialized parameter or buffer"):
        _ = tensor.shape
    with raises(lib, ValueError, "Attempted to use an uninitialized parameter"):
        _ = tensor + 1
    with raises(lib, ValueError, "Attempted to use an uninitialized parameter"):
        tensor.numel()
    with raises(lib, ValueError, "Attempted to use an uninitialized parameter"):
        _ = tensor[0]
    with raises(lib, RuntimeError, "share memory on an uninitialized"):
        tensor.share_memory_()
    part = (whole := lib.zeros(4))[:2]  # to whose sharers it does not belong
    assert whole.share_memory_() is whole and part.is_shared()
    tensor.materialize((2, 3))
    assert tensor.shape == (2, 3) and tensor.dtype == lib.float64
    expected = lib.nn.Parameter if kind == "UninitializedParameter" else lib.Tensor
    assert type(tensor) is expected


@pytest.mark.parametrize("kind", ["UninitializedParameter", "UninitializedBuffer"])
def test_uninitialized_copies(kind: str) -> None:
    tensor = getattr(nnkit.nn.parameter, kind)(requires_grad=True, dtype=nnkit.float64)
    for twin in (copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
        assert repr(twin) == f"<{kind}>" and twin is not tensor
        assert twin.dtype == nnkit.float64 and twin.requires_grad


def test_uninitialized_in_another_dtype(lib: ModuleType) -> None:
    buffer, parameter = lib.nn.UninitializedBuffer(), lib.nn.UninitializedParameter()
    assert buffer.is_floating_point() and not parameter.is_complex() and buffer.get_device() == -1
    assert buffer.float() is buffer and parameter.cpu() is parameter
    for moved in (buffer.double(), buffer.to(lib.float64)):
        assert type(moved) is lib.nn.UninitializedBuffer and moved.dtype == lib.float64
    assert type(parameter.half()) is lib.Tensor
    parameter.extent = 3
    assert parameter.extent == 3
    for change in (lambda layer: layer.double(), lambda layer: layer.half().to(lib.float64)):
        layer = change(lib.nn.LazyBatchNorm1d())
        assert repr(layer.running_mean) == "<UninitializedBuffer>"
        layer(lib.ones(2, 3, dtype=lib.float64))
        assert type(layer) is lib.nn.BatchNorm1d and layer.running_mean.dtype == lib.float64


def test_lazy_linear(lib: ModuleType) -> None:
    lazy = lib.nn.LazyLinear(3)
    assert repr(lazy) == "LazyLinear(in_features=0, out_features=3, bias=True)"
    assert lazy.has_uninitialized_params()
    assert lazy.double().weight.dtype == lib.float64
    lazy.float()
    lib.manual_seed(0)
    lazy(lib.ones(2, 4))
    assert type(lazy) is lib.nn.Linear and not hasattr(lazy, "has_uninitialized_params")
    assert repr(lazy) == "Linear(in_features=4, out_features=3, bias=True)"
    lib.manual_seed(0)
    assert lib.nn.Linear(4, 3).weight.tolist() == lazy.weight.tolist()
    assert type(lazy.weight) is lib.nn.Parameter
    assert "bias=False" in repr(lib.nn.LazyLinear(3, bias=False))


def test_lazy_state(lib: ModuleType) -> None:
    lazy = lib.nn.LazyLinear(3)
    assert list(lazy.state_dict()) == ["weight", "bias"]
    full = lib.nn.Linear(4, 3)
    lazy.load_state_dict(full.state_dict())
    assert type(lazy.weight) is lib.nn.Parameter and lazy.weight.shape == (3, 4)
    assert lazy(lib.ones(1, 4)).tolist() == full(lib.ones(1, 4)).tolist()
    assert repr(lazy) == "Linear(in_features=4, out_features=3, bias=True)"
    lib.nn.LazyLinear(3).load_state_dict(lib.nn.LazyLinear(3).state_dict())
    with raises(lib, RuntimeError, "access the shape of an uninitialized parameter"):
        full.load_state_dict(lib.nn.LazyLinear(3).state_dict())


def test_lazy_copies(lib: ModuleType) -> None:
    for twin in (
        copy.deepcopy(lib.nn.LazyLinear(3)),
        pickle.loads(pickle.dumps(lib.nn.LazyLinear(3))),
    ):
        assert twin(lib.ones(1, 2)).shape == (1, 3)


def test_lazy_mixin(lib: ModuleType) -> None:
    mixin = lib.nn.modules.lazy.LazyModuleMixin

    class Scale(mixin, lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = lib.nn.UninitializedParameter()

        def forward(self, x: object) -> object:
            return x * self.scale  # pyright: ignore

    class Silent(Scale):
        def initialize_parameters(self, x: object) -> None:
            pass

    class Good(Scale):
        calls = 0

        def initialize_parameters(self, x: nnkit.Tensor) -> None:
            self.calls += 1
            self.scale.materialize(x.shape)

    with raises(lib, NotImplementedError, "does not define initialize_parameters"):
        Scale()(lib.ones(2))
    with raises(lib, RuntimeError, "left a parameter without a shape"):
        Silent()(lib.ones(2))
    good = Good()
    good(lib.ones(2))
    good(lib.ones(2))
    assert type(good) is Good and good.calls == 1 and good.scale.shape == (2,)
