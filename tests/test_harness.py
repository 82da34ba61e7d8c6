"""The op table's checks see what they are for: a fault planted in `mul` fails each of them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import nnkit
from tests.harness import cases, checks
from tests.harness.table import ROWS, SUBJECT

ROW = ROWS["mul"]


def faulty(function: Callable, **methods: Callable) -> Any:
    """nnkit with another `mul`, and other Tensor methods."""
    framework = ModuleType("nnkit")
    framework.__dict__.update(vars(nnkit), mul=function, Tensor=SimpleNamespace(**methods))
    return framework


def parity(which: Callable) -> Callable[[Any], None]:
    def run(framework: Any) -> None:
        for case in which(ROW):
            checks.parity(framework, case, SUBJECT["mul"])

    return run


def off_by_little(x: Any, y: Any) -> Any:
    return x * y * (1 + 2**-10)


def wider(x: Any, y: Any) -> Any:
    return (x * y).double()


def constant_second(x: Any, y: Any) -> Any:
    return x * (y.detach() if isinstance(y, nnkit.Tensor) else y)


def without_nan(x: Any, y: Any) -> Any:
    return (x * y).nan_to_num()


def flat(x: Any, y: Any) -> Any:
    return (x * y).reshape(-1)


def never_empty(x: Any, y: Any) -> Any:
    if x.numel() == 0:
        raise RuntimeError("no elements")
    return x * y


def needs_equal_shapes(x: Any, y: Any) -> Any:
    if isinstance(y, nnkit.Tensor) and x.shape != y.shape:
        raise RuntimeError("shapes differ")
    return x * y


def unequal_gradients(x: Any, y: Any) -> Any:
    return x * y if x is not y else x.detach() * y


class Product(nnkit.autograd.Function):
    """A product whose gradient has no gradient of its own."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, y = ctx.saved_tensors
        return grads[0] * y.detach(), grads[0] * x.detach()


def first_order_only(x: Any, y: Any) -> Any:
    return Product.apply(x, y) if isinstance(y, nnkit.Tensor) else x * y


def scribbles(x: Any, y: Any) -> Any:
    out = x * y
    x.detach().numpy()[...] += 1  # past the version counter, as a kernel would
    return out


def forgets_strides(x: Any, y: Any) -> Any:
    if not x.is_contiguous():
        return x.flip(0) * y
    return x * y


def ignores_out(x: Any, y: Any, out: Any = None) -> Any:
    return x * y


def accepts_text(x: Any, y: Any) -> Any:
    return x if isinstance(x, str) else x * y


PLANTED = [
    (off_by_little, parity(cases.forward)),
    (wider, parity(cases.forward)),
    (flat, parity(cases.forward)),
    (constant_second, parity(cases.gradient)),
    (unequal_gradients, parity(cases.same_tensor)),
    (needs_equal_shapes, parity(cases.broadcasting)),
    (never_empty, parity(cases.shapes)),
    (without_nan, parity(cases.edges)),
    (constant_second, lambda framework: checks.gradcheck(framework, ROW, 1)),
    (first_order_only, lambda framework: checks.gradcheck(framework, ROW, 2)),
    (scribbles, lambda framework: checks.inputs_unmodified(framework, ROW)),
    (forgets_strides, lambda framework: checks.layouts(framework, ROW)),
    (ignores_out, lambda framework: checks.out_variant(framework, ROW)),
    (accepts_text, lambda framework: checks.errors(framework, ROW)),
]


@pytest.mark.parametrize(("fault", "check"), PLANTED)
def test_a_planted_fault_is_found(fault: Callable, check: Callable) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception, nnkit.autograd.GradcheckError)):
        check(faulty(fault))


def test_without_a_fault_nothing_is_found() -> None:
    for _, check in PLANTED:
        check(faulty(nnkit.mul))


@pytest.mark.parametrize(
    "method",
    [lambda x, y: x * y, lambda x, y: x.mul_(y) + 0, lambda x, y: x.copy_((x * y).detach())],
)
def test_a_wrong_method_is_found(method: Callable) -> None:
    framework = faulty(nnkit.mul, mul=lambda x, y: x + y, mul_=method)
    with pytest.raises(AssertionError):
        checks.inplace_variant(framework, ROW, "mul_")
    with pytest.raises(AssertionError):
        checks.method_form(framework, ROW)
