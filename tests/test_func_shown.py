"""Tensors printed inside transforms: what each transform has made of them."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest

pytestmark = [  # torch's own warnings when it computes tangents
    pytest.mark.filterwarnings("ignore:.torch.jit"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node"),
]


def grads(level: int, text: str) -> str:
    return _around(f"GradTrackingTensor(lvl={level}", text)


def batch(level: int, text: str, dim: int = 0) -> str:
    return _around(f"BatchedTensor(lvl={level}, bdim={dim}", text)


def _around(head: str, text: str) -> str:
    return f"{head}, value=\n" + "\n".join(f"    {line}" for line in text.split("\n")) + "\n)"


ONES = "tensor([[1., 1.],\n        [1., 1.]])"
# Programs over the transforms `F`, the framework `T`, ``x = [1, 2]``, ``p`` (it requires grad) and
# `seen`, which keeps the text of a tensor; and the texts.
SHOWN = {
    "F.grad(lambda x: seen(x).sum())(x)": [grads(1, "tensor([1., 2.])")],
    "F.grad(lambda x: seen(x * 2).sum())(x)": [grads(1, "tensor([2., 4.])")],
    "F.grad(lambda x: seen(x[0]))(x)": [grads(1, "tensor(1.)")],
    "F.grad(lambda x: seen(T.ones(2)).sum() * x[0])(x)": [grads(1, "tensor([1., 1.])")],
    "F.grad(lambda y: (seen(x), seen(x * y))[1].sum())(x)": [
        "tensor([1., 2.])", grads(1, "tensor([1., 4.])"),
    ],
    "F.grad(lambda a, b, c: (seen(b), seen(c), a.sum())[2])(x, x * 1, c=x * 2)": [
        grads(1, "tensor([1., 2.])"), grads(1, "tensor([2., 4.])"),
    ],
    "F.grad(F.grad(lambda x: seen(x)))(x[0])": [grads(2, grads(1, "tensor(1.)"))],
    "F.grad(lambda a: F.grad(lambda b: (seen(a), seen(b), seen(a * b))[2])(a))(x[1])": [
        grads(1, "tensor(2.)"), grads(2, grads(1, "tensor(2.)")), grads(2, grads(1, "tensor(4.)")),
    ],
    "F.grad(lambda a: F.grad(lambda b: (seen(b), seen(b * 2))[1])(a[0]) * a[0])(x)": [
        grads(2, grads(1, "tensor(1.)")), grads(2, grads(1, "tensor(2.)")),
    ],
    "F.vmap(seen)(T.ones(2, 2))": [batch(1, ONES)],
    "F.vmap(seen, in_dims=1)(T.ones(2, 2))": [batch(1, ONES, 1)],
    "F.vmap(lambda y: (seen(x), seen(T.ones(2)), y)[2])(x)": [
        "tensor([1., 2.])", "tensor([1., 1.])",
    ],
    "F.vmap(F.vmap(seen))(T.ones(2, 2))": [batch(2, batch(1, ONES))],
    "F.vmap(F.grad(lambda x: seen(x.sum())))(T.ones(2, 2))": [
        grads(2, batch(1, "tensor([2., 2.])")),
    ],
    "F.grad(lambda x: F.vmap(lambda y: seen(y * 2))(x).sum())(x)": [
        batch(2, grads(1, "tensor([2., 4.])")),
    ],
    "F.jvp(lambda x: seen(x * 2), (x,), (x,))": [grads(1, "tensor([2., 4.])")],
    "F.vmap(lambda t: F.jvp(lambda x: seen(x * 2), (x,), (t,)))(T.ones(3, 2))": [
        grads(2, "tensor([2., 4.])"),
    ],
    "F.grad(lambda x: F.jvp(lambda y: seen(y * x), (x,), (x,))[1].sum())(x)": [
        grads(2, grads(1, "tensor([1., 4.])")),
    ],
    "F.vjp(seen, x)": [grads(1, "tensor([1., 2.])")],
    "F.jacfwd(seen)(x)": [grads(2, "tensor([1., 2.])")],
    "F.hessian(lambda x: seen((x * x).sum()))(x)": [grads(3, grads(2, "tensor(5.)"))],
    "F.grad(lambda x: (seen(x), seen(x * 2))[1].sum())(p)": [
        grads(1, "Parameter containing:\ntensor([1., 2.], requires_grad=True)"),
        grads(1, "tensor([2., 4.], grad_fn=<MulBackward0>)"),
    ],
    "F.grad(lambda x: seen(x * p).sum())(x)": [
        grads(1, "tensor([1., 4.], grad_fn=<MulBackward0>)"),
    ],
    "F.vmap(lambda y: seen(y * 2))(p)": [
        batch(1, "tensor([2., 4.], grad_fn=<MulBackward0>)"),
    ],
    "quiet(F.grad(lambda x: (seen(x), seen(x * 2))[1].sum()), p)": [
        grads(1, "Parameter containing:\ntensor([1., 2.], requires_grad=True)"),
        grads(1, "tensor([2., 4.])"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("program", SHOWN)
def test_tensors_show_their_transforms(lib: ModuleType, program: str) -> None:
    texts = []

    def seen(x: Any) -> Any:
        texts.append(repr(x))
        return x

    def quiet(function: Any, *args: Any) -> Any:
        with lib.no_grad():
            return function(*args)

    x = lib.tensor([1.0, 2.0])
    names = {"F": lib.func, "T": lib, "seen": seen, "quiet": quiet, "x": x}
    eval(program, names | {"p": lib.nn.Parameter(x.clone())})
    assert texts == SHOWN[program]


def test_a_captured_parameter_is_shown_as_it_is(lib: ModuleType) -> None:
    texts = []
    p = lib.nn.Parameter(lib.ones(1))
    lib.func.grad(lambda x: (texts.append(repr(p)), x * 2)[1])(lib.tensor(1.0))
    assert texts == ["Parameter containing:\ntensor([1.], requires_grad=True)"]


def test_dual_numbers_show_their_tangents(lib: ModuleType) -> None:
    forward_ad = importlib.import_module(f"{lib.__name__}.autograd.forward_ad")
    texts = []
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(lib.ones(1), lib.ones(1) * 2)
        texts.append(repr(dual))
        lib.func.grad(lambda x: (texts.append(repr(x)), x * 2)[1])(lib.tensor(1.0))
    assert texts == ["tensor([1.], tangent=tensor([2.]))", grads(1, "tensor(1.)")]
