"""Derivatives computed forwards, along with the values: `jvp`, `jacfwd`, `linearize`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import nnkit
from nnkit.autograd.forward.level import _VIEWS as VIEWS
from tests.frameworks import raises
from tests.test_func import cube, inferred, of, scalar, without_grad

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node"),
]

FORWARDS = {
    "jvp": lambda lib, f, x: f.jvp(lambda a: without_grad(lib, cube, a), (x,), (x / x,))[1],
    "jacfwd": lambda lib, f, x: f.jacfwd(lambda a: without_grad(lib, cube, a))(x),
    "linearize": lambda lib, f, x: f.linearize(lambda a: without_grad(lib, cube, a), x)[1](x / x),
    "of a gradient": lambda lib, f, x: f.jacfwd(
        lambda a: without_grad(lib, f.grad(lambda b: b**4 / 4), a)
    )(x),
    "written": lambda lib, f, x: f.jacfwd(lambda a: lib.zeros(()).add_(cube(a)))(x),
    "written through a view": lambda lib, f, x: f.jacfwd(
        lambda a: without_grad(lib, put, lib.zeros(2), cube(a)).sum()
    )(x),
    "written over": lambda lib, f, x: f.jacfwd(lambda a: put(put(lib.zeros(2), a), cube(a)).sum())(
        x
    ),
    "into a view that was taken before": lambda lib, f, x: f.jacfwd(
        lambda a: written_later(a * lib.ones(2), cube(a))
    )(x),
    "a view that was taken before its base was written": lambda lib, f, x: f.jacfwd(
        lambda a: seen_before(lib.zeros(2), cube(a))
    )(x),
    "a view of a base of examples": lambda lib, f, x: f.jacfwd(
        lambda a: f.vmap(lambda b: seen_before(b * 0, cube(a)))(lib.ones(3, 2)).mean()
    )(x),
    "a random number": lambda lib, f, x: f.jacfwd(
        lambda a: cube(a) + (a * 0).uniform_() * a.detach(), randomness="same"
    )(x),
    "beside inference mode": lambda lib, f, x: f.jacfwd(lambda a: cube(a) + inferred(lib, cube, a))(
        x
    ),
    "an index": lambda lib, f, x: f.jacfwd(
        lambda a: lib.stack([a, cube(a)])[lib.stack([a, cube(a)]).argmax()]
    )(x),
}


@pytest.mark.parametrize("name", FORWARDS)
def test_forwards(lib: ModuleType, name: str) -> None:
    """Forward mode does not ask whether operations are recorded, and follows writes."""
    found = FORWARDS[name](lib, of(lib), scalar(lib, 2.0))
    assert found.item() == pytest.approx(12)
    assert not found.requires_grad and not found.is_inference()


def put(target: Any, value: Any) -> Any:
    target[1] = value
    return target


def written_later(target: Any, value: Any) -> Any:
    part = target.view(2, 1)[1]
    target.zero_()
    target.add_(value)
    return part[0]


def seen_before(target: Any, value: Any) -> Any:
    whole, part = target.view(2), target[:1]
    target.copy_(value.expand(2))
    whole.mul_(2)
    return (whole[1] + part[0]) / 4


def test_forwards_at_kinks_and_poles(lib: ModuleType) -> None:
    """An operand without a tangent adds nothing, not even where its own derivative is nan."""
    f, x, v = of(lib), lib.tensor([0.5, 0.0, -2.0]), lib.ones(3)
    derivative = lambda function: f.jvp(function, (x,), (v,))[1].tolist()  # noqa: E731
    assert derivative(lambda t: t ** lib.tensor(3.0)) == pytest.approx([0.75, 0, 12])
    assert derivative(lambda t: t / lib.tensor([2.0, 3.0, 0.0])) == pytest.approx(
        [0.5, 1 / 3, float("inf")]
    )
    assert derivative(lib.sgn) == [0, 0, 0] and derivative(lib.abs) == [1, 0, -1]
    z, leaf = lib.tensor([3 + 4j]), x.clone().requires_grad_()
    turn = f.jvp(lib.sgn, (z,), (lib.tensor([1 + 0j]),))[1]
    assert turn.real.item() == pytest.approx(0.128) and turn.imag.item() == pytest.approx(-0.096)
    assert f.jvp(lambda t: t * 2, (leaf,), (v,))[1].requires_grad
    assert f.jvp(lambda t: t.relu(), (leaf,), (v,))[1].requires_grad
    assert not f.jvp(lambda t: t + 2, (leaf,), (v,))[1].requires_grad


def test_forwards_through_hidden_outputs(lib: ModuleType) -> None:
    """Both orders of modes, through an op whose backward reads a hidden output."""
    f, target = of(lib), lib.tensor([1])
    x, v = lib.tensor([[0.5, 0.0, -2.0]]), lib.tensor([[1.0, 2.0, 3.0]])
    loss = lambda a: lib.nn.functional.cross_entropy(a, target)  # noqa: E731
    for found in (
        f.grad(lambda a: f.jvp(loss, (a,), (v,))[1])(x), f.jvp(f.grad(loss), (x,), (v,))[1],
        f.jvp(f.jacfwd(loss), (x,), (v,))[1],
    ):  # fmt: skip
        assert found.flatten().tolist() == pytest.approx([-0.2703, 0.1953, 0.0750], abs=1e-4)


def test_forwards_in_place(lib: ModuleType) -> None:
    """The argument itself is written, and its tangent."""
    f, x, v = of(lib), lib.tensor([2.0, 3.0]), lib.ones(2)
    value, derivative = f.jvp(lambda a: a.mul_(2), (x,), (v,))
    assert value.tolist() == x.tolist() == [4, 6]
    assert derivative.tolist() == v.tolist() == [2, 2]
    kept, _ = f.jvp(lambda a: (a + 1, a.zero_()), (x,), (v,))[1]
    assert kept.tolist() == [2, 2] and v.tolist() == [0, 0]
    leaf = lib.ones(2, requires_grad=True)
    with raises(lib, RuntimeError, "leaf"):
        f.jvp(lambda a: a.mul_(2), (leaf,), (v,))
    with raises(lib, RuntimeError, "single memory location"):
        f.jacfwd(lambda a: a)(lib.ones(1).expand(2))


def test_views_are_not_kept_while_a_level_is_open() -> None:
    x, before = nnkit.ones(3), len(VIEWS)
    with nnkit.autograd.forward_ad.dual_level():
        kept = x[1:]
        for _ in range(100):
            x[:2]
        assert len(VIEWS) == before + 1 and kept.shape == (2,)
    assert len(VIEWS) == 0


def test_joining_a_level_ends_with_it(lib: ModuleType) -> None:
    """What is made inside and written to is an ordinary tensor afterwards."""
    f, kept = of(lib), []

    def function(a: Any) -> Any:
        made = lib.zeros(2, 2)
        kept.append(made)
        made[0].copy_(a)
        return made.sum(0)

    assert f.jvp(function, (lib.ones(2),), (lib.ones(2),))[1].tolist() == [1, 1]
    if lib is nnkit:  # torch's wrapper outlives its transform
        assert kept[0].tolist() == [[1, 1], [0, 0]]
        assert (kept[0] * 2).add_(1).tolist() == [[3, 3], [1, 1]]
