"""``__torch_function__``: who answers for a function, and what subclasses give."""

from __future__ import annotations

import copy
import functools
import threading
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.autograd.arguments.overriding import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    refuse,
)
from nnkit.overrides import BaseTorchFunctionMode, TorchFunctionMode
from tests.frameworks import raises

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

# Programs over a subclass `S` that end with a list `seen`, and what is seen in it.
PROGRAMS = {
    "writes and views": (
        """
x = T.ones(2, 3).as_subclass(S)
y = x[0]
y.add_(1)
y[1] = 5
x[:, 0] *= 2
z = x.T.contiguous()
T.add(T.ones(3, 2), 1, out=z)
seen = [x, y, y._base, z, x.view(-1)[2:]]
""",
        [
            ("S", [[4.0, 5.0, 2.0], [2.0, 1.0, 1.0]]),
            ("S", [4.0, 5.0, 2.0]),
            ("Tensor", [[4.0, 5.0, 2.0], [2.0, 1.0, 1.0]]),
            ("S", [[2.0, 2.0]] * 3),
            ("S", [2.0, 2.0, 1.0, 1.0]),
        ],
    ),
    "a training step": (
        """
w = T.nn.Parameter(T.ones(3).as_subclass(S))
p = T.ones(3, requires_grad=True)
optimizer = T.optim.SGD([w, p], lr=0.5, momentum=0.9)
for _ in range(2):
    optimizer.zero_grad()
    loss = ((w * p).relu() * T.arange(3.0)).sum()
    loss.backward()
    optimizer.step()
seen = [w, p, loss, w.detach()]
""",
        [
            ("S", [1.0, -0.2, -0.9]),
            ("Tensor", [1.0, -0.2, -0.9]),
            ("S", 0.25),
            ("S", [1.0, -0.2, -0.9]),
        ],
    ),
    "gradients of gradients and hooks": (
        """
x = T.ones(2).as_subclass(S).requires_grad_()
log = []
y = x * x
y.register_hook(lambda g: log.append(g.sum().item()))
g = T.autograd.grad((y * y).sum(), x, create_graph=True)[0]
h = T.autograd.grad((g * g).sum(), x)[0]
with T.no_grad():
    u = x * 2
with T.inference_mode():
    v = x + 1
seen = [y, u, v, g, h, T.tensor(log)]
""",
        [
            ("S", [1.0, 1.0]),
            ("S", [2.0, 2.0]),
            ("S", [2.0, 2.0]),
            ("S", [4.0, 4.0]),
            ("S", [96.0, 96.0]),
            ("Tensor", [4.0, 64.0]),
        ],
    ),
    "a module between": (
        """
m = T.nn.Sequential(T.nn.Linear(2, 2), T.nn.Dropout(0.0), T.nn.LayerNorm(2, eps=0.0))
T.nn.init.eye_(m[0].weight)
T.nn.init.zeros_(m[0].bias)
out = m(T.arange(4.0).view(2, 2).as_subclass(S))
a, b = T.nn.functional.relu(out).split(1)
seen = [out, a, b, T.stack([a, b]), m[0].weight, T.nn.functional.mse_loss(out, -out)]
""",
        [
            ("S", [[-1.0, 1.0]] * 2),
            ("S", [[0.0, 1.0]]),
            ("S", [[0.0, 1.0]]),
            ("S", [[[0.0, 1.0]]] * 2),
            ("Parameter", [[1.0, 0.0], [0.0, 1.0]]),
            ("S", 4.0),
        ],
    ),
}


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
    assert answer[:2] == ("answered", ANSWERED[expression]) and names["W"] in answer[2]


@pytest.mark.parametrize("expression", ANSWERED)
def test_an_argument_answers_as_in_torch(expression: str, torch: ModuleType) -> None:
    ours, theirs = (eval(expression, namespace(T)) for T in (nnkit, torch))
    assert theirs[1] == ANSWERED[expression]
    assert [each.__name__ for each in ours[2]] == [each.__name__ for each in theirs[2]]
    assert ours[3:] == theirs[3:]


@pytest.mark.parametrize("expression", KEPT)
def test_a_subclass_is_kept_as_in_torch(expression: str, torch: ModuleType) -> None:
    ours, theirs = (kinds(eval(expression, namespace(T))) for T in (nnkit, torch))
    assert ours == theirs


def test_a_subclass_is_kept() -> None:
    names = namespace(nnkit)
    assert kinds(eval("(s + 1, s[0], s.exp(), T.relu(s))", names)) == ["tuple"] + ["S"] * 4
    assert kinds(eval("Q(T.ones(2)) + 1", names)) == "Tensor"
    assert repr(names["s"]) == "S([1., 1.])"


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_over_a_subclass(lib: Any, name: str) -> None:
    names = namespace(lib)
    program, expected = PROGRAMS[name]
    exec(program, names)
    for tensor, (kind, values) in zip(names["seen"], expected, strict=True):
        assert type(tensor).__name__ == kind
        np.testing.assert_allclose(tensor.tolist(), values, 1e-6, 1e-6)


