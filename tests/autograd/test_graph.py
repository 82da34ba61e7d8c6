"""Hooks on what a graph saves and on several gradients; checkpoints, which are made of them."""

from __future__ import annotations

import collections
import math
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises


@pytest.fixture
def graph(lib: ModuleType) -> Any:
    return import_module(f"{lib.__name__}.autograd.graph")


@pytest.fixture
def checkpoints(lib: ModuleType) -> Any:
    return import_module(f"{lib.__name__}.utils.checkpoint")


def leaf(lib: ModuleType, *values: float) -> Any:
    return lib.tensor(list(map(float, values)), requires_grad=True)


def test_saved_tensors_are_packed_and_unpacked(lib: ModuleType, graph: Any) -> None:
    log: list[str] = []
    grads: list[bool] = []

    def pack(t: Any) -> Any:
        log.append("pack")
        grads.append(t.requires_grad)
        return t.tolist()

    def unpack(packed: Any) -> Any:
        log.append("unpack")
        return lib.tensor(packed)

    a, b = leaf(lib, 1, 2), leaf(lib, 3, 4)
    with graph.saved_tensors_hooks(pack, unpack):
        y = (a * b).sigmoid()
    outside = (a * a).sum()
    assert log == ["pack"] * 3 and grads[:2] == [True, True]
    (y.sum() + outside).backward()
    assert log == ["pack"] * 3 + ["unpack"] * 3
    assert a.grad.tolist() == pytest.approx([2 + 3 * 0.04517666, 4 + 4 * 0.00033524], rel=1e-4)


def test_packed_values_keep_their_history(lib: ModuleType, graph: Any) -> None:
    x = leaf(lib, 0.5)
    with graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = (x * x).exp() * x
    (first,) = lib.autograd.grad(y, x, create_graph=True)
    (second,) = lib.autograd.grad(first, x)
    # y = x exp(x^2); y' = (1 + 2 x^2) exp(x^2); y'' = (6 x + 4 x^3) exp(x^2)
    assert first.item() == pytest.approx(1.5 * 1.2840254, rel=1e-6)
    assert second.item() == pytest.approx(3.5 * 1.2840254, rel=1e-6)


def test_hooks_pack_what_functions_save(lib: ModuleType, graph: Any) -> None:
    class Square(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return ctx.saved_tensors[0] * 2 * g

    x = leaf(lib, 3)
    with graph.saved_tensors_hooks(lambda t: t.item(), lambda number: lib.tensor([number + 1])):
        y = Square.apply(x)
    y.backward()
    assert x.grad.item() == 8


def test_innermost_hooks_and_save_on_cpu(lib: ModuleType, graph: Any) -> None:
    x = leaf(lib, 2)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t * 0), graph.save_on_cpu():
        y = x * x
    y.backward()
    assert x.grad.item() == 4
    with graph.save_on_cpu(pin_memory=True):
        y = x * x
    y.backward()
    assert x.grad.item() == 8


def test_unpack_must_return_a_tensor(lib: ModuleType, graph: Any) -> None:
    x = leaf(lib, 2)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 1):
        y = x * x
    with raises(lib, TypeError, "unpack_hook expected to be a Tensor"):
        y.backward()


def test_pack_hooks_must_not_write(lib: ModuleType, graph: Any) -> None:
    x = leaf(lib, 2)
    for function in (lambda x: x.exp(), lambda x: x[lib.tensor([0])]):
        with (
            raises(lib, RuntimeError, "pack hook is modifying its input in place"),
            graph.saved_tensors_hooks(lambda t: t.add_(0), lambda t: t),
        ):
            function(x)


def test_disabled_hooks(lib: ModuleType, graph: Any) -> None:
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


def test_hook_on_several_gradients(lib: ModuleType, graph: Any) -> None:
    a, b = leaf(lib, 2), leaf(lib, 3)
    seen: list[Any] = []
    with graph.register_multi_grad_hook((a, b), lambda gs: seen.append([g.item() for g in gs])):
        for _ in range(2):
            (a * b).backward()
    (a * b).backward()
    assert seen == [[3, 2]] * 2
    seen.clear()
    graph.register_multi_grad_hook((a, b), lambda g: seen.append(g.item()), mode="any")
    (a * b).backward()
    assert len(seen) == 1
    with raises(lib, ValueError, "Expects mode to be one of"):
        graph.register_multi_grad_hook((a, b), print, mode="x")


