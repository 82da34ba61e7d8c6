"""`Optimizer`: groups, closures, hooks, checkpoints and errors, on nnkit and on torch alike."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
import nnkit.optim
from tests.frameworks import raises

KINDS = ("SGD", "Adam", "AdamW")
each_kind = pytest.mark.parametrize("kind", KINDS)


def leaf(lib: ModuleType, *values: float) -> Any:
    return lib.tensor(list(values), dtype=lib.float64, requires_grad=True)


def trained(lib: ModuleType, kind: str = "SGD", steps: int = 2, **options: Any) -> tuple[Any, Any]:
    """A parameter and its optimizer after some steps on ``sum(p**2)``."""
    p = leaf(lib, 1.0, -2.0, 3.0)
    optimizer = getattr(lib.optim, kind)([p], **{"lr": 0.1, **options})
    advance(p, optimizer, steps)
    return p, optimizer


def advance(p: Any, optimizer: Any, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        (p * p).sum().backward()
        optimizer.step()


# Groups


def test_every_group_has_its_own_options(lib: ModuleType) -> None:
    a, b, c = (leaf(lib, 1.0) for _ in range(3))
    optimizer = lib.optim.SGD(
        [{"params": a, "lr": 1.0}, {"params": [b]}, {"params": iter([c]), "maximize": True}], lr=0.5
    )
    for p in (a, b, c):
        p.grad = lib.ones(1, dtype=lib.float64)
    optimizer.step()
    assert [p.item() for p in (a, b, c)] == [0.0, 0.5, 1.5]


def test_named_parameters(lib: ModuleType) -> None:
    a, b = leaf(lib, 1.0), leaf(lib, 2.0)
    optimizer = lib.optim.SGD([("a", a), ("b", b)])
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]
    assert optimizer.param_groups[0]["params"][1] is b
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]
    for group in ([leaf(lib, 1.0)], [("c", leaf(lib, 1.0)), leaf(lib, 1.0)]):
        with raises(lib, ValueError, "with/without names"):
            optimizer.add_param_group({"params": group})
    with raises(lib, ValueError, "cannot add param group without names to the optimizer"):
        optimizer.add_param_group({"params": [leaf(lib, 1.0)]})


@each_kind
def test_parameters_without_gradient_are_left_alone(lib: ModuleType, kind: str) -> None:
    a, b = leaf(lib, 1.0), leaf(lib, 2.0)
    optimizer = getattr(lib.optim, kind)([a, b], lr=0.1)
    optimizer.step()
    assert len(optimizer.state) == 0
    a.grad = lib.ones(1, dtype=lib.float64)
    optimizer.step()
    assert b.item() == 2.0 and b not in optimizer.state and a.item() < 1.0


@each_kind
def test_a_group_added_later(lib: ModuleType, kind: str) -> None:
    p, optimizer = trained(lib, kind)
    q = leaf(lib, 1.0)
    optimizer.add_param_group({"params": q, "lr": 0.5})
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.5]
    assert optimizer.param_groups[0].keys() == optimizer.param_groups[1].keys()
    before = p.tolist()
    optimizer.zero_grad()
    q.grad = lib.ones(1, dtype=lib.float64)
    optimizer.step()
    assert q.item() < 1.0 and p.tolist() == before


@each_kind
def test_a_tensor_as_learning_rate_may_change(lib: ModuleType, kind: str) -> None:
    rate = lib.tensor(0.1, dtype=lib.float64)
    p, optimizer = trained(lib, kind, lr=rate)
    q, other = trained(lib, kind, lr=0.1)
    np.testing.assert_allclose(p.tolist(), q.tolist(), 1e-12)
    rate.fill_(0.2)
    other.param_groups[0]["lr"] = 0.2
    advance(p, optimizer, 1)
    advance(q, other, 1)
    np.testing.assert_allclose(p.tolist(), q.tolist(), 1e-12)


# Steps


def test_a_closure_runs_with_gradients(lib: ModuleType) -> None:
    p = leaf(lib, 1.0, 2.0)
    optimizer = lib.optim.SGD([p], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with lib.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 5.0 and loss.requires_grad
    np.testing.assert_allclose(p.tolist(), [0.8, 1.6])
    assert optimizer.step() is None


def test_zero_grad(lib: ModuleType) -> None:
    p, q = leaf(lib, 1.0), leaf(lib, 1.0)
    optimizer = lib.optim.SGD([p, q])
    (p * p).sum().backward()
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad and grad.item() == 0.0 and q.grad is None
    optimizer.zero_grad()
    assert [p.grad, q.grad] == [None, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch: of the reference cycle
        (p**3).sum().backward(create_graph=True)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.grad_fn is None and not p.grad.requires_grad


def test_a_step_is_seen_by_the_graph(lib: ModuleType) -> None:
    p = leaf(lib, 1.0)
    loss = (p * p).sum()
    p.grad = lib.ones(1, dtype=lib.float64)
    lib.optim.SGD([p]).step()
    with raises(lib, RuntimeError, "in.?place"):
        loss.backward()


@each_kind
def test_steps_make_no_graph(lib: ModuleType, kind: str) -> None:
    p, optimizer = trained(lib, kind)
    assert p.is_leaf and p.requires_grad
    tensors = [v for v in optimizer.state[p].values() if v is not None]
    assert not any(t.requires_grad for t in tensors)


def test_an_optimizer_of_ones_own(lib: ModuleType) -> None:
    calls = []

    class SignDescent(lib.optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        def step(self, closure: Any = None) -> str:
            with lib.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        self.state[p]["steps"] = self.state[p].get("steps", 0) + 1
                        p -= group["lr"] * p.grad.sign()
            return "done"

    p = leaf(lib, 1.0, -1.0)
    optimizer = SignDescent([p], 0.25)
    optimizer.register_step_pre_hook(lambda *a: calls.append("pre"))
    optimizer.register_step_post_hook(lambda *a: calls.append("post"))
    (p * p).sum().backward()
    assert optimizer.step() == "done" and calls == ["pre", "post"]
    assert p.tolist() == [0.75, -0.75]
    assert optimizer.state_dict()["state"] == {0: {"steps": 1}}


def test_an_optimizer_without_step(lib: ModuleType) -> None:
    with raises(lib, NotImplementedError, "neither step nor update_group"):
        lib.optim.Optimizer([leaf(lib, 1.0)], {}).step()


# Hooks


def test_step_hooks(lib: ModuleType) -> None:
    p, optimizer = trained(lib)
    other = trained(lib)[1]
    calls: list[str] = []
    functions = import_module(f"{lib.__name__}.optim.optimizer")

    def note(name: str) -> Any:
        def hook(which: Any, arguments: tuple, options: dict) -> None:
            assert which is optimizer or which is other
            calls.append(name)

        return hook

    handles = [
        functions.register_optimizer_step_pre_hook(note("all before")),
        functions.register_optimizer_step_post_hook(note("all after")),
        optimizer.register_step_pre_hook(note("before")),
        optimizer.register_step_post_hook(note("after")),
    ]
    try:
        optimizer.step()
        assert calls == ["all before", "before", "after", "all after"]
        calls.clear()
        other.step()
        assert calls == ["all before", "all after"]
    finally:
        for handle in handles:
            handle.remove()
    calls.clear()
    optimizer.step()
    assert calls == []


def test_a_step_hook_may_replace_the_arguments(lib: ModuleType) -> None:
    _, optimizer = trained(lib)
    handle = optimizer.register_step_pre_hook(lambda o, a, k: ((*a, lambda: "loss"), {}))
    assert optimizer.step() == "loss"
    handle.remove()
    optimizer.register_step_pre_hook(lambda o, a, k: "nonsense")
    with raises(lib, RuntimeError, "None or a tuple of"):
        optimizer.step()


def test_optimizers_of_users_keep_what_they_count(lib: ModuleType) -> None:
    class Counting(lib.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1, "flag": False, "other": None})

        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["step"] = state.get("step", 0) + 1

    class Derived(lib.optim.Adam):
        pass

    found = []
    for kind in (Counting, Derived):
        x = lib.nn.Parameter(lib.ones(2))
        x.grad = lib.ones(2)
        optimizer = kind([x])
        optimizer.step()
        saved = optimizer.state_dict()
        if kind is Derived:
            saved["state"][0]["step"] = 1  # as older versions save it
        del saved["param_groups"][0]["flag" if kind is Counting else "amsgrad"]
        optimizer.load_state_dict(saved)
        group = optimizer.param_groups[0]
        found.append((type(optimizer.state[x]["step"]).__name__, {*group} & {"flag", "amsgrad"}))
    assert found == [("int", set()), ("Tensor", {"amsgrad"})]


YOUNG = {"maximize", "foreach", "fused", "capturable", "differentiable"}


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("SGD", {"nesterov"}), ("Adam", {"amsgrad", "decoupled_weight_decay"}),
        ("AdamW", {"amsgrad", "decoupled_weight_decay"}), ("NAdam", {"decoupled_weight_decay"}),
        ("RAdam", {"decoupled_weight_decay"}), ("RMSprop", {"momentum", "centered"}),
        ("Adadelta", set()), ("Adagrad", set()), ("Adamax", set()), ("ASGD", set()),
        ("Rprop", set()),
    ],
)  # fmt: skip
def test_checkpoints_that_are_older_than_a_choice(lib: ModuleType, kind: str, names: set) -> None:
    found = []
    for absent in (set(), names | YOUNG):
        p = lib.nn.Parameter(lib.tensor([1.0, -2.0]))
        kept = {} if kind in ("Rprop",) else {"weight_decay": 0.5}
        optimizer = getattr(lib.optim, kind)([p], lr=0.1, **kept)
        for _ in range(2):
            p.grad = lib.tensor([0.5, 0.25])
            optimizer.step()
            saved = optimizer.state_dict()
            for name in absent & {*saved["param_groups"][0]}:
                del saved["param_groups"][0][name]
            optimizer.load_state_dict(saved)
        found.append(p.tolist())
    assert found[0] == found[1]


def test_state_dict_hooks(lib: ModuleType) -> None:
    p, optimizer = trained(lib, momentum=0.9)
    calls: list[str] = []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("first"), prepend=True)
    handle = optimizer.register_state_dict_post_hook(lambda o, d: {**d, "extra": 1})
    state = optimizer.state_dict()
    assert state["extra"] == 1 and calls == ["first", "second"]
    handle.remove()
    assert "extra" not in optimizer.state_dict()

    def double(which: Any, state: dict) -> dict:
        groups = [{**g, "lr": 2 * g["lr"]} for g in state["param_groups"]]
        return {**state, "param_groups": groups}

    optimizer.register_load_state_dict_pre_hook(double)
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append("loaded"))
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["lr"] == 0.2 and calls[-1] == "loaded"


# Checkpoints

COMMON = {"differentiable", "foreach", "lr", "maximize", "params", "weight_decay", "fused"}
KEYS = {
    "SGD": (COMMON | {"dampening", "momentum", "nesterov"}, {"momentum_buffer"}),
    "Adam": (
        COMMON | {"amsgrad", "betas", "capturable", "decoupled_weight_decay", "eps"},
        {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"},
    ),
}
KEYS["AdamW"] = KEYS["Adam"]
OPTIONS: dict[str, dict[str, Any]] = {
    "SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}, "AdamW": {"amsgrad": True},
}  # fmt: skip


@each_kind
def test_keys_of_a_checkpoint(lib: ModuleType, kind: str) -> None:
    _, optimizer = trained(lib, kind, **OPTIONS[kind])
    state = optimizer.state_dict()
    group_keys, state_keys = KEYS[kind]
    assert set(state) == {"state", "param_groups"}
    assert set(state["param_groups"][0]) == group_keys
    assert state["param_groups"][0]["params"] == [0]
    assert set(state["state"]) == {0} and set(state["state"][0]) == state_keys


@each_kind
def test_training_goes_on_from_a_checkpoint(lib: ModuleType, kind: str) -> None:
    p, optimizer = trained(lib, kind, **OPTIONS[kind])
    q = p.detach().clone().requires_grad_()
    other = getattr(lib.optim, kind)([q], lr=7.0)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    advance(p, optimizer, 3)
    advance(q, other, 3)
    assert p.tolist() == q.tolist()
    if kind != "SGD":
        assert other.state[q]["step"].item() == 5.0


@each_kind
def test_a_checkpoint_takes_the_parameters_dtype(lib: ModuleType, kind: str) -> None:
    _, optimizer = trained(lib, kind, **OPTIONS[kind])
    q = lib.zeros(3, requires_grad=True)
    other = getattr(lib.optim, kind)([q])
    other.load_state_dict(optimizer.state_dict())
    assert all(v.dtype == lib.float32 for v in other.state[q].values())


@each_kind
@pytest.mark.parametrize("way", ["pickle", "deepcopy"])
def test_copies_go_on_alike(lib: ModuleType, kind: str, way: str) -> None:
    original = trained(lib, kind, **OPTIONS[kind])
    if way == "pickle":
        p, optimizer = pickle.load(io.BytesIO(pickle.dumps(original)))
    else:
        p, optimizer = copy.deepcopy(original)
    assert optimizer.param_groups[0]["params"][0] is p and p is not original[0]
    for each in ((p, optimizer), original):
        advance(*each, 2)
    assert p.tolist() == original[0].tolist()


@each_kind
def test_a_failed_load_changes_nothing(lib: ModuleType, kind: str) -> None:
    p, optimizer = trained(lib, kind, **OPTIONS[kind])
    before = repr(optimizer.state_dict())
    state = optimizer.state_dict()
    group = state["param_groups"][0]
    with raises(lib, ValueError, "different number of parameter groups: got 2, expected 1"):
        optimizer.load_state_dict({**state, "param_groups": [group, group]})
    with raises(lib, ValueError, "match the size of optimizer's group: group 0 has 2 parameters"):
        optimizer.load_state_dict({**state, "param_groups": [{**group, "params": [0, 1]}]})
    with pytest.raises(KeyError, match="param_groups"):
        optimizer.load_state_dict({"state": {}})
    assert repr(optimizer.state_dict()) == before and optimizer.state[p]


@each_kind
def test_repr_is_torchs(torch: ModuleType, kind: str) -> None:
    for options in ({}, OPTIONS[kind], {"lr": 0.5, "weight_decay": 0.25}):
        ours, theirs = (trained(lib, kind, 0, **options)[1] for lib in (nnkit, torch))
        for lib, optimizer in ((nnkit, ours), (torch, theirs)):
            optimizer.add_param_group({"params": leaf(lib, 1.0), "lr": 3.0})
        assert repr(ours) == repr(theirs)


def test_repr() -> None:
    text = repr(nnkit.optim.SGD([leaf(nnkit, 1.0)], lr=0.5))
    assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0\n")
    assert "    lr: 0.5\n" in text and text.endswith("    weight_decay: 0\n)")


def test_a_wrapper_that_never_called_init(lib: ModuleType) -> None:
    """As accelerate's: it hands everything on to the optimizer that it holds."""

    class Wrapper(lib.optim.Optimizer):
        def __init__(self, held: Any) -> None:
            self.held = held

        def step(self, closure: Any = None) -> Any:
            return self.held.step(closure)

    weight = lib.nn.Parameter(lib.ones(1))
    weight.grad = lib.ones(1)
    Wrapper(lib.optim.SGD([weight], lr=0.5)).step()
    assert weight.item() == 0.5


