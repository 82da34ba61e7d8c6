"""Linear layers, Identity, Flatten and Unflatten."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda nn: nn.Linear(2, 3), "Linear(in_features=2, out_features=3, bias=True)"),
        (lambda nn: nn.Linear(2, 3, False), "Linear(in_features=2, out_features=3, bias=False)"),
        (
            lambda nn: nn.Bilinear(2, 3, 4, bias=False),
            "Bilinear(in1_features=2, in2_features=3, out_features=4, bias=False)",
        ),
        (lambda nn: nn.Identity(3, a=4), "Identity()"),
        (lambda nn: nn.Flatten(0, 1), "Flatten(start_dim=0, end_dim=1)"),
        (lambda nn: nn.Unflatten(1, (2, 3)), "Unflatten(dim=1, unflattened_size=(2, 3))"),
    ],
)
def test_repr(lib: ModuleType, make: Any, text: str) -> None:
    assert repr(make(lib.nn)) == text


@pytest.mark.parametrize(
    "make",
    [
        lambda nn: nn.Linear(7, 5),
        lambda nn: nn.Linear(3, 2, bias=False),
        lambda nn: nn.Bilinear(3, 2, 4),
        lambda nn: nn.Bilinear(3, 2, 4, bias=False),
    ],
)
def test_first_weights_are_those_of_torch(torch: ModuleType, make: Any) -> None:
    nnkit.manual_seed(1)
    torch.manual_seed(1)
    ours, theirs = make(nnkit.nn).state_dict(), make(torch.nn).state_dict()
    assert list(ours) == list(theirs)
    for key in ours:
        assert ours[key].tolist() == theirs[key].tolist()


def test_linear(lib: ModuleType) -> None:
    layer = lib.nn.Linear(2, 1)
    layer.load_state_dict({"weight": lib.tensor([[1.0, 2.0]]), "bias": lib.tensor([3.0])})
    assert layer(lib.tensor([[1.0, 1.0], [2.0, 0.0]])).tolist() == [[6.0], [5.0]]
    assert layer(lib.tensor([1.0, 1.0])).tolist() == [6.0]
    layer(lib.ones(4, 3, 2)).sum().backward()
    assert layer.weight.grad.tolist() == [[12.0, 12.0]] and layer.bias.grad.tolist() == [12.0]
    with raises(lib, RuntimeError, "shape"):
        layer(lib.ones(2, 3))


def test_linear_arguments(lib: ModuleType) -> None:
    layer = lib.nn.Linear(2, 3, device="cpu", dtype=lib.float64)
    assert layer.weight.dtype == layer.bias.dtype == lib.float64
    assert lib.nn.Linear(2, 3, bias=False).bias is None
    with raises(lib, RuntimeError, "negative"):
        lib.nn.Linear(-1, 3)
    with raises(lib, TypeError, "."):
        lib.nn.Linear(2.5, 3)


def test_linear_without_inputs(lib: ModuleType) -> None:
    with pytest.warns(UserWarning, match="zero-element"):
        layer = lib.nn.Linear(0, 3)
    assert layer(lib.ones(2, 0)).tolist() == [[0.0] * 3] * 2


def test_bilinear(lib: ModuleType) -> None:
    layer = lib.nn.Bilinear(2, 2, 1)
    weight = lib.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    layer.load_state_dict({"weight": weight, "bias": lib.tensor([0.5])})
    assert layer(lib.tensor([[1.0, 0.0]]), lib.tensor([[0.0, 1.0]])).tolist() == [[2.5]]
    with raises(lib, ValueError, "in1_features must be > 0"):
        lib.nn.Bilinear(0, 2, 3)


def test_flatten_and_unflatten(lib: ModuleType) -> None:
    x = lib.ones(2, 3, 4, 5)
    assert lib.nn.Flatten()(x).shape == (2, 60)
    assert lib.nn.Flatten(0, 1)(x).shape == (6, 4, 5)
    assert lib.nn.Unflatten(1, (3, -1))(lib.ones(2, 12)).shape == (2, 3, 4)
    assert lib.nn.Unflatten(-1, lib.Size([2, 2]))(lib.ones(1, 4)).shape == (1, 2, 2)
    with raises(lib, TypeError, "unflattened_size must be tuple of ints, but found type int"):
        lib.nn.Unflatten(1, 3)
    with raises(lib, TypeError, "found element of type str at pos 1"):
        lib.nn.Unflatten(1, (2, "a"))
    with raises(lib, RuntimeError, "unflatten"):
        lib.nn.Unflatten(1, (2, 4))(lib.ones(1, 6))


def test_identity(lib: ModuleType) -> None:
    x = lib.ones(2)
    assert lib.nn.Identity(54, unused=True)(x) is x


def test_gradients_come_in_the_order_of_torch(lib: ModuleType) -> None:
    """That of a product added to the bias: hooks of optimizers and profilers see it."""
    order: list[str] = []
    net = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU(), lib.nn.Linear(2, 2))
    for name, parameter in net.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda p, name=name: order.append(name))
    x = lib.ones(3, 2, requires_grad=True)
    x.register_hook(lambda g: order.append("x"))
    out = net(x)
    out.sum().backward()
    assert order == ["2.bias", "2.weight", "0.bias", "x", "0.weight"]
    kinds = [type(node).__name__ for node, _ in out.grad_fn.next_functions]
    assert kinds[:2] == ["AccumulateGrad", "ReluBackward0"]