def test_gradient_edge_and_version(lib: ModuleType, graph: Any) -> None:
    y = leaf(lib, 1, 2) * 2
    edge = graph.get_gradient_edge(y.unbind()[1])
    assert type(edge.node).__name__ == "UnbindBackward0" and edge.output_nr == 1
    assert type(graph.get_gradient_edge(leaf(lib, 1)).node).__name__ == "AccumulateGrad"
    with raises(lib, RuntimeError, "must require grad"):
        graph.get_gradient_edge(lib.ones(1))
    graph.increment_version(y)
    assert y._version == 1


def test_first_gradients_along_edges(lib: ModuleType, graph: Any) -> None:
    x, grad = leaf(lib, 1, 2), lib.autograd.grad
    edges = [graph.get_gradient_edge(t) for t in (x * 2, x, (x * 2).unbind()[1])]
    for edge, shape in zip(edges, ([2], [2], []), strict=True):
        for wrong in ((3,), (1, 2)):
            with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has"):
                grad(edge, x, lib.ones(wrong), retain_graph=True)
        grad(edge, x, lib.ones(shape), retain_graph=True)
        assert grad(edge, x, lib.ones(shape).double(), retain_graph=True)[0].dtype is lib.float32
        with pytest.raises(RuntimeError, match="are required to have the same dtype"):
            grad(edge, x, lib.ones(shape) * 1j, retain_graph=True)
    for edge in edges[:2]:
        with pytest.raises(RuntimeError, match="can be implicitly created only for scalar outputs"):
            grad(edge, x)
    assert grad(edges[2], x)[0].tolist() == [0, 2]
    assert grad(graph.get_gradient_edge((x * 3).sum()), x)[0].tolist() == [3, 3]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint(lib: ModuleType, checkpoints: Any, reentrant: bool) -> None:
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(2, 8), lib.nn.Dropout(0.5), lib.nn.Linear(8, 1))
    x = lib.ones(3, 2, requires_grad=True)
    state = lib.get_rng_state()
    model(x).sum().backward()
    parameters = [*model.parameters(), x]
    expected = [p.grad.tolist() for p in parameters]
    after = lib.rand(1).item()
    for run in (
        lambda: checkpoints.checkpoint(model, x, use_reentrant=reentrant),
        lambda: checkpoints.checkpoint_sequential(model, 2, x, use_reentrant=reentrant),
    ):
        for p in parameters:
            p.grad = None
        lib.set_rng_state(state)
        run().sum().backward()
        assert [p.grad.tolist() for p in parameters] == expected
        assert lib.rand(1).item() == after


def test_checkpoints_run_twice_and_may_be_nested(lib: ModuleType, checkpoints: Any) -> None:
    runs: list[int] = []

    def inner(x: Any, k: int = 1) -> Any:
        runs.append(k)
        return (x * k).sin() * x

    def outer(x: Any) -> Any:
        return checkpoints.checkpoint(inner, x * 2, k=3, use_reentrant=False).exp()

    x, y = leaf(lib, 0.3), leaf(lib, 0.3)
    checkpoints.checkpoint(outer, x, use_reentrant=False).backward()
    assert len(runs) in (2, 3)
    inner(y * 2, k=3).exp().backward()
    assert x.grad.item() == pytest.approx(y.grad.item())
    with lib.no_grad():
        assert not checkpoints.checkpoint(outer, x, use_reentrant=False).requires_grad


