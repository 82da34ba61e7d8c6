"""Dual tensors made by hand, and forward mode under `gradcheck`."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises

# torch itself uses what it calls deprecated, when its forward mode is first used.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")


def forward_ad(lib: ModuleType) -> Any:
    return import_module(f"{lib.__name__}.autograd.forward_ad")


def test_carries_a_derivative_along(lib: ModuleType) -> None:
    fa, x, v = forward_ad(lib), lib.tensor([2.0, 3.0], requires_grad=True), lib.ones(2)
    with fa.dual_level():
        dual = fa.make_dual(x, v)
        with lib.no_grad():
            assert fa.unpack_dual(dual * 3).tangent.tolist() == [3, 3]
        value, derivative = fa.unpack_dual(dual * dual)
        assert fa.unpack_dual(x).tangent is None
        assert fa.unpack_dual(dual.view(2, 1)).tangent.shape == (2, 1)
        assert "tangent=tensor([1., 1.]" in repr(dual)
    assert "tangent" not in repr(dual) and "tangent" not in repr(dual * 2)
    assert value.tolist() == [4, 9] and derivative.tolist() == [4, 6]
    derivative.sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert fa.unpack_dual(dual).tangent is None


def test_derivatives_are_switched_off(lib: ModuleType) -> None:
    fa, one = forward_ad(lib), lib.tensor(1.0)

    def off() -> Any:
        return fa._set_fwd_grad_enabled(False)

    def steady(x: Any) -> Any:
        with off():
            shift = x**2
        return x**2 - shift

    assert lib.func.jvp(steady, (one * 3,), (one,))[1] == 6
    twice = lib.func.jvp(lambda x: lib.func.jvp(steady, (x,), (one,))[1], (one * 3,), (one,))
    assert twice[1] == 2
    with off():
        assert lib.func.jvp(lib.sin, (one,), (one,))[1] == one.cos()
        assert not fa._is_fwd_grad_enabled()
    with fa.dual_level():
        for write in ("mul_", "fill_", "copy_", "add_"):
            x = fa.make_dual(lib.ones(2), lib.ones(2) * 5)
            with off():
                assert fa.unpack_dual(x * 2).tangent is None
                getattr(x, write)(one * 4)
                x[:1].mul_(2)
            value, tangent = fa.unpack_dual(x)
            assert tangent.tolist() == [5, 5] and value.tolist() != [1, 1]
        with off():
            assert fa.unpack_dual(fa.make_dual(lib.ones(2), lib.ones(2))).tangent is None
    assert fa._is_fwd_grad_enabled()


def test_refuses(lib: ModuleType) -> None:
    fa, x, v = forward_ad(lib), lib.ones(2), lib.ones(2)
    for outside in (lambda: fa.make_dual(x, v), fa.exit_dual_level):
        with raises(lib, RuntimeError, "no level exists"):
            outside()
    assert fa.unpack_dual(x).tangent is None
    with fa.dual_level():
        for error, message, program in [
            (RuntimeError, "Nested", fa.enter_dual_level),
            (RuntimeError, "Invalid level", lambda: fa.make_dual(x, v, level=1)),
            (RuntimeError, "has a different size than", lambda: fa.make_dual(x, lib.ones(3))),
            (ValueError, "floating point", lambda: fa.make_dual(x.long(), v)),
            (ValueError, "floating point", lambda: fa.make_dual(x, v.long())),
            (RuntimeError, "already", lambda: fa.make_dual(fa.make_dual(x, v), v)),
        ]:
            with raises(lib, error, message):
                program()


def test_gradcheck_without_a_tangent(lib: ModuleType) -> None:
    calls = []

    class Doubling(lib.autograd.Function):  # what it gets alone
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def jvp(ctx: Any, x: Any, y: Any) -> Any:
            calls.append(1)
            given = [t for t in (x, y) if t is not None]
            return sum(given) * (3 - len(given))

    x, y = (lib.rand(1, dtype=lib.float64, requires_grad=True) for _ in range(2))
    check, options = lib.autograd.gradcheck, {"check_forward_ad": True, "check_backward_ad": False}
    assert check(Doubling.apply, (x, y), check_undefined_grad=False, **options)
    assert len(calls) == 2
    with pytest.raises(RuntimeError, match="Mismatch in tangent values for output with index: "):
        check(Doubling.apply, (x, y), **options)
    assert not check(Doubling.apply, (x, y), raise_exception=False, **options)
    assert check(lambda x, y: (x.exp() * y, y.sin()), (x, y), **options)


def test_gradcheck_forwards(lib: ModuleType) -> None:
    check, checks = lib.autograd.gradcheck, {"check_forward_ad": True, "check_backward_ad": False}
    x = lib.tensor([0.5, 2.0], dtype=lib.float64, requires_grad=True)
    z = lib.tensor([0.5 + 1j], requires_grad=True, dtype=lib.complex128)
    assert check(lambda x: x.exp() * x.detach(), (x,), **checks, raise_exception=False) is False
    assert check(lambda x: (x.exp(), x * 2), (x,), **checks)
    assert check(lambda z: z * z * 1j, (z,), **checks)
    assert lib.autograd.gradgradcheck(lambda x: x**3, (x,), check_fwd_over_rev=True)
    with pytest.raises(AssertionError, match="check_forward_ad"):
        check(lambda x: x, (x,), check_backward_ad=False)


def test_gradcheck_of_several_tangents_at_once(lib: ModuleType) -> None:
    calls = []

    class Twice(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, draws: bool) -> Any:
            ctx.draws = draws
            return x * 2

        @staticmethod
        def jvp(ctx: Any, x: Any, _: Any) -> Any:
            calls.append(lib.randn_like(x) if ctx.draws else x)
            return x * 2

    x = lib.rand(1, dtype=lib.float64, requires_grad=True)
    checks = {"check_forward_ad": True, "check_backward_ad": False}
    for batched, count in ((False, 2), (True, 5)):
        calls.clear()
        assert lib.autograd.gradcheck(
            lambda x: Twice.apply(x, False), x, check_batched_forward_grad=batched, **checks
        )
        assert len(calls) == count
    with pytest.raises(RuntimeError, match="batched gradient computation with forward-mode AD"):
        lib.autograd.gradcheck(
            lambda x: Twice.apply(x, True), x, check_batched_forward_grad=True, **checks
        )


def test_a_level_is_a_device_like_that_below(lib: ModuleType) -> None:
    seen = []
    lib.func.jvp(lambda x: (seen.append(x.device), x)[1], (lib.ones(2),), (lib.ones(2),))
    assert seen[0] == lib.ones(1).device and str(seen[0]) == "cpu"
    if lib is nnkit:
        assert nnkit.device("cpu") == seen[0] and hash(seen[0]) == hash(nnkit.device("cpu"))


def test_what_is_unpacked_is_a_view_and_the_very_tangent(lib: ModuleType) -> None:
    fa, x, v = forward_ad(lib), lib.ones(2), lib.ones(2)
    with fa.dual_level():
        dual = fa.make_dual(x, v)
        first, second = fa.unpack_dual(dual), fa.unpack_dual(dual)
        assert first.primal is not second.primal and first.primal._is_view()
        assert first.tangent is v and second.tangent is v
        assert fa.unpack_dual(x).primal is not x
        assert str(dual) == f"tensor([1., 1.], tangent={v})"
        with raises(lib, RuntimeError, "forward gradient at the same level"):
            fa.make_dual(x, dual)


def test_a_tangent_may_have_been_made_within_the_level(lib: ModuleType) -> None:
    """It is a constant there, of which gradients can be taken as of any other."""
    forward = import_module(f"{lib.__name__}.autograd.forward_ad")
    x, w = lib.ones(1, 1, 3, requires_grad=True), lib.ones(1, 1, 2, requires_grad=True)
    with forward.dual_level():
        pair = [forward.make_dual(value, lib.ones_like(value)) for value in (x, w)]
        out = lib.nn.functional.conv1d(*pair)
        moving = forward.make_dual(lib.ones_like(out), lib.ones_like(out) * 2)
        found = lib.autograd.grad(out, [x, w], moving)
        assert [forward.unpack_dual(g).tangent.tolist() for g in found] == [
            [[[3.0, 6.0, 3.0]]], [[[6.0, 6.0]]]
        ]  # fmt: skip
        (found,) = lib.autograd.grad(lib.nn.functional.conv1d(x, w), x, moving)
        assert forward.unpack_dual(found).tangent.tolist() == [[[2.0, 4.0, 2.0]]]


def test_a_tangent_lies_in_its_storage_as_the_primal_does(lib: ModuleType) -> None:
    fa, v = forward_ad(lib), lib.ones(4)
    with fa.dual_level():
        dual = fa.make_dual(lib.ones(6)[1:5], v)
        fa.unpack_dual(dual).tangent.mul_(2)
        assert v.tolist() == [1, 1, 1, 1]
        whole = fa.unpack_dual(dual.as_strided((6,), (1,), 0)).tangent
        assert whole.tolist() == [0, 2, 2, 2, 2, 0]


@pytest.mark.parametrize("tangent", ["a view", "itself", "new"])
def test_the_tangent_of_a_view_is_a_view(lib: ModuleType, tangent: str) -> None:
    fa = forward_ad(lib)

    class Same(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return {"a view": t.view_as(t), "itself": t, "new": t * 2}[tangent]

    with fa.dual_level():
        dual = fa.make_dual(lib.ones(2), lib.ones(2))
        if tangent == "a view":
            assert fa.unpack_dual(Same.apply(dual)).tangent.tolist() == [1, 1]
        else:
            with raises(lib, RuntimeError, "but the jvp is not returning a view"):
                Same.apply(dual)


def test_a_jvp_writes_what_forward_writes(lib: ModuleType) -> None:
    fa = forward_ad(lib)

    class Doubled(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t

    with fa.dual_level():
        dual = fa.make_dual(lib.ones(2), lib.ones(2))
        with raises(lib, RuntimeError, "in ?place"):
            Doubled.apply(dual)


def test_a_level_decorates_functions(lib: ModuleType) -> None:
    fa = forward_ad(lib)

    @fa.dual_level()
    def tangent_of_square(x: Any) -> Any:
        return fa.unpack_dual(fa.make_dual(x, lib.ones(1)) ** 2).tangent

    assert [tangent_of_square(lib.full((1,), 3.0)).item() for _ in range(2)] == [6, 6]
