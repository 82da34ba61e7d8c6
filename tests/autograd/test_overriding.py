"""``__torch_function__``: who answers for a function, and what subclasses give."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any

import pytest

import nnkit
from nnkit.autograd.overriding import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    refuse,
)
from nnkit.overrides import BaseTorchFunctionMode, TorchFunctionMode

# Expressions of `T`, the framework, and `w`, an object that answers for functions.
ANSWERED = {
    "T.relu(w)": "relu",
    "T.nn.functional.relu(w)": "relu",
    "T.ones(2) + w": "add",
    "T.ones(2) @ w": "matmul",
    "T.ones(2).add(w)": "add",
    "T.ones(2) == w": "eq",
    "T.cat([T.ones(2), w])": "cat",
    "T.where(w, T.ones(2), 0)": "where",
    "T.sum(w, dim=0)": "sum",
    "T.einsum('i->', w)": "einsum",
    "T.broadcast_tensors(T.ones(2), w)": "broadcast_tensors",
    "T.nn.Linear(2, 2)(w)": "linear",
    "T.nn.functional.linear(T.ones(2), w)": "linear",
    "T.nn.functional.dropout(w, 0.5)": "dropout",
    "T.nn.functional.cross_entropy(w, T.ones(2))": "cross_entropy",
    "T.zeros_like(w)": "zeros_like",
    "T.ones(2)[w]": "__getitem__",
    "T.ones(3).view(w)": "view",
    "T.ones(3).mul_(w)": "mul_",
    "T.clamp(T.ones(2), min=w)": "clamp",
}
# Expressions of `s`, of a subclass of Tensor, whose results are of it.
KEPT = (
    "s + 1", "1 - s", "s * s", "-s", "s.exp()", "s.sum()", "T.relu(s)", "s[0]", "s[s > 0]",
    "s.view(1, 2).mT",
    "T.cat([s, T.ones(2)])", "T.ones(2) + s", "s.max(0)", "s.split(1)", "s.data", "s.detach()",
    "s.clone()", "s.double()", "s.to(T.float64)", "s.new_zeros(2)", "T.zeros_like(s)", "s == s",
    "T.nn.functional.softmax(s, 0)", "s.add_(1)", "s.mul_(2)", "s.requires_grad_()", "s.view(-1)",
    "T.nn.Linear(2, 1)(s)", "list(s)", "s.sort()", "T.stack([s, s])", "s @ s", "s.unsqueeze(0)",
    "T.broadcast_to(s, (2, 2))", "s.numpy()", "s.tolist()", "s.shape", "s.item if 0 else 1",
    "T.nn.Parameter(s)", "T.nn.Parameter(T.ones(2)) * 2", "s.as_subclass(T.Tensor)",
)  # fmt: skip
PROGRAM = """
class W:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "answered", func.__name__, types, len(args), sorted(kwargs or {})
class S(T.Tensor): pass
class Q(T.nn.Parameter): pass
w, s = W(), T.ones(2).as_subclass(S)
"""


def namespace(framework: Any) -> dict[str, Any]:
    names: dict[str, Any] = {"T": framework}
    exec(PROGRAM, names)
    return names


def kinds(value: Any) -> Any:
    if type(value) in (tuple, list):
        return [type(value).__name__, *map(kinds, value)]
    return type(value).__name__


@pytest.mark.parametrize("expression", ANSWERED)
def test_an_argument_answers(expression: str) -> None:
    names = namespace(nnkit)
    answer = eval(expression, names)
    assert answer[:3] == ("answered", ANSWERED[expression], (names["W"],))


@pytest.mark.parametrize("expression", ANSWERED)
def test_an_argument_answers_as_in_torch(expression: str, torch: ModuleType) -> None:
    assert eval(expression, namespace(torch))[1] == ANSWERED[expression]


@pytest.mark.parametrize("expression", KEPT)
def test_a_subclass_is_kept_as_in_torch(expression: str, torch: ModuleType) -> None:
    ours, theirs = (kinds(eval(expression, namespace(T))) for T in (nnkit, torch))
    assert ours == theirs


def test_a_subclass_is_kept() -> None:
    names = namespace(nnkit)
    assert kinds(eval("(s + 1, s[0], s.exp(), T.relu(s))", names)) == ["tuple"] + ["S"] * 4
    assert kinds(eval("Q(T.ones(2)) + 1", names)) == "Tensor"
    assert repr(names["s"]) == "S([1., 1.])"


@pytest.mark.parametrize("framework", ["nnkit", "torch"])
def test_who_is_asked_first(framework: str) -> None:
    T = nnkit if framework == "nnkit" else pytest.importorskip("torch")
    log: list[str] = []

    class Base:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            log.append(cls.__name__)
            return NotImplemented

    class Derived(Base): ...

    class Other(Base): ...

    with pytest.raises(TypeError, match="no implementation found|Multiple dispatch failed"):
        T.cat([Base(), Other(), Derived(), Derived()])
    assert log == ["Other", "Derived", "Base"]


@pytest.mark.parametrize("framework", ["nnkit", "torch"])
def test_a_subclass_that_counts(framework: str) -> None:
    T: Any = nnkit if framework == "nnkit" else pytest.importorskip("torch")
    log: list[str] = []

    class Logged(T.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = T.ones(2).as_subclass(Logged)
    log.clear()
    y = (x * 2 + T.ones(2)).relu()
    z = T.nn.functional.softmax(y, 0)
    assert type(z) is Logged
    assert log == ["mul", "add", "relu", "softmax"]


def test_a_mode_answers_for_all() -> None:
    log: list[Any] = []

    class Logged(TorchFunctionMode):
        def __init__(self, name: str) -> None:
            self.name = name

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            log.append((self.name, func.__name__))
            return func(*args, **(kwargs or {}))

    x = nnkit.ones(2)
    with Logged("outer"), Logged("inner"):
        y = x + 1
        nnkit.zeros(2)
        nnkit.nn.functional.relu(y)
        y[0]
    _ = x * 2
    names = ["add", "zeros", "relu", "__getitem__"]
    assert log == [(mode, name) for name in names for mode in ("inner", "outer")]


def test_a_class_can_refuse() -> None:
    class Quiet(nnkit.Tensor):
        __torch_function__ = refuse

    x = nnkit.ones(2).as_subclass(Quiet)
    assert type(x + 1) is nnkit.Tensor
    assert not nnkit.overrides.has_torch_function((x,))
    with pytest.raises(TypeError, match="must be Tensor"):
        nnkit.relu(object())


def test_gradients_flow_through_subclasses() -> None:
    class S(nnkit.Tensor): ...

    x = nnkit.ones(2).as_subclass(S).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_blocks_in_which_nobody_answers() -> None:
    names = namespace(nnkit)
    with DisableTorchFunctionSubclass():
        assert kinds(eval("(s + 1, s[0], T.cat([s]))", names)) == ["tuple"] + ["Tensor"] * 3
        assert eval("T.relu(w)", names)[0] == "answered"  # it is no Tensor
    with DisableTorchFunction(), pytest.raises(TypeError, match="must be Tensor"):
        eval("T.relu(w)", names)
    with BaseTorchFunctionMode():
        assert kinds(eval("s + 1", names)) == "S"


def test_modes_of_two_threads() -> None:
    """A mode asks in its own thread alone, and ends there whoever entered last."""
    log: list[str] = []

    class Logged(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            log.append(threading.current_thread().name)
            return func(*args, **(kwargs or {}))

    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with Logged():
            entered.set()
            leave.wait()
            nnkit.ones(1).exp()

    thread = threading.Thread(target=other, name="other")
    with Logged():
        thread.start()
        entered.wait()
    nnkit.ones(1).exp()
    assert log == []
    leave.set()
    thread.join()
    assert log == ["other", "other"]