def test_who_is_asked_first(lib: Any) -> None:
    T = lib
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


# Statements of `x`, of a logging subclass, and the names of what it is asked for.
ASKED = {
    "y = (x * 2 + T.ones(2)).relu(); T.nn.functional.softmax(y, 0)": "mul add relu softmax",
    "x.requires_grad_(); x.sum().backward(); x.grad": "requires_grad_ sum backward __get__",
    "T.autograd.grad([(x.requires_grad_() ** 2).sum()], inputs=[x])": (
        "requires_grad_ pow sum grad"
    ),
    "T.autograd.backward(x.requires_grad_().sum()); x.grad = None": (
        "requires_grad_ sum backward __set__"
    ),
    "x.shape, x.dtype, x.is_leaf, x.real": "__get__ __get__ __get__ __get__",
    "len(x), repr(x), x.size(), x.numpy()": "__len__ __repr__ size numpy",
    "x.data = T.ones(2); x.requires_grad = False": "__set__ __set__",
    "bool(x[0]), int(x[0]), x[0].item(), ~(x > 0)": (
        "__getitem__ __bool__ __getitem__ __int__ __getitem__ item gt __invert__"
    ),
    "x.is_floating_point(); x.unsqueeze_(0)": "is_floating_point unsqueeze_",
}


@pytest.mark.parametrize("statement", ASKED)
def test_what_a_subclass_is_asked_for(lib: Any, statement: str) -> None:
    T = lib
    log: list[str] = []

    class Logged(T.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            log.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    x = T.ones(2).as_subclass(Logged)
    log.clear()
    exec(statement, {"T": T, "x": x})
    assert " ".join(log) == ASKED[statement]


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


def test_what_is_asked_for_indices_and_operands(lib: Any) -> None:
    class Answers(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            return func.__name__

    class Reflected(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            return "reflected" if func is lib.Tensor.__rpow__ else NotImplemented

    class Silent(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            return NotImplemented

    x = lib.tensor([5])
    answers, silent = lib.ones(1).as_subclass(Answers), lib.ones(1).as_subclass(Silent)
    assert x[answers] == x[0, answers] == x[answers, ...] == "__getitem__"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # lists that hold tensors are deprecated in torch
        assert x[[answers]] == x[[0, answers]] == "__getitem__"
        x[[answers]] = 1
    x[answers] = x[0, answers] = 1
    assert x.tolist() == [5]
    assert silent ** lib.ones(1).as_subclass(Reflected) == "reflected"
    for program in (lambda: silent + silent, lambda: silent @ 2, lambda: 2 - silent):
        with pytest.raises(TypeError):
            program()


def test_a_subclass_is_not_asked_before_it_is_made(lib: Any) -> None:
    class Noted(lib.Tensor):
        def __new__(cls, data: Any, note: Any) -> Any:
            made = lib.Tensor._make_subclass(cls, data, data.requires_grad)
            made.note = note
            return made

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            notes = [each.note for each in args if isinstance(each, cls)]
            result = super().__torch_function__(func, types, args, kwargs)
            if isinstance(result, cls):
                result.note = notes[0]
            return result

    x = Noted(lib.ones(2, requires_grad=True), "a")
    assert x.requires_grad and (x * 2).note == x[0].note == x.clone().note == "a"
    assert lib.nn.Parameter(x).note == copy.copy(x).note == "a"


def test_a_mode_is_no_class_method(lib: Any) -> None:
    class Mode(lib.overrides.TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            return func(*args, **(kwargs or {}))

    with raises(lib, RuntimeError, "please make it a plain method"), Mode():
        lib.ones(2) + 1


def test_gradients_flow_through_subclasses() -> None:
    class S(nnkit.Tensor): ...

    x = nnkit.ones(2).as_subclass(S).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]

    class AsItIs(nnkit.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, g):
            return -g

    for each in (x, x.detach()):
        assert type(AsItIs.apply(each)) is S
    AsItIs.apply(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


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


def test_names_of_functions(lib: Any) -> None:
    names = ("randn", "zeros_like", "Tensor.add_", "Tensor.sum", "nn.functional.relu", "linalg.inv")
    for name in names:
        function = functools.reduce(getattr, name.split("."), lib)
        assert lib.overrides.resolve_name(function) == f"torch.{name}"


def test_a_class_may_say_whom_the_inherited_answer_is_asked_for(framework: ModuleType) -> None:
    """Two classes, neither the other's base: one takes both for tensors."""
    T = framework

    class Field(T.Tensor):
        pass

    class Image(T.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is T.nn.functional.grid_sample:
                types = (T.Tensor,)
            return super().__torch_function__(func, types, args, kwargs or {})

    image, field = T.ones(1, 1, 2, 2).as_subclass(Image), T.zeros(1, 1, 1, 2).as_subclass(Field)
    found = T.nn.functional.grid_sample(image, field, align_corners=True)
    assert type(found) is Image and found.tolist() == [[[[1.0]]]]
    with pytest.raises(TypeError, match="no implementation|Multiple dispatch"):
        T.add(image, field)
