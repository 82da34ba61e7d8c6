"""Small parts of Tensor's and Size's surface, as PyTorch's own tests ask for them."""

from __future__ import annotations

import copy
import warnings
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises

# Expressions of `T`, the framework, and what they give: a value, or the name of an error.
EXPRESSIONS: dict[str, Any] = {
    "assign('real', 5)": [5 + 2j, 5 + 3j],
    "assign('imag', T.tensor([1.0, 2.0]))": [1 + 1j, 2j],
    "assign('real', T.tensor([7.0]))": [7 + 2j, 7 + 3j],
    "tuple(T.Size([1, 2]) + (3,))": (1, 2, 3),
    "tuple((3,) + T.Size([1, 2]))": (3, 1, 2),
    "T.Size([1, 2]) + [3]": "TypeError",
    "[3] + T.Size([1, 2])": "TypeError",
    "T.Size([1]) + Answers()": "answered",
    "T.ones(2, 3).dim_order(ambiguity_check=True)": (0, 1),
    "T.ones(2, 1).dim_order(ambiguity_check=True)": "RuntimeError",
    "T.ones(1, 2, 3, 3).dim_order(ambiguity_check=[T.contiguous_format, T.channels_last])": (
        0, 1, 2, 3,
    ),
    "T.ones(2, 2, 1, 1).dim_order(ambiguity_check=[T.contiguous_format, T.channels_last])": (
        "RuntimeError"
    ),
    "T.ones(2).dim_order(ambiguity_check=3)": "TypeError",
    "tuple(T.ones(2).new(size=(3, 4)).shape)": (3, 4),
    "T.ones(2).apply_(lambda value: 'text')": "TypeError",
    "T.ones(2).apply_(lambda value: None)": "TypeError",
    "T.use_deterministic_algorithms(False, warn_only=1)": "TypeError",
    "str((T.ones(2, device='cpu:0') + T.ones(2).to('cpu:0')).device)": "cpu",
    "str(T.ones(2, device='meta:0').device)": "meta",
    "T.ones(2, device='meta').get_device()": -1,
}  # fmt: skip


class Answers:
    def __radd__(self, other: Any) -> str:
        return "answered"


def value(T: Any, expression: str) -> Any:
    x = T.tensor([1 + 2j, 3j])

    def assign(part: str, new: Any) -> list:
        setattr(x, part, new)
        return x.tolist()

    try:
        return eval(expression, {"T": T, "assign": assign, "Answers": Answers})
    except (TypeError, RuntimeError) as error:
        return type(error).__name__


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression: str) -> None:
    assert value(nnkit, expression) == EXPRESSIONS[expression]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_in_torch(expression: str, torch: ModuleType) -> None:
    assert value(torch, expression) == EXPRESSIONS[expression]


@pytest.mark.parametrize(
    "write",
    [
        "x.masked_fill_(T.tensor([True, False, True]), 2)",
        "x.index_fill_(0, T.tensor([0]), 2)",
        "x.index_put_((T.tensor([0]),), T.tensor(2.0))",
    ],
)
def test_writes_to_expanded_tensors_are_deprecated(lib: Any, write: str) -> None:
    T = lib
    with pytest.warns(UserWarning, match="on expanded tensors is deprecated"):
        eval(write, {"T": T, "x": T.ones(1).expand(3)})