def test_checkpoints_refuse(lib: ModuleType, checkpoints: Any) -> None:
    x, runs = leaf(lib, 1, 2), [0]
    with raises(lib, ValueError, "unexpected keyword arguments k"):
        checkpoints.checkpoint(lambda x, k: x, x, k=1, use_reentrant=True)
    with pytest.warns(UserWarning, match="use_reentrant"):
        checkpoints.checkpoint(lambda x: x * 2, x)
    with pytest.warns(UserWarning, match="grad"):
        checkpoints.checkpoint(lambda x: x * 2, lib.ones(1), use_reentrant=True)
    with raises(lib, ValueError, "unexpected keyword arguments k"):
        checkpoints.checkpoint_sequential([lib.exp], 1, x, use_reentrant=False, k=1)
    with raises(lib, ValueError, "`debug` is only supported when use_reentrant=False"):
        checkpoints.checkpoint(lib.exp, x, use_reentrant=True, debug=True)
    contexts = lambda: checkpoints.noop_context_fn()
    with raises(lib, ValueError, "debug=True is incompatible with non-default context_fn"):
        checkpoints.checkpoint(lib.exp, x, use_reentrant=False, debug=True, context_fn=contexts)

    def changes(x: Any) -> Any:
        runs[0] += 1
        return (x * x).sin() if runs[0] == 1 else x.sin()

    def grows(x: Any) -> Any:
        runs[0] += 1
        return x.sin() if runs[0] == 1 else (x * x).sin()

    def shrinks(x: Any) -> Any:
        runs[0] += 1
        return x[: runs[0]].sin() * x[: runs[0]]

    for function, match in (
        (changes, "A different number of tensors was saved"),
        (grows, "trying to save more tensors during recomputation"),
        (shrinks, "tensor at position 0"),
    ):
        runs[0] = 0
        with checkpoints.set_checkpoint_early_stop(False):
            y = checkpoints.checkpoint(function, x, use_reentrant=False)
        with raises(lib, checkpoints.CheckpointError, match):
            y.sum().backward()
        runs[0] = 0
        with checkpoints.set_checkpoint_debug_enabled(True):
            y = checkpoints.checkpoint(function, x, use_reentrant=False, early_stop=False)
        with raises(lib, checkpoints.CheckpointError, r"passed `debug=True` to checkpoint") as told:
            y.sum().backward()
        assert "sin" in str(told.value)


def test_grad_modes_decorate_the_making_of_instances(lib: ModuleType) -> None:
    with pytest.warns(FutureWarning, match="class"):

        @lib.no_grad()
        class Made:
            def __init__(self) -> None:
                self.enabled = lib.is_grad_enabled()

    assert not Made().enabled and lib.is_grad_enabled()


@pytest.mark.filterwarnings("ignore:.torch.jit")
def test_forward_mode_jacobians(lib: ModuleType) -> None:
    jacobian = import_module(f"{lib.__name__}.autograd.functional").jacobian
    x = lib.tensor([1.0, 2.0])
    found = jacobian(lambda x: x**2, x, vectorize=True, strategy="forward-mode")
    assert found.tolist() == [[2, 0], [0, 4]]
    if lib.__name__ == "nnkit":
        with pytest.raises(NotImplementedError, match="needs vectorize"):
            jacobian(lambda x: x**2, x, strategy="forward-mode")
        with pytest.raises(AssertionError, match="strategy must be"):
            jacobian(lambda x: x**2, x, strategy="x")


def test_saved_tensors_may_be_written(lib: ModuleType) -> None:
    allow = lib.autograd.graph.allow_mutation_on_saved_tensors
    with allow():
        x = lib.ones(2, requires_grad=True)
        y = x.clone()
        out = (y**2 * y.exp()).sum()
        y.sin_()
        out.backward()
        assert x.grad.tolist() == pytest.approx([3 * math.e] * 2)
        with pytest.raises(RuntimeError, match="nested"), allow():
            pass
        late = (x * x).sum()
    with pytest.raises(AssertionError, match="outside"):
        late.backward()


def test_copies_of_what_is_written_go_with_the_graph(lib: ModuleType) -> None:
    with lib.autograd.graph.allow_mutation_on_saved_tensors() as kept:
        x = lib.ones(2, requires_grad=True).clone()
        first, second = x**2, x**2
        x.mul_(2)
        third = x**2
        assert len(kept.cloned) == 1
        x.mul_(2)
        assert len(kept.cloned) == 2
        del first, second
        assert len(kept.cloned) == 1
        del third
        assert not kept.cloned


def test_hooks_that_are_put_there(lib: ModuleType) -> None:
    x, plain = leaf(lib, 1, 2), lib.ones(2)
    x._backward_hooks = collections.OrderedDict(tenfold=lambda g: g * 10)
    x.sum().backward()
    assert x.grad.tolist() == [10, 10]
    x.register_hook(lambda g: g + 1)
    assert len(x._backward_hooks) == 2
    (x * 2).sum().backward()
    assert x.grad.tolist() == [31, 31]
    x._backward_hooks = None
    x.sum().backward()
    assert x.grad.tolist() == [32, 32] and x._backward_hooks is None
    y = x * 2
    y._backward_hooks = collections.OrderedDict(tenfold=lambda g: g * 10)
    y.sum().backward()
    assert x.grad.tolist() == [34, 34]
    plain._backward_hooks = collections.OrderedDict()
    assert len(plain._backward_hooks) == 0
