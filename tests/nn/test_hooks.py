"""Hooks of one module, of all modules, and their handles."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections import OrderedDict
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises


def times(lib: ModuleType, factor: float) -> Any:
    """A module ``y = factor * x``."""

    class Times(lib.nn.Module):
        def forward(self, x: Any, extra: float = 0.0) -> Any:
            return x * factor + extra

    return Times()


def hooks_module(lib: ModuleType) -> Any:
    return lib.nn.modules.module


# Forward


def test_forward_pre_hook(lib: ModuleType) -> None:
    module = times(lib, 2.0)
    seen: list[Any] = []

    def note(mod: Any, args: Any) -> None:
        seen.append((mod, args))

    handle = module.register_forward_pre_hook(note)
    assert module(3.0) == 6.0 and seen == [(module, (3.0,))]
    module.register_forward_pre_hook(lambda mod, args: args[0] + 1)
    assert module(3.0) == 8.0
    module.register_forward_pre_hook(lambda mod, args: (args[0], 100.0))
    assert module(3.0) == 108.0
    handle.remove()
    handle.remove()
    assert module(0.0) == 102.0 and len(seen) == 3


def test_forward_pre_hook_with_kwargs(lib: ModuleType) -> None:
    module = times(lib, 2.0)
    handle = module.register_forward_pre_hook(
        lambda mod, args, kwargs: ((args[0] + 1,), {"extra": kwargs["extra"] * 10}),
        with_kwargs=True,
    )
    assert module(3.0, extra=1.0) == 18.0
    handle.remove()
    module.register_forward_pre_hook(lambda mod, args, kwargs: None, with_kwargs=True)
    assert module(3.0, extra=1.0) == 7.0
    module.register_forward_pre_hook(lambda mod, args, kwargs: args, with_kwargs=True)
    with raises(lib, RuntimeError, r"None or the pair \(args, kwargs\), got tuple"):
        module(3.0)


def test_forward_hook(lib: ModuleType) -> None:
    module = times(lib, 2.0)
    seen: list[Any] = []

    def note(mod: Any, args: Any, output: Any) -> None:
        seen.append((mod, args, output))

    module.register_forward_hook(note)
    assert module(3.0, extra=1.0) == 7.0 and seen == [(module, (3.0,), 7.0)]
    module.register_forward_hook(lambda mod, args, output: output + 1)
    handle = module.register_forward_hook(
        lambda mod, args, kwargs, output: output + kwargs["extra"], with_kwargs=True
    )
    assert module(3.0, extra=1.0) == 9.0
    handle.remove()
    with module.register_forward_hook(lambda mod, args, output: -output):
        assert module(3.0) == -7.0
    assert module(3.0) == 7.0


def test_prepend(lib: ModuleType) -> None:
    module = times(lib, 1.0)
    module.register_forward_hook(lambda mod, args, output: output * 10)
    module.register_forward_hook(lambda mod, args, output: output + 1, prepend=True)
    module.register_forward_pre_hook(lambda mod, args: args[0] * 2)
    module.register_forward_pre_hook(lambda mod, args: args[0] + 3, prepend=True)
    assert module(1.0) == 90.0


def test_always_call(lib: ModuleType) -> None:
    class Failing(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            raise ZeroDivisionError("forward")

    module = Failing()
    seen: list[Any] = []
    module.register_forward_hook(lambda mod, args, output: seen.append("never"))
    module.register_forward_hook(
        lambda mod, args, output: seen.append((args, output)), always_call=True
    )
    with pytest.raises(ZeroDivisionError, match="forward"):
        module(1)
    assert seen == [((1,), None)]

    def fail(*given: Any) -> None:
        raise ValueError("hook")

    module.register_forward_hook(fail, always_call=True)
    with pytest.warns(UserWarning, match="always_call=True.*hook"):
        with pytest.raises(ZeroDivisionError):
            module(1)


def test_always_call_runs_once(lib: ModuleType) -> None:
    module = times(lib, 1.0)
    seen: list[str] = []

    def fail(*given: Any) -> None:
        raise ValueError("hook")

    module.register_forward_hook(lambda *given: seen.append("ran"), always_call=True)
    module.register_forward_hook(fail)
    with pytest.raises(ValueError, match="hook"):
        module(1.0)
    assert seen == ["ran"]


def test_call_without_hooks_is_direct_again() -> None:
    module = times(nnkit, 2.0)
    handle = module.register_forward_hook(lambda mod, args, output: output)
    assert module._hooked
    handle.remove()
    assert module(1.0) == 2.0
    assert not module._hooked and "_hooked" not in vars(module)


# Backward


def test_full_backward_hook(lib: ModuleType) -> None:
    module = times(lib, 2.0)
    seen: list[Any] = []

    def note(mod: Any, grad_input: Any, grad_output: Any) -> None:
        seen.append((mod, [g.tolist() for g in grad_input], [g.tolist() for g in grad_output]))

    module.register_full_backward_hook(note)
    x = lib.ones(2, requires_grad=True)
    (module(x) * 3).sum().backward()
    assert seen == [(module, [[6.0, 6.0]], [[3.0, 3.0]])]
    assert x.grad.tolist() == [6.0, 6.0]


def test_full_backward_hook_replaces(lib: ModuleType) -> None:
    module = times(lib, 2.0)
    module.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,))
    module.register_full_backward_hook(lambda mod, gi, go: (gi[0] + 1,))
    module.register_full_backward_hook(lambda mod, gi, go: (gi[0] + 0.5,), prepend=True)
    module.register_full_backward_pre_hook(lambda mod, go: (go[0] + 4,))
    module.register_full_backward_pre_hook(lambda mod, go: (go[0] * 2,), prepend=True)
    x = lib.ones(1, requires_grad=True)
    module(x).sum().backward()
    assert x.grad.tolist() == [((1 * 2 + 4) * 2 + 0.5) * 10 + 1]


def test_backward_hook_with_several_tensors(lib: ModuleType) -> None:
    class Pair(lib.nn.Module):
        def forward(self, x: Any, number: int, y: Any, z: Any) -> Any:
            return x * number, None, y * z

    module = Pair()
    seen: list[Any] = []

    def shapes(grads: Any) -> list[Any]:
        return [None if g is None else tuple(g.shape) for g in grads]

    def note(mod: Any, gi: Any, go: Any) -> None:
        seen.append((shapes(gi), shapes(go)))

    module.register_full_backward_hook(note)
    x, y = lib.ones(2, requires_grad=True), lib.ones(3, requires_grad=True)
    first, none, second = module(x, 2, y, lib.ones(3))
    assert none is None
    (first.sum() + second.sum()).backward()
    assert seen == [([(2,), None, (3,), (3,)], [(2,), None, (3,)])]


def test_backward_hook_without_inputs(lib: ModuleType) -> None:
    module = lib.nn.Linear(2, 1)
    seen: list[Any] = []
    handle = module.register_full_backward_hook(lambda mod, gi, go: seen.append((gi, go)))
    with pytest.warns(UserWarning, match="no inputs? .*require"):
        module(lib.ones(1, 2)).sum().backward()
    assert seen[0][0] == (None,) and seen[0][1][0].tolist() == [[1.0]]
    assert module.weight.grad.tolist() == [[1.0, 1.0]]
    handle.remove()
    module.register_full_backward_hook(lambda mod, gi, go: (lib.ones(1),))
    with pytest.warns(UserWarning, match="no inputs? .*require"):
        with raises(lib, RuntimeError, "should always return None"):
            module(lib.ones(1, 2)).sum().backward()


def test_backward_hook_without_grad(lib: ModuleType) -> None:
    module = times(lib, 2.0)
    module.register_full_backward_hook(lambda *given: pytest.fail("no backward, no hook"))
    with lib.no_grad():
        assert module(lib.ones(1)).item() == 2.0
    assert module(lib.ones(1)).requires_grad is False


@pytest.mark.parametrize("kind", ["hook", "pre_hook"])
def test_backward_hook_with_wrong_count(lib: ModuleType, kind: str) -> None:
    module = times(lib, 2.0)
    register = getattr(module, f"register_full_backward_{kind}")
    register(lambda mod, *grads: (lib.ones(1), lib.ones(1)))
    out = module(lib.ones(1, requires_grad=True))
    with raises(lib, RuntimeError, "got 2, but expected 1"):
        out.sum().backward()


def test_backward_hook_needs_tensors(lib: ModuleType) -> None:
    class Wrapped(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return {"y": x}

    module = Wrapped()
    module.register_full_backward_hook(lambda mod, gi, go: None)
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors"):
        assert isinstance(module(lib.ones(1, requires_grad=True)), dict)


def test_kinds_of_backward_hooks_do_not_mix(lib: ModuleType) -> None:
    module = lib.nn.Identity()
    module.register_backward_hook(lambda mod, gi, go: None)
    with raises(lib, RuntimeError, "not both"):
        module.register_full_backward_hook(lambda mod, gi, go: None)
    module = lib.nn.Identity()
    module.register_full_backward_hook(lambda mod, gi, go: None)
    with raises(lib, RuntimeError, "not both"):
        module.register_backward_hook(lambda mod, gi, go: None)


def test_backward_hook_on_the_node(lib: ModuleType) -> None:
    module = lib.nn.Identity()
    module.forward = lambda x: x.exp()
    seen: list[Any] = []
    module.register_backward_hook(lambda mod, gi, go: seen.append((mod, go[0].item())))
    x = lib.zeros(1, requires_grad=True) * 1.0
    module(x).sum().backward()
    assert seen == [(module, 1.0)]
    module.forward = lambda x: x.exp().exp()
    with pytest.warns(FutureWarning, match="register_full_backward_hook|multiple autograd Nodes"):
        module(x)


def test_memory_is_freed(lib: ModuleType) -> None:
    """Hooks make no reference cycle that keeps an activation alive."""
    module = times(lib, 2.0)
    module.register_full_backward_hook(lambda mod, gi, go: None)
    gc.collect()
    gc.disable()
    try:
        out = module(lib.ones(1, requires_grad=True))
        alive = weakref.ref(out)
        out.sum().backward()
        del out
        assert alive() is None
    finally:
        gc.enable()


# Hooks of all modules


def test_global_forward_hooks(lib: ModuleType) -> None:
    module = times(lib, 2.0)
    every = hooks_module(lib)
    order: list[str] = []
    module.register_forward_hook(lambda *given: order.append("own"))
    module.register_forward_pre_hook(lambda *given: order.append("own pre"))
    handles = [
        every.register_module_forward_hook(lambda *given: order.append("all")),
        every.register_module_forward_pre_hook(lambda *given: order.append("all pre")),
        every.register_module_forward_hook(
            lambda mod, args, kwargs, out: order.append(f"all {kwargs}"), with_kwargs=True
        ),
    ]
    try:
        module(1.0, extra=2.0)
        assert order == ["all pre", "own pre", "all", "all {'extra': 2.0}", "own"]
        order.clear()
        lib.nn.Sequential(lib.nn.Identity())(1.0)
        assert order.count("all") == 2
    finally:
        for handle in handles:
            handle.remove()
    order.clear()
    lib.nn.Identity()(1.0)
    assert order == []


def test_global_hooks_leave_no_trace() -> None:
    with hooks_module(nnkit).register_module_forward_hook(lambda *given: None):
        assert nnkit.nn.Identity()._hooked
    nnkit.nn.Identity()(1.0)
    assert not nnkit.nn.Module._hooked


def test_global_backward_hooks(lib: ModuleType) -> None:
    every = hooks_module(lib)
    seen: list[str] = []
    module = times(lib, 2.0)
    module.register_full_backward_hook(lambda *given: seen.append("own"))
    with every.register_module_full_backward_hook(lambda *given: seen.append("all")):
        with every.register_module_full_backward_pre_hook(lambda *given: seen.append("pre")):
            module(lib.ones(1, requires_grad=True)).sum().backward()
    assert seen == ["pre", "all", "own"]
    with raises(lib, RuntimeError, "not both"):
        every.register_module_backward_hook(lambda *given: None)


def test_registration_hooks(lib: ModuleType) -> None:
    every = hooks_module(lib)
    seen: list[Any] = []

    def note(module: Any, name: str, value: Any) -> None:
        seen.append((name, type(value).__name__))

    handles = [
        every.register_module_parameter_registration_hook(note),
        every.register_module_buffer_registration_hook(note),
        every.register_module_module_registration_hook(note),
    ]
    try:
        module = lib.nn.Module()
        module.p = lib.nn.Parameter(lib.ones(1))
        module.register_buffer("b", lib.ones(1))
        module.m = lib.nn.Identity()
        module.add_module("n", None)
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [("p", "Parameter"), ("b", "Tensor"), ("m", "Identity"), ("n", "NoneType")]
    new = lib.nn.Flatten()
    with every.register_module_module_registration_hook(lambda module, name, value: new):
        module.m = lib.nn.Identity()
    assert module.m is new


# Handles


def test_handle(lib: ModuleType) -> None:
    handle_type = lib.utils.hooks.RemovableHandle
    hooks: OrderedDict[int, Any] = OrderedDict()
    other: OrderedDict[int, Any] = OrderedDict()
    handle = handle_type(hooks, extra_dict=other)
    hooks[handle.id] = other[handle.id] = print
    twin = pickle.loads(pickle.dumps(handle))
    assert twin.id == handle.id and handle_type(hooks).id > handle.id
    twin.remove()
    assert len(hooks) == 1
    handle.remove()
    handle.remove()
    assert not hooks and not other
    several = handle_type(hooks, extra_dict=[other])
    hooks[several.id] = other[several.id] = print
    with several as same:
        assert same is several
    assert not hooks and not other


def test_handle_outlives_its_module(lib: ModuleType) -> None:
    module = lib.nn.Identity()
    handle = module.register_forward_hook(print)
    del module
    gc.collect()
    handle.remove()


def test_full_hooks_are_skipped_where_the_output_is_a_dict(lib: ModuleType) -> None:
    class Named(lib.nn.Module):
        def forward(self, x: Any) -> Any:
            return {"y": x * 2}

    module, x = Named(), lib.ones(1, requires_grad=True)
    module.register_full_backward_hook(lambda *_: pytest.fail("it ran"))
    with pytest.warns(UserWarning, match="Tensor"):
        out = module(x)
    out["y"].backward()
    assert x.grad.item() == 2


def test_hooks_lie_where_libraries_look_for_them(lib: ModuleType) -> None:
    module = lib.nn.Identity()
    first = module.register_forward_pre_hook(print, with_kwargs=True)
    second = module.register_forward_hook(repr, with_kwargs=True, always_call=True)
    module.register_forward_pre_hook(str)
    assert list(module._forward_pre_hooks.values()) == [print, str]
    assert list(module._forward_pre_hooks_with_kwargs) == [first.id]
    assert first.hooks_dict_ref() is module._forward_pre_hooks
    assert list(module._forward_hooks.values()) == [repr]
    assert second.id in module._forward_hooks_with_kwargs
    assert second.id in module._forward_hooks_always_called
    first.remove()
    second.remove()
    assert list(module._forward_pre_hooks.values()) == [str]
    assert not module._forward_pre_hooks_with_kwargs and not module._forward_hooks_always_called
    del lib.nn.Identity()._state_dict_hooks
