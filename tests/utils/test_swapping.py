"""Tensors that exchange what they are, modules that are converted so, and modules that are told."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import nnkit
from nnkit.autograd.engine import renewal
from nnkit.utils import swap_tensors
from tests.frameworks import raises


@pytest.fixture
def future(lib: Any) -> Iterator[Any]:
    found = import_module(f"{lib.__name__}.__future__")
    yield found
    found.set_swap_module_params_on_conversion(False)
    found.set_overwrite_module_params_on_conversion(False)


def swap(lib: Any, *tensors: Any) -> None:
    import_module(f"{lib.__name__}.utils").swap_tensors(*tensors)


def test_swap(lib: Any) -> None:
    a, b = lib.nn.Parameter(lib.arange(3.0)), lib.ones(2, dtype=lib.float64)
    b.mine = 3
    swap(lib, a, b)
    assert type(a) is lib.Tensor and type(b) is lib.nn.Parameter
    assert a.tolist() == [1.0, 1.0] and a.dtype == lib.float64 and a.mine == 3
    assert b.tolist() == [0.0, 1.0, 2.0] and b.requires_grad and not hasattr(b, "mine")
    (b * b).sum().backward()
    assert b.grad.tolist() == [0.0, 2.0, 4.0] and a.grad is None


def test_what_is_not_swapped(lib: Any) -> None:
    a, b = lib.ones(2), lib.ones(3, requires_grad=True)
    reference = weakref.ref(a)
    for pair in ((a, b), (b, a)):
        with raises(lib, RuntimeError, "weakref"):
            swap(lib, *pair)
    assert reference() is a

    class Slotted(lib.Tensor):
        __slots__ = ("own",)

    with raises(lib, RuntimeError, "different slots"):
        swap(lib, b, lib.Tensor._make_subclass(Slotted, lib.ones(2)))
    used = -b
    with raises(lib, AttributeError, "inference mode"), lib.inference_mode():
        swap(lib, b, lib.ones(3))
    assert used.requires_grad


def test_modules_swap(lib: Any, future: Any) -> None:
    future.set_swap_module_params_on_conversion(True)
    assert future.get_swap_module_params_on_conversion()
    module = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))
    before = list(map(id, module.parameters()))
    module(lib.ones(3, 2)).sum().backward()
    module.double()
    assert {p.dtype for p in module.parameters()} == {p.grad.dtype for p in module.parameters()}
    state = {name: lib.full_like(value, 2) for name, value in module.state_dict().items()}
    module.load_state_dict(state)
    assert module[0].weight.tolist() == [[2.0, 2.0]] * 2 and module[0].weight.requires_grad
    module.load_state_dict({name: value.float() for name, value in state.items()}, assign=True)
    assert module[0].weight.dtype == lib.float32
    assert list(map(id, module.parameters())) == before


def test_modules_that_do_not_swap(lib: Any, future: Any) -> None:
    future.set_swap_module_params_on_conversion(True)
    module = lib.nn.Linear(2, 1)
    reference = weakref.ref(module.weight)
    with raises(lib, RuntimeError, r"Couldn't swap Linear\.weight"):
        module.double()
    assert reference() is module.weight and module.weight.dtype == lib.float32


def test_module_load(lib: Any, future: Any) -> None:
    value = lib.zeros(2)
    loaded = value.module_load(lib.ones(2))
    assert loaded.tolist() == value.tolist() == [1.0, 1.0] and loaded is not value
    assert value.module_load(lib.full((2,), 3.0), assign=True).tolist() == [3.0, 3.0]
    assert value.tolist() == [1.0, 1.0]

    class Tenfold(lib.Tensor):
        answer = staticmethod(lambda other: (other * 10).detach())

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            if getattr(func, "__name__", "") == "module_load":
                return cls.answer(args[1])
            return super().__torch_function__(func, types, args, kwargs or {})

    future.set_swap_module_params_on_conversion(True)
    module = lib.nn.Linear(1, 1, bias=False)
    module.weight = lib.nn.Parameter(lib.ones(1, 1).as_subclass(Tenfold))
    module.load_state_dict({"weight": lib.full((1, 1), 4.0)})
    assert module.weight.tolist() == [[40.0]]
    Tenfold.answer = staticmethod(lambda other: other)
    module.weight = lib.nn.Parameter(lib.ones(1, 1).as_subclass(Tenfold))
    with raises(lib, RuntimeError, r"(?s)loading state_dict for Linear.*\"weight\".*a new tensor"):
        module.load_state_dict({"weight": lib.ones(1, 1)})
    module.weight = lib.nn.Parameter(lib.ones(1, 1, device="meta"))
    with pytest.warns(UserWarning, match="for weight: copying from a non-meta parameter"):
        module.load_state_dict({"weight": lib.ones(1, 1)})
    assert module.weight.is_meta


def test_parameters_that_are_put_in_place_of_others(lib: Any, future: Any) -> None:
    module = lib.nn.Linear(2, 1)
    before = list(module.parameters())
    module.double()
    assert all(p is q for p, q in zip(module.parameters(), before))
    future.set_overwrite_module_params_on_conversion(True)
    assert future.get_overwrite_module_params_on_conversion()
    module.float()
    assert not any(p is q for p, q in zip(module.parameters(), before))


def test_module_tracker(lib: Any) -> None:
    tracked = import_module(f"{lib.__name__}.utils.module_tracker")
    seen = []

    class Shows(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append((sorted(tracker.parents), tracker.is_bw))
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append((sorted(tracker.parents), tracker.is_bw))
            return grad * 2

    class Inner(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return Shows.apply(x)

    module = lib.nn.Sequential(lib.nn.Sequential(Inner()), lib.nn.ReLU())
    with tracked.ModuleTracker() as tracker:
        y = module(lib.ones(2, requires_grad=True))
        assert tracker.parents == {"Global"}
        y.sum().backward()
        assert tracker.parents == {"Global"} and not tracker.is_bw
    names = ["Global", "Sequential", "Sequential.0", "Sequential.0.0"]
    assert seen == [(names, False), (names, True)]
    module(lib.ones(2))
    assert seen[-1] == (["Global"], False)


def test_environment(capsys: pytest.CaptureFixture[str]) -> None:
    import nnkit
    from nnkit.utils import collect_env

    found = collect_env.get_env_info()
    assert found.torch_version == nnkit.__version__ and "numpy==" in found.pip_packages
    collect_env.main()
    text = capsys.readouterr().out
    assert collect_env.get_pretty_env_info() in text and "CPU(s): " in text


def test_objects_are_looked_through_only_after_nodes_were_made(monkeypatch) -> None:
    looks = []
    look = renewal.gc.get_objects
    monkeypatch.setattr(renewal.gc, "get_objects", lambda: looks.append(1) or look())
    module = nnkit.nn.Sequential(*[nnkit.nn.Linear(2, 2) for _ in range(3)])
    loss = module(nnkit.ones(2)).sum()
    for own in list(module.parameters())[1::2]:  # biases, which no node has saved
        swap_tensors(own, nnkit.zeros(2))
    assert len(looks) == 1
    square = (x := nnkit.ones(2, requires_grad=True)) * x
    with pytest.raises(RuntimeError, match="t1 is saved for backward"):
        swap_tensors(x, nnkit.zeros(2))
    assert len(looks) == 2
    with pytest.raises(RuntimeError, match="AccumulateGrad node that was poisoned by swap_tensors"):
        loss.backward()
    del square
