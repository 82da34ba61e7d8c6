"""A user's `autograd.Function` in the transforms of ``func`` and in forward mode."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node"),
]


def function(lib: ModuleType, **statics: Any) -> Any:
    """A Function of these static methods; by default x * x * y, whose derivatives say 3 and 5."""

    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    def backward(ctx: Any, g: Any) -> tuple:
        x, y = ctx.saved_tensors
        return 3 * x * y * g, x * x * g

    def jvp(ctx: Any, t: Any, u: Any) -> Any:
        x, y = ctx.saved_tensors
        return 5 * x * y * t + x * x * u

    found = {"forward": lambda x, y: x * x * y, "setup_context": setup_context}
    found |= {"backward": backward, "jvp": jvp, "generate_vmap_rule": True} | statics
    members = {n: staticmethod(f) if callable(f) else f for n, f in found.items() if f is not None}
    return type("Made", (lib.autograd.Function,), members)


TRANSFORMS = {
    "grad": (lambda f, of, x: f.grad(lambda t: of(t, x).sum())(x), [3.0, 12.0]),
    "jvp": (lambda f, of, x: f.jvp(of, (x, x), (x, x))[1], [6.0, 48.0]),
    "jvp of one": (lambda f, of, x: f.jvp(lambda t: of(t, x), (x,), (x,))[1], [5.0, 40.0]),
    "jacfwd": (lambda f, of, x: f.jacfwd(of)(x, x).sum(0), [5.0, 20.0]),
    "vmap": (lambda f, of, x: f.vmap(of)(x, x), [1.0, 8.0]),
    "vmap of grad": (lambda f, of, x: f.vmap(f.grad(of))(x, x), [3.0, 12.0]),
    "grad of vmap": (lambda f, of, x: f.grad(lambda t: f.vmap(of)(t, t).sum())(x), [4.0, 16.0]),
    "grad of jvp": (
        lambda f, of, x: f.grad(lambda t: f.jvp(of, (t, x), (x, x))[1].sum())(x), [7.0, 28.0],
    ),
    "hessian": (lambda f, of, x: f.hessian(lambda t: of(t, x).sum())(x).sum(0), [3.0, 6.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(lib: ModuleType, name: str) -> None:
    compute, expected = TRANSFORMS[name]
    assert compute(lib.func, function(lib).apply, lib.tensor([1.0, 2.0])).tolist() == expected


def test_forward_mode_by_hand(lib: ModuleType) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_forward(x)
        ctx.factor = 4
        return x * x

    def jvp(ctx: Any, t: Any) -> Any:
        (x,) = ctx.saved_tensors
        return ctx.factor * x * t

    square = function(lib, forward=forward, setup_context=None, jvp=jvp)
    ad, x = lib.autograd.forward_ad, lib.tensor(3.0, requires_grad=True)
    with ad.dual_level():
        primal, tangent = ad.unpack_dual(square.apply(ad.make_dual(x, lib.ones(()))))
        assert ad.unpack_dual(square.apply(x)).tangent is None
    assert (primal.item(), tangent.item()) == (9.0, 12.0)
    tangent.backward()
    assert x.grad.item() == 4.0


def test_jvp_gets_none_for_what_has_no_tangent(lib: ModuleType) -> None:
    given = []

    def jvp(ctx: Any, t: Any, u: Any) -> Any:
        given.append((t is None, u is None))
        return u if t is None else t

    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.set_materialize_grads(False)

    apply = function(lib, jvp=jvp, setup_context=setup_context).apply
    x = lib.ones(2)
    lib.func.jvp(lambda t: apply(t, x), (x,), (x,))
    lib.func.jvp(lambda t: apply(x, t), (x,), (x,))
    lib.func.jvp(lambda t: apply(t, 3), (x,), (x,))
    assert given == [(False, True), (True, False), (False, True)]


def test_forward_that_writes_in_place(lib: ModuleType) -> None:
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.mark_dirty(inputs[0])

    statics: Any = {"forward": lambda x: x.mul_(2), "setup_context": setup_context}
    apply = function(lib, **statics, jvp=lambda ctx, t: t.mul_(3)).apply
    x = lib.tensor([1.0, 2.0])
    value, tangent = lib.func.jvp(lambda t: apply(t.clone()), (x,), (x,))
    assert (value.tolist(), tangent.tolist()) == ([2.0, 4.0], [3.0, 6.0])
    apply = function(lib, **statics, jvp=lambda ctx, t: t * 3).apply
    with raises(lib, RuntimeError, "must modify the corresponding gradient inplace"):
        lib.func.jvp(lambda t: apply(t.clone()), (x,), (x,))


def test_an_output_that_is_not_differentiable_has_no_tangent(lib: ModuleType) -> None:
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.mark_non_differentiable(output[1])

    statics: Any = {"forward": lambda x: (x * 2, x.sign()), "setup_context": setup_context}
    x = lib.tensor([1.0, -2.0])
    apply = function(lib, **statics, jvp=lambda ctx, t: (t * 2, None)).apply
    assert lib.func.jvp(apply, (x,), (x,))[1][0].tolist() == [2.0, -4.0]
    apply = function(lib, **statics, jvp=lambda ctx, t: (t * 2, t)).apply
    with raises(lib, RuntimeError, "should return None"):
        lib.func.jvp(apply, (x,), (x,))


def test_gradients_of_examples_within_others(lib: ModuleType) -> None:
    """A backward that calls a Function with examples of the outer vmap, inside of the inner."""

    def backward(ctx: Any, g: Any) -> tuple:
        x, y = ctx.saved_tensors
        return apply(g, y), apply(g, x)

    apply = function(lib, forward=lambda x, y: x * y, backward=backward).apply
    x, y = lib.tensor([1.0, 2.0], requires_grad=True), lib.tensor([3.0, 5.0], requires_grad=True)
    out = apply(x, y)

    def gradient(g: Any, other: Any) -> tuple:
        return lib.autograd.grad(out, (x, y), g, retain_graph=True)

    inner = lib.func.vmap(gradient, (None, 0))
    found = lib.func.vmap(inner, (0, None))(lib.tensor([[1.0, 2.0], [3.0, 4.0]]), lib.ones(1, 2))
    assert found[0].tolist() == [[[3.0, 10.0]], [[9.0, 20.0]]]
    assert found[1].tolist() == [[[1.0, 4.0]], [[3.0, 8.0]]]


def test_a_vmap_of_its_own(lib: ModuleType) -> None:
    told = []

    def vmap(info: Any, in_dims: tuple, x: Any, y: Any) -> Any:
        told.append((info.batch_size, info.randomness, in_dims))
        return 2 * x * y, 0

    apply = function(lib, vmap=vmap, generate_vmap_rule=False).apply
    x = lib.tensor([1.0, 2.0, 3.0])
    assert lib.func.vmap(apply, (0, None))(x, lib.tensor(2.0)).tolist() == [4.0, 8.0, 12.0]
    many = lib.func.vmap(apply, out_dims=1, randomness="same")(lib.ones(2, 3), lib.ones(2, 3))
    assert many.tolist() == [[2.0, 2.0]] * 3
    assert told == [(3, "error", (0, None)), (2, "same", (0, 0))]


def test_a_vmap_of_lists(lib: ModuleType) -> None:
    told = []

    def forward(x: Any, pair: Any) -> Any:
        return x + pair[0] * pair[1]["a"]

    def vmap(info: Any, in_dims: tuple, x: Any, pair: Any) -> Any:
        told.append(in_dims)
        return x + pair[0] * pair[1]["a"][:, None], 0

    def nothing(ctx: Any, inputs: tuple, output: Any) -> None:
        del ctx, inputs, output

    x, y = lib.tensor([[1.0, 2.0], [3.0, 4.0]]), lib.tensor([10.0, 100.0])
    for statics in ({"generate_vmap_rule": True}, {"vmap": vmap, "generate_vmap_rule": False}):
        apply = function(lib, forward=forward, setup_context=nothing, **statics).apply
        out = lib.func.vmap(apply)(x, [x, {"a": y}])
        assert out.tolist() == [[11.0, 22.0], [303.0, 404.0]]
    assert told == [(0, [0, {"a": 0}])]
    twice = function(
        lib, forward=lambda x, y: (x, y), vmap=lambda info, in_dims, x, y: ((x, y), in_dims),
        setup_context=nothing, generate_vmap_rule=False,
    )  # fmt: skip
    first, second = lib.func.vmap(lambda x, y: twice.apply(x, y)[1])(x, [x, y])
    assert first.tolist() == x.tolist() and second.tolist() == y.tolist()


def test_a_vmap_knows_no_tensors_by_name(lib: ModuleType) -> None:
    def forward(x: Any, *, y: Any) -> Any:
        return x + y

    def vmap(info: Any, in_dims: tuple, x: Any, *, y: Any) -> Any:
        return x + y, 0

    apply = function(lib, forward=forward, vmap=vmap, generate_vmap_rule=False).apply
    with raises(lib, NotImplementedError, "kwarg-only Tensor args"):
        lib.func.vmap(apply)(lib.ones(2), y=lib.ones(2))


ERRORS = {
    "no setup_context": ({"setup_context": None, "forward": lambda ctx, x: x}, "setup_context"),
    "no rule": ({"generate_vmap_rule": False}, "generate_vmap_rule"),
    "two rules": ({"vmap": lambda info, in_dims, x: (x, 0)}, "both"),
    "no dims": (
        {"vmap": lambda info, in_dims, x: x, "generate_vmap_rule": False}, "to have two returns",
    ),
    "dims unlike the output": (
        {"vmap": lambda info, in_dims, x: (x, (0, 0)), "generate_vmap_rule": False},
        "returned an incompatible",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_refuses_to_map(lib: ModuleType, name: str) -> None:
    statics, noun = ERRORS[name]
    made = function(lib, **({"forward": lambda x: x} | statics))
    with raises(lib, RuntimeError, noun):
        lib.func.vmap(made.apply)(lib.ones(2))


JVP_ERRORS = {
    "two for one": (lambda ctx, t, u: (t, u), "invalid number"),
    "of another shape": (lambda ctx, t, u: t.sum(), "shape"),
    "none": (lambda ctx, t, u: None, "shape"),
}


@pytest.mark.parametrize("name", JVP_ERRORS)
def test_refuses_tangents(lib: ModuleType, name: str) -> None:
    jvp, noun = JVP_ERRORS[name]
    x = lib.ones(2)
    with raises(lib, RuntimeError, noun):
        lib.func.jvp(function(lib, jvp=jvp).apply, (x, x), (x, x))


def test_refuses_forward_mode_without_jvp(lib: ModuleType) -> None:
    x = lib.ones(2)
    with raises(lib, NotImplementedError, "jvp"):
        lib.func.jvp(function(lib, jvp=None).apply, (x, x), (x, x))


@pytest.mark.parametrize("save", ["save_for_backward", "save_for_forward"])
def test_refuses_to_save_an_input_that_is_returned(lib: ModuleType, save: str) -> None:
    class Same(lib.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            getattr(ctx, save)(output)

    for call in (Same.apply, lib.func.grad(Same.apply)):
        with pytest.raises(RuntimeError, match="An input that has been returned as-is"):
            call(lib.ones(()))


def test_refuses_derivatives_of_another_kind(lib: ModuleType) -> None:
    functional = lib.autograd.functional
    with pytest.raises(RuntimeError, match=r"torch\.autograd\.functional"):
        lib.func.vmap(lambda x: functional.jvp(lib.sin, x, x)[1])(lib.ones(2, 3))


def test_module_with_backward_hooks_is_mapped(lib: ModuleType) -> None:
    module = lib.nn.Linear(2, 2)
    module.register_full_backward_hook(lambda *_: None)
    mapped = lib.func.vmap(lambda t: module(t))(lib.ones(3, 2))
    assert mapped.shape == (3, 2)


@pytest.mark.parametrize("create_graph", [None, True, False])
@pytest.mark.parametrize("called", [True, False])
@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("needed", ["", "x", "w", "xw"])
def test_histories_of_pulled_gradients(
    lib: ModuleType, needed: str, made: bool, called: bool, create_graph: bool | None
) -> None:
    """They are those of where `vjp`'s function is called, wherever it was made."""
    x = lib.tensor([1.0, 2.0], requires_grad="x" in needed)
    w = lib.tensor([3.0, 4.0], requires_grad="w" in needed)
    with lib.set_grad_enabled(made):
        out, pull = lib.func.vjp(lambda x: x**2, x)
    assert out.requires_grad == (made and "x" in needed)
    with lib.set_grad_enabled(called):
        (g,) = pull(w, True, create_graph)
    recorded = called if create_graph is None else create_graph
    assert g.tolist() == [6.0, 16.0] and g.requires_grad == (recorded and bool(needed))
    if g.requires_grad:
        expected = {"x": [6.0, 8.0], "w": [2.0, 4.0]}
        for name, of in (("x", x), ("w", w)):
            if name in needed:
                (found,) = lib.autograd.grad(g.sum(), of, retain_graph=True)
                assert found.tolist() == expected[name]