@pytest.mark.parametrize("kind", ["Adam", "Adagrad", "ASGD", "RMSprop", "Rprop", "Adafactor"])
def test_numbers_of_the_state_have_the_default_dtype(lib: ModuleType, kind: str) -> None:
    lib.set_default_dtype(lib.float64)
    try:
        p = lib.tensor([[1.0, 2.0]], requires_grad=True)
        optimizer = getattr(lib.optim, kind)([p])
        advance(p, optimizer, 2)
        assert optimizer.state[p]["step"].dtype == lib.float64
        assert optimizer.state[p]["step"].item() == 2
    finally:
        lib.set_default_dtype(lib.float32)


def test_a_fused_step_is_counted_in_float32(lib: ModuleType) -> None:
    lib.set_default_dtype(lib.float64)
    try:
        p = lib.tensor([1.0], requires_grad=True)
        optimizer = lib.optim.Adam([p], fused=True)
        advance(p, optimizer, 1)
        assert optimizer.state[p]["step"].dtype == lib.float32
    finally:
        lib.set_default_dtype(lib.float32)


def test_the_state_of_rprop_is_in_torchs_order(lib: ModuleType) -> None:
    p = lib.tensor([1.0], requires_grad=True)
    optimizer = lib.optim.Rprop([p])
    advance(p, optimizer, 1)
    assert list(optimizer.state[p]) == ["step", "prev", "step_size"]


def test_gradients_that_a_class_keeps_elsewhere_are_cleared() -> None:
    class Kept(nnkit.Tensor):
        """A parameter whose gradient is that of another tensor."""

        @classmethod
        def __torch_function__(
            cls, func: Any, types: tuple, args: tuple = (), kwargs: dict | None = None
        ) -> Any:
            if getattr(func, "__self__", None) is nnkit.Tensor.grad:
                args = args[0].held, *args[1:]
            return super().__torch_function__(func, types, args, kwargs)  # pyright: ignore

    parameter = nnkit.ones(2).as_subclass(Kept).requires_grad_()
    parameter.held = nnkit.ones(2, requires_grad=True)
    optimizer = nnkit.optim.SGD([parameter], lr=0.1)
    (parameter.held * 3).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert parameter.held.grad is not None and parameter.held.grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert parameter.held.grad is None