def in_storage(T: Any) -> list:
    """What tensors see of the memory of another."""
    a = T.arange(6.0).view(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own: storages of numbers are deprecated
        storage, memory = a.storage(), a.untyped_storage()
        found = [
            T.tensor([]).set_(storage).tolist(),
            T.tensor([]).set_(memory, 1, (2,), (2,)).tolist(),
            T.tensor(storage, dtype=T.float32).tolist(),
            storage.untyped()[4:8].tolist(),
            len(memory),
        ]
        copied = storage.clone()
        storage[0] = 9
        found += [a[0, 0].item(), copied[0], storage.element_size()]
        storage.copy_(copied)
        found.append(a.tolist())
        storage.fill_(2)
        found.append(a.tolist())
        for refused in (lambda: T.tensor([], dtype=T.int64).set_(storage), lambda: a.set_(3)):
            try:
                refused()
            except (RuntimeError, TypeError) as error:
                found.append(type(error).__name__)
    return found


def test_storages(lib: Any) -> None:
    T = lib
    assert in_storage(T) == [
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 3.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        [0, 0, 128, 63], 24, 9.0, 0.0, 4, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
        [[2.0] * 3] * 2, "RuntimeError", "TypeError",
    ]  # fmt: skip


def test_resize_as_in_a_memory_format(lib: Any) -> None:
    T = lib
    x = T.ones(1, 4, 2, 2).to(memory_format=T.channels_last)
    strides = [
        T.zeros(0).resize_as_(x, **options).stride()
        for options in (
            {}, {"memory_format": T.channels_last}, {"memory_format": T.preserve_format},
        )
    ]  # fmt: skip
    assert strides == [(16, 4, 2, 1), (16, 1, 8, 4), (16, 1, 8, 4)]


def test_numbers_of_what_requires_grad_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnkit.backend.warning.ALWAYS", True)
    x = nnkit.tensor(2.0, requires_grad=True)
    for function in (float, complex):
        with pytest.warns(UserWarning, match="requires_grad=True to a scalar"):
            function(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (int(x), bool(x), x.item(), float(x.detach())) == (2, True, 2.0, 2.0)
        with nnkit.no_grad():
            float(x)


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("wanted", ["float64", "float16", None])
def test_dtype_of_gradients(lib: ModuleType, wanted: str | None, create_graph: bool) -> None:
    class Doubled(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.double() / 3

    x = lib.ones(2, 3, requires_grad=True)
    assert x.grad_dtype is lib.float32
    x.grad_dtype = None if wanted is None else getattr(lib, wanted)
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append(g.dtype))
    for _ in range(2):
        (x.t() * lib.arange(6.0).view(3, 2)).sum().backward(create_graph=create_graph)
    expected = x.grad_dtype or lib.float32
    assert x.grad.dtype is expected and seen == [expected] * 2
    assert x.grad.tolist() == [[0, 4, 8], [2, 6, 10]]
    (g,) = lib.autograd.grad(Doubled.apply(x).sum(), x)
    assert g.dtype is (x.grad_dtype or lib.float64)
    assert copy.copy(x.detach()).grad_dtype is lib.float32


def test_dtypes_that_gradients_cannot_have(lib: ModuleType) -> None:
    x = lib.ones(2, requires_grad=True)
    x.grad_dtype = lib.float64
    with raises(lib, RuntimeError, "dtype 'float' to a tensor with grad_dtype 'double'"):
        x.grad = lib.ones(2)
    x.grad = lib.ones(2, dtype=lib.float64)
    for tensor, value, message in (
        (x, lib.float32, "already a gradient"), (x, 3, "must be a dtype"),
        (x * 2, None, "set on leaf tensors"),
    ):  # fmt: skip
        with raises(lib, RuntimeError, message):
            tensor.grad_dtype = value
    with raises(lib, RuntimeError, "accessed on leaf tensors"):
        (x * 2).grad_dtype  # noqa: B018


ONCE = {
    "Casting complex": lambda T: T.tensor([1 + 1j]).to(T.float32),
    "Casting complex values": lambda T: T.ones(1).copy_(T.tensor([1 + 1j])),
    "index_reduce": lambda T: T.ones(2).index_reduce(0, T.tensor([0]), T.ones(1), "prod"),
    "reduce": lambda T: T.ones(2).scatter(0, T.tensor([0]), T.ones(1), reduce="add"),
    "x.T": lambda T: T.ones(2, 2, 2).T,
    "where received a uint8": lambda T: T.where(T.ones(1).byte(), T.ones(1), T.ones(1)),
    "triangular_solve": lambda T: T.triangular_solve(T.ones(2, 1), T.eye(2)),
    "chain_matmul": lambda T: T.chain_matmul(T.eye(2), T.eye(2)),
    "cholesky": lambda T: T.cholesky(T.eye(2)),
    "qr": lambda T: T.qr(T.eye(2)),
    "lu": lambda T: T.lu(T.eye(2)),
    "cross": lambda T: T.cross(T.ones(3), T.ones(3)),
}


@pytest.mark.parametrize("words", ONCE)
def test_what_is_old_or_loses_something_warns(
    lib: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lib is nnkit:
        monkeypatch.setattr("nnkit.backend.warning.ALWAYS", True)
    else:
        lib.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=words):
            ONCE[words](lib)
    finally:
        if lib is not nnkit:
            lib.set_warn_always(False)


def test_what_keeps_its_values_does_not_warn(lib: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.tensor([1 + 1j]).to(lib.bool)
        lib.tensor([1 + 1j]).real.to(lib.float64)
        lib.ones(2).scatter(0, lib.tensor([0]), 2.0, reduce="multiply")
        lib.cross(lib.ones(3), lib.ones(3), dim=0)
        lib.nn.init.orthogonal_(lib.empty(2, 2))
        lib.nn.functional.gumbel_softmax(lib.zeros(2))
        lib.nn.utils.clip_grad_norm_(iter([]), 1.0)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda T: T.add(T.ones(2), [1]), "TypeError"), (lambda T: T.ones(1) @ 2, "TypeError"),
        (lambda T: T.atan2(T.ones(1), 2), "TypeError"),
        (lambda T: T.linalg.inv(T.zeros(2, 2)), "_LinAlgError"),
        (lambda T: T.empty(1 << 60), "RuntimeError"),
    ],
)  # fmt: skip
def test_errors_are_called_as_in_torch(lib: Any, call: Any, name: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call(lib)
    assert caught.type.__name__ == name
