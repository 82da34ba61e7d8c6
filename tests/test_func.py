"""Derivatives and batches as functions of functions, and modules as functions of parameters."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit")


def of(lib: ModuleType) -> Any:
    return import_module(f"{lib.__name__}.func")


def numbers(value: Any) -> list[Any]:
    """The shapes of all tensors inside, and their elements."""
    if isinstance(value, dict):
        return [x for key, v in value.items() for x in [key, *numbers(v)]]
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in numbers(v)]
    return [tuple(value.shape), *value.flatten().tolist()]


def derivatives(f: Any, lib: ModuleType) -> list[Any]:
    x, y = lib.tensor([1.0, 2.0]), lib.tensor([0.5, -1.0])
    cube = lambda x: x**3  # noqa: E731
    return [
        f.grad(lambda x: (x**3).sum())(x),
        f.grad(f.grad(f.grad(cube)))(lib.tensor(2.0)),
        f.grad(lambda x, y: (x * y * y).sum(), argnums=(0, 1))(x, y),
        f.grad(lambda x: ((x**2).sum(), x), has_aux=True)(x),
        f.grad_and_value(lambda x: (x**2).sum())(x),
        f.grad(lambda p: (p["a"] * p["b"][0]).sum())({"a": x, "b": [y]}),
        f.jacrev(cube)(x), f.jacfwd(cube)(x),
        f.jacrev(lambda x, y: x.outer(y), argnums=(0, 1))(x, y),
        f.hessian(lambda x: (x**3).prod())(x), f.jacfwd(f.jacrev(lambda x: x.sin()))(x),
        f.vjp(cube, x)[1](y), f.vjp(lambda x, y: (x * y, x + y), x, y)[1]((x, y)),
        f.jvp(cube, (x,), (y,)), f.jvp(lambda x, y: x * y, (x, y), (y, x)),
        f.grad(lambda x: f.vmap(cube)(x).sum())(x),
        f.grad(lambda x: lib.zeros(()))(x),
    ]  # fmt: skip


def batches(f: Any, lib: ModuleType) -> list[Any]:
    a, b = lib.arange(6.0).view(3, 2), lib.arange(6.0).view(2, 3)
    return [
        f.vmap(lib.dot)(a, a + 1),
        f.vmap(lambda x, y: x + y, in_dims=(0, None), out_dims=1)(a, a[0]),
        f.vmap(lambda x, y: (x * y, x.sum()), in_dims=(0, 1))(a, b),
        f.vmap(lambda p: p["x"] * 2, in_dims=({"x": 1},))({"x": a}),
        f.vmap(f.vmap(lambda x: x * x))(a),
        f.vmap(lambda x, k: x + k)(a, k=a),
        f.vmap(f.grad(lambda x: (x**2).sum()))(a),
        lib.vmap(lambda x: x.sum())(a),
    ]


@pytest.mark.parametrize("program", [derivatives, batches])
def test_is_torchs(program: Any, torch: ModuleType) -> None:
    for ours, theirs in zip(program(of(nnkit), nnkit), program(of(torch), torch), strict=True):
        found, expected = numbers(ours), numbers(theirs)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one == (pytest.approx(other, rel=1e-5) if type(other) is float else other)


def test_results_are_cut_off_unless_asked_for(lib: ModuleType) -> None:
    f, x = of(lib), lib.tensor(2.0)
    assert not f.grad(lambda x: x**2)(x).requires_grad
    x.requires_grad_()
    f.grad(lambda x: x**3)(x).backward()
    assert x.grad.item() == 12
    with lib.no_grad():
        assert f.grad(lambda x: x**3)(lib.tensor(2.0)).item() == 12


def test_modules_as_functions(lib: ModuleType) -> None:
    f, nn = of(lib), lib.nn
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    before = {k: v.clone() for k, v in model.state_dict().items()}
    state = {k: lib.ones_like(v) for k, v in model.named_parameters()}
    buffers = {k: v.clone() for k, v in model.named_buffers()}
    x = lib.tensor([[1.0, 2.0], [3.0, 5.0]])
    out = f.functional_call(model, (state, buffers), (x,))
    assert out.tolist() == [pytest.approx(row, abs=1e-3) for row in ([0, 0], [2, 2])]
    assert all(lib.equal(v, before[k]) for k, v in model.state_dict().items())
    assert buffers["1.running_mean"].tolist() == pytest.approx([0.65, 0.65])

    def loss(p: Any, x: Any) -> Any:
        return f.functional_call(layer, p, x).pow(2).sum()

    layer = nn.Linear(2, 1, bias=False)
    p = {"weight": lib.ones(1, 2)}
    per_example = f.vmap(f.grad(loss), in_dims=(None, 0))(p, x)
    assert per_example["weight"].tolist() == [[[6, 12]], [[48, 80]]]
    tied = nn.ModuleList([layer, nn.Linear(2, 1, bias=False)])
    tied[1].weight = layer.weight
    tied.forward = lambda x: tied[0](x) + tied[1](x)
    assert f.functional_call(tied, {"0.weight": lib.ones(1, 2)}, x).tolist() == [[6], [16]]
    params, _ = f.stack_module_state([nn.Linear(2, 3) for _ in range(4)])
    assert params["weight"].shape == (4, 3, 2) and params["weight"].requires_grad


def test_a_constant_has_zero_gradients(lib: ModuleType) -> None:
    x = lib.tensor([float("inf"), float("nan")])
    assert of(lib).grad(lambda x: lib.tensor(1.0))(x).tolist() == [0, 0]


def test_same_random_numbers(lib: ModuleType) -> None:
    draw = of(lib).vmap(lambda x: x + lib.rand(1), randomness="same")(lib.zeros(3, 1))
    assert draw[0].item() == draw[2].item()


def test_refuses(lib: ModuleType) -> None:
    f, x = of(lib), lib.ones(2)
    with raises(lib, RuntimeError, "must return a 0-dim tensor, got \\[2\\]"):
        f.grad(lambda x: x)(x)
    with raises(lib, RuntimeError, "argnums=3 is out of range"):
        f.grad(lambda x: x.sum(), argnums=3)(x)
    with raises(lib, RuntimeError, "primals must be a tuple"):
        f.jvp(lambda x: x, x, (x,))
    with raises(lib, ValueError, "must have a batch dimension"):
        f.vmap(lambda x: x, in_dims=None)(x)
    with raises(lib, ValueError, "must have one size"):
        f.vmap(lambda x, y: x)(x, lib.ones(3))
    with raises(lib, RuntimeError, "missing keys"):
        f.functional_call(lib.nn.Linear(1, 1), {"weight": lib.ones(1, 1)}, x[:1], strict=True)
    with raises(lib, RuntimeError, "one class"):
        f.stack_module_state([])
    if lib is nnkit:
        with pytest.raises(AttributeError, match="no parameter or buffer 'x'"):
            f.functional_call(lib.nn.Linear(1, 1), {"x": x}, x[:1])
        with pytest.raises(ValueError, match="must be tensors, got int"):
            f.grad(lambda x: x)(1)
        with pytest.raises(ValueError, match="2 dims are given for 1 values"):
            f.vmap(lambda x: x, in_dims=(0, 0))(x)
