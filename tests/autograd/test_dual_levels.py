"""Backward passes while a level of forward mode is open, beside torch's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import nnkit

# torch's own forward mode compiles its decompositions with it.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")


def test_a_dual_tensor_shows_the_history_of_its_primal(lib: ModuleType) -> None:
    ad = lib.autograd.forward_ad
    x, v = lib.tensor([1.0, 2.0, 3.0], requires_grad=True), lib.tensor([1.0, 0.0, 2.0])
    with ad.dual_level():
        point = ad.make_dual(x, v)
        plain = ad.make_dual(x.detach(), v)
        out = (point**3).sum()
        assert (point.requires_grad, plain.requires_grad, out.requires_grad) == (True, False, True)
        assert point.grad_fn is not None and plain.grad_fn is None
        assert not point.is_leaf and plain.is_leaf
        for place in (point, x):  # the gradient, and the Hessian times v
            (grad,) = lib.autograd.grad(out, place, retain_graph=True)
            value, tangent = ad.unpack_dual(grad)
            assert value.tolist() == [3, 12, 27] and tangent.tolist() == [6, 0, 36]
        out.backward()
        assert x.grad.tolist() == [3, 12, 27] and ad.unpack_dual(x.grad).tangent is None
    assert x.grad.tolist() == [3, 12, 27]


def test_parameters_get_gradients_beside_duals(lib: ModuleType) -> None:
    ad = lib.autograd.forward_ad
    layer = lib.nn.Linear(3, 2)
    with lib.no_grad():
        layer.weight.fill_(0.5)
        layer.bias.fill_(0.0)
    with ad.dual_level():
        out = layer(ad.make_dual(lib.ones(4, 3), lib.ones(4, 3)))
        assert out.requires_grad
        (out**2).sum().backward()
    assert layer.weight.grad.tolist() == [[12, 12, 12], [12, 12, 12]]


def test_the_first_gradient_may_move_too(lib: ModuleType) -> None:
    ad = lib.autograd.forward_ad
    x = lib.tensor([2.0], requires_grad=True)
    with ad.dual_level():
        weight = ad.make_dual(lib.tensor([3.0]), lib.tensor([1.0]))
        (grad,) = lib.autograd.grad(ad.make_dual(x, lib.ones(1)) ** 2, x, weight)
        value, tangent = ad.unpack_dual(grad)
        assert (value.item(), tangent.item()) == (12, 10)
        with pytest.raises(RuntimeError, match="not have been used"):
            lib.autograd.grad(x * 1, lib.ones(1, requires_grad=True))


def test_a_dual_tensor_counts_writes_with_its_primal(lib: ModuleType) -> None:
    ad = lib.autograd.forward_ad
    x, v = lib.ones(2), lib.ones(2)
    with ad.dual_level():
        point = ad.make_dual(x, v)
        for expected, written in ((1, x), (2, point), (3, ad.unpack_dual(point).primal)):
            written.add_(1)
            assert x._version == point._version == expected


def test_detaching_in_place_drops_the_tangent(lib: ModuleType) -> None:
    ad = lib.autograd.forward_ad
    x = lib.ones(2, requires_grad=True)
    with ad.dual_level():
        point = ad.make_dual(x, lib.ones(2)).clone()
        value, tangent = ad.unpack_dual(point.detach_() * 2)
        assert not value.requires_grad and tangent is None


def test_a_tangent_in_a_second_gradient() -> None:
    ad = nnkit.autograd.forward_ad
    x = nnkit.tensor([2.0], requires_grad=True)
    with ad.dual_level():
        point = ad.make_dual(x, nnkit.ones(1))
        (first,) = nnkit.autograd.grad(point**4, x, create_graph=True)
        (second,) = nnkit.autograd.grad(first, x)
        value, tangent = ad.unpack_dual(second)
        assert tangent is not None and (value.item(), tangent.item()) == (48, 48)


def test_tangents_of_all_examples_at_once() -> None:
    ad = nnkit.autograd.forward_ad
    point, directions = nnkit.arange(4.0).reshape(2, 2), nnkit.randn(3, 2, 2)

    def moved(direction: nnkit.Tensor) -> Any:
        with ad.dual_level():
            out = ad.make_dual(point.T, direction)
            return ad.unpack_dual((out @ out).sin())[1]

    expected = nnkit.stack([moved(d) for d in directions])
    nnkit.testing.assert_close(nnkit.func.vmap(moved)(directions), expected)
    with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
        nnkit.func.jvp(moved, (directions[0],), (directions[0],))


def test_no_derivative_goes_through_running_statistics(lib: ModuleType) -> None:
    ad, norms = lib.autograd.forward_ad, lib.nn.functional
    x, one = lib.tensor([[1.0, 2.0], [4.0, 6.0]]), lib.ones(2)
    for norm in (norms.batch_norm, norms.instance_norm):
        with ad.dual_level():
            moving = ad.make_dual(x[..., None], lib.ones(2, 2, 1))
            mean, variance = (ad.make_dual(one.clone(), one) for _ in range(2))
            out = norm(x[..., None], mean, variance, None, None, False)
            assert ad.unpack_dual(out).tangent is None
            for statistics in ((mean, one), (one, variance), (mean, variance)):
                with pytest.raises(RuntimeError, match="not differentiable wrt running_mean and"):
                    norm(moving, *statistics, None, None, False)
    with ad.dual_level():
        moving, mean = ad.make_dual(x, x), ad.make_dual(one.clone(), one)
        out = norms.batch_norm(moving, mean, lib.ones(2), training=True, eps=1.0)
        assert ad.unpack_dual(out).tangent is not None
        value, tangent = ad.unpack_dual(mean)
        assert value.tolist() == pytest.approx([1.15, 1.3]) and tangent.tolist() == [1, 1]
