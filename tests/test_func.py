"""Derivatives and batches as functions of functions, and modules as functions of parameters."""

from __future__ import annotations

import copy
import io
import pickle
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises
from tests.fuzz import transforms

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node"),
]


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
    with pytest.raises(RuntimeError, match="requires_grad"):
        f.stack_module_state([layer, nn.Linear(2, 1, bias=False).requires_grad_(False)])
    with pytest.raises(RuntimeError, match="Expected at least one model"):
        f.stack_module_state([])
    with pytest.raises(RuntimeError, match="stack_module_state:.* models to be of the same class"):
        f.stack_module_state([layer, nn.ReLU()])
    assert f.replace_all_batch_norm_modules_(model) is model
    assert list(model.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_results_are_called_as_the_function_is(lib: ModuleType) -> None:
    f = of(lib)
    for transform in (f.grad, f.grad_and_value, f.jacrev, f.jacfwd, f.hessian, f.vmap):
        assert transform(derivatives).__name__ == "derivatives"


def test_what_a_module_assigns_is_given_back(lib: ModuleType) -> None:
    class Assigns(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = lib.nn.Parameter(lib.ones(1))
            self.register_buffer("mean", lib.zeros(1))

        def forward(self, x: Any, fail: bool = False) -> Any:
            self.weight = lib.nn.Parameter(self.weight + 5)
            self.mean = self.mean + 1
            if fail:
                raise KeyError("fail")
            return x * self.weight + self.mean + getattr(self, "new", 0)

    module, call = Assigns(), of(lib).functional_call
    given = {"weight": lib.ones(1) * 2, "mean": lib.ones(1), "new": lib.ones(1)}
    assert call(module, given, lib.ones(1)).item() == 7 + 2 + 1
    assert [value.item() for value in given.values()] == [7, 2, 1] and not hasattr(module, "new")
    with pytest.raises(KeyError):
        call(module, given, lib.ones(1), {"fail": True})
    assert [value.item() for value in given.values()] == [12, 3, 1]
    assert (module.weight.item(), module.mean.item()) == (1, 0)
    call(module, [given], lib.ones(1))
    assert given["mean"].item() == 3


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
    with raises(lib, RuntimeError, "Got argnum=3, but only 1 positional inputs"):
        f.grad(lambda x: x.sum(), argnums=3)(x)
    with raises(lib, RuntimeError, "Expected primals to be a tuple"):
        f.jvp(lambda x: x, x, (x,))
    with raises(lib, ValueError, "at least one Tensor to vmap over"):
        f.vmap(lambda x: x, in_dims=(None,))(x)
    with raises(lib, ValueError, "all tensors to have the same size in the mapped"):
        f.vmap(lambda x, y: x)(x, lib.ones(3))
    with raises(lib, RuntimeError, "Missing key\\(s\\): 'bias'"):
        f.functional_call(lib.nn.Linear(1, 1), {"weight": lib.ones(1, 1)}, x[:1], strict=True)
    layer = lib.nn.Linear(1, 1)
    tied = lib.nn.ModuleList([layer, layer])
    one, two = {"0.bias": lib.ones(1)}, {"1.bias": lib.ones(1)}
    for error, message, given in [
        (ValueError, "a dict or a sequence", 5), (ValueError, "expected dicts", [5]),
        (ValueError, "appeared in multiple dictionaries", [one, one]),
        (ValueError, "values for keys \\['0.bias', '1.bias'\\]", [one, two]),
        (TypeError, "is not an instance of torch.Tensor", {"0.bias": 5}),
        (TypeError, "is not an instance of torch.Tensor", {"0.in_features": lib.ones(1)}),
        (AttributeError, "'x'|`x`|x", {"x.bias": lib.ones(1)}),
    ]:  # fmt: skip
        with raises(lib, error, message):
            f.functional_call(tied, given, ())
    with raises(lib, RuntimeError, "at least one model"):
        f.stack_module_state([])
    if lib is nnkit:
        with pytest.raises(ValueError, match="must be tensors, got int"):
            f.grad(lambda x: x)(1)


# Nested transforms, grad modes, and the graph around them


def scalar(lib: ModuleType, value: float, requires_grad: bool = False) -> Any:
    return lib.tensor(value, dtype=lib.float64, requires_grad=requires_grad)


def without_grad(lib: ModuleType, function: Any, *args: Any) -> Any:
    with lib.no_grad():
        return function(*args)


# Programs of (lib, func, x), x = 2, with what they give and whether it requires grad; y is a leaf.
NESTED: dict[str, tuple[Any, float, int]] = {
    "jvp in jvp": (
        lambda lib, f, x, y: directional(f, lambda a: directional(f, cube, a), x), 12, 0,
    ),
    "jvp in grad": (lambda lib, f, x, y: f.grad(lambda a: directional(f, cube, a))(x), 12, 0),
    "grad in jvp": (lambda lib, f, x, y: directional(f, f.grad(cube), x), 12, 0),
    "vjp's function in grad": (
        lambda lib, f, x, y: f.grad(lambda a: f.vjp(cube, x)[1](a)[0] * a)(x), 48, 0,
    ),
    "vjp's function by its point": (
        lambda lib, f, x, y: f.grad(lambda a: f.vjp(cube, a)[1](a)[0])(x), 36, 0,
    ),
    "no_grad in grad": (
        lambda lib, f, x, y: f.grad(lambda a: a * without_grad(lib, f.grad(cube), a))(x), 12, 0,
    ),
    "no_grad around all": (lambda lib, f, x, y: without_grad(lib, f.grad(cube), y), 12, 0),
    "no_grad around jvp": (lambda lib, f, x, y: without_grad(lib, directional, f, cube, y), 12, 0),
    "no_grad inside": (
        lambda lib, f, x, y: f.grad(lambda a: cube(a) + without_grad(lib, cube, a))(x), 12, 0,
    ),
    "no_grad around nested": (
        lambda lib, f, x, y: without_grad(lib, f.grad(f.grad(cube)), y), 12, 0,
    ),
    "inference mode around": (lambda lib, f, x, y: inferred(lib, f.grad(cube), x), 12, 0),
    "grad of a leaf": (lambda lib, f, x, y: f.grad(cube)(y), 12, 1),
    "jvp of a leaf": (lambda lib, f, x, y: directional(f, cube, y), 12, 1),
    "jacrev of a leaf": (lambda lib, f, x, y: f.jacrev(cube)(y), 12, 1),
    "hessian of a leaf": (lambda lib, f, x, y: f.hessian(cube)(y), 12, 1),
    "vjp's function of a leaf": (lambda lib, f, x, y: f.vjp(cube, y)[1](x)[0], 24, 1),
    "linear": (lambda lib, f, x, y: f.grad(lambda a: 3 * a)(y), 3, 0),
    "a leaf from outside": (lambda lib, f, x, y: f.grad(lambda a: cube(a * y))(x), 96, 1),
    "a leaf from outside, alone": (lambda lib, f, x, y: f.grad(lambda a: a + y)(x), 1, 0),
    "identity": (lambda lib, f, x, y: f.grad(lambda a: a)(y), 1, 0),
    "identity by jvp": (lambda lib, f, x, y: directional(f, lambda a: a, x), 1, 0),
    "linearize": (lambda lib, f, x, y: f.linearize(cube, x)[1](x), 24, 0),
    "linearize twice": (lambda lib, f, x, y: sum(map(f.linearize(cube, x)[1], (x, x))), 48, 0),
    "linearize at a leaf": (lambda lib, f, x, y: f.linearize(cube, y)[1](x), 24, 1),
}  # fmt: skip


def cube(x: Any) -> Any:
    return x**3


def directional(f: Any, function: Any, x: Any) -> Any:
    return f.jvp(function, (x,), (x.detach() * 0 + 1,))[1]


def inferred(lib: ModuleType, function: Any, *args: Any) -> Any:
    with lib.inference_mode():
        return function(*args)


@pytest.mark.parametrize("name", NESTED)
def test_nested(lib: ModuleType, name: str) -> None:
    program, expected, recorded = NESTED[name]
    found = program(lib, of(lib), scalar(lib, 2.0), scalar(lib, 2.0, True))
    assert found.item() == pytest.approx(expected)
    assert found.requires_grad == bool(recorded)
    assert not found.is_inference()


def test_outer_graph_goes_through(lib: ModuleType) -> None:
    f = of(lib)
    for transform, expected in [
        (lambda x: f.grad(lambda a: (a**3).sum())(x), [6, 12]),
        (lambda x: f.jvp(cube, (x,), (lib.ones(2),))[1], [6, 12]),
        (lambda x: f.jvp(cube, (x,), (lib.ones(2),))[0], [3, 12]),
        (lambda x: f.vjp(cube, x)[0], [3, 12]),
        (lambda x: f.vjp(cube, x)[1](lib.ones(2))[0], [6, 12]),
        (lambda x: f.jvp(f.grad(lambda a: (a**3).sum()), (x,), (lib.ones(2),))[1], [6, 6]),
        (lambda x: f.vmap(lambda a: f.jvp(cube, (a,), (lib.ones(()),))[1])(x), [6, 12]),
        (lambda x: f.jacrev(cube)(x), [6, 12]),
        (lambda x: f.hessian(lambda a: (a**3).sum())(x), [6, 6]),
        (lambda x: f.grad(lambda a: (a * x * x).sum())(lib.ones(2)), [2, 4]),
        (lambda x: f.grad_and_value(lambda a: (a * x).sum())(lib.ones(2))[1], [1, 1]),
    ]:
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        transform(x).sum().backward()
        assert x.grad.tolist() == expected
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    with lib.no_grad():
        g = f.grad(lambda a: (a**3).sum())(x)
    (g * x).sum().backward()
    assert x.grad.tolist() == [3, 12]


def test_inference_tensors_take_part(lib: ModuleType) -> None:
    """As captured tensors, whose values are saved, and as arguments."""
    f = of(lib)
    with lib.inference_mode():
        constant = lib.tensor([2.0, 3.0])
        inside = f.grad(lambda a: (a * a * constant).sum())(constant)
        pull = f.vjp(lambda a: a * constant, constant)[1]
        rows = f.jacrev(lambda a: a * 2)(constant)
    assert not inside.is_inference() and not rows.is_inference()
    assert inside.tolist() == [8, 18] and pull(constant)[0].tolist() == [4, 9]
    assert f.grad(lambda a: (a * a * constant).sum())(constant).tolist() == [8, 18]
    assert f.jvp(lambda a: a * constant, (constant,), (constant,))[1].tolist() == [4, 9]


def test_views_of_leaves_made_without_grad(lib: ModuleType) -> None:
    """torch says that they require grad, and so does what comes of them."""
    f, leaf = of(lib), lib.ones(2, requires_grad=True)
    with lib.no_grad():
        view = leaf[:]
    assert f.vjp(lambda a: a, view)[0].requires_grad
    assert f.grad(lambda a: (a * a).sum())(view).requires_grad
    inside = f.grad(lambda a: (a * a * without_grad(lib, lambda: a[:])).sum())
    assert not inside(lib.ones(2)).requires_grad


def test_refuses_inside(lib: ModuleType) -> None:
    """What would change the caller's graph from inside of a transform."""
    f, x = of(lib), lib.ones(2)
    y = lib.ones(2, requires_grad=True)
    for transform in (f.grad, f.vmap, lambda g: lambda x: f.jvp(g, (x,), (x,))):
        for action in (
            lambda a: lib.ones(2).requires_grad_(),
            lambda a: (y * 2).sum().backward(),
            lambda a: (y * 2).retain_grad(),
        ):
            with raises(lib, RuntimeError, "inside a function that nnkit.func transforms"):
                transform(lambda a, action=action: (action(a), a.sum())[1])(x)
    for z in (x, y, y * 1):
        with pytest.raises(RuntimeError):
            f.grad(lambda a: a.mul_(2).sum())(z)
    assert lib.ones(1).requires_grad_().requires_grad
    made_inside = f.grad(lambda a: (lib.ones(2, requires_grad=True) * a).sum())(x)
    assert made_inside.tolist() == [1, 1]


OF_MEMORY: dict[str, tuple] = {
    "data_ptr": (RuntimeError, lambda lib, x: x.data_ptr()),
    "storage": (NotImplementedError, lambda lib, x: x.untyped_storage()),
    "is_shared": (NotImplementedError, lambda lib, x: x.is_shared()),
    "numpy": (RuntimeError, lambda lib, x: x.numpy()),
    "to_dlpack": (RuntimeError, lambda lib, x: lib.utils.dlpack.to_dlpack(x)),
    "copy": (NotImplementedError, lambda lib, x: copy.copy(x)),
    "deepcopy": (NotImplementedError, lambda lib, x: copy.deepcopy(x)),
    "pickle": (NotImplementedError, lambda lib, x: pickle.dumps(x)),
    "save": (NotImplementedError, lambda lib, x: lib.save(x, io.BytesIO())),
    "data": (RuntimeError, lambda lib, x: setattr(x, "data", lib.ones(2))),
}


@pytest.mark.parametrize("name", OF_MEMORY)
def test_tensors_of_transforms_have_no_memory(lib: ModuleType, name: str) -> None:
    f, x = of(lib), lib.ones(3, 2)
    error, look = OF_MEMORY[name]
    with raises(lib, error, "transform"):
        f.vmap(lambda a: look(lib, a))(x)
    with raises(lib, error, "transform"):
        f.jvp(lambda a: look(lib, a), (x[0],), (x[0],))


def test_refuses_hooks_on_saved_tensors(lib: ModuleType) -> None:
    f, x = of(lib), lib.ones(2)

    def hooked(function: Any) -> Any:
        def run(*args: Any) -> Any:
            with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                return function(*args)

        return run

    square = lambda a: (a * a).sum()  # noqa: E731
    for program in (
        hooked(f.grad(square)), f.grad(hooked(square)), f.jacrev(hooked(square)),
        f.hessian(hooked(square)), lambda x: f.vjp(hooked(square), x),
    ):  # fmt: skip
        with raises(lib, RuntimeError, "saved tensor hooks"):
            program(x)
    assert f.vmap(hooked(square))(lib.ones(2, 2)).tolist() == [2, 2]
    assert f.jvp(hooked(square), (x,), (x,))[1].item() == 4


def test_odd_shapes_and_structures(lib: ModuleType) -> None:
    f, x, none = of(lib), lib.ones(2), lib.zeros(0)
    double = lambda a: a * 2  # noqa: E731
    for transform in (f.jacrev, f.jacfwd):
        assert transform(double)(none).shape == (0, 0)
        assert transform(lambda a: a[:0])(x).shape == (0, 2)
        found = transform(lambda a, b: (a * b, {"k": a.sum()}), argnums=(0, 1))(x, x)
        assert found[0][1].tolist() == [[1, 0], [0, 1]] and found[1]["k"][1].tolist() == [0, 0]
        assert isinstance(transform(double, argnums=(0,))(x), tuple)
    assert f.hessian(lambda a: (a**2).sum())(none).shape == (0, 0)
    value, aux = f.jacrev(lambda a: (a * 2, a), has_aux=True)(x)
    assert value.tolist() == [[2, 0], [0, 2]] and aux.tolist() == [1, 1]
    found = f.jvp(lambda p: (p["a"] * 2, (p["a"] > 0)), ({"a": x},), ({"a": x},))
    assert found[1][0].tolist() == [2, 2] and found[1][1].tolist() == [0, 0]
    assert len(f.jvp(lambda a: (a, a), (x,), (x,), has_aux=True)) == 3
    assert f.jvp(lambda a: lib.ones(3), (x,), (x,))[1].tolist() == [0, 0, 0]
    z = lib.tensor([1 + 1j])
    assert f.jvp(lambda a: a * a * 1j, (z,), (z,))[1].tolist() == [-4]


def test_refuses_what_does_not_fit(lib: ModuleType) -> None:
    f, x = of(lib), lib.ones(2)
    z, three = lib.tensor([1j]), lib.ones(3)
    pull = f.vjp(lambda a: a, x)[1]
    for error, message, program in [
        (
            RuntimeError,
            "argnums elements must be unique",
            lambda: f.grad(lambda a: a, argnums=(0, -1))(x),
        ),
        (RuntimeError, "argnums must be int or Tuple", lambda: f.grad(lambda a: a, argnums=[0])(x)),
        (RuntimeError, "must be non-empty", lambda: f.grad(lambda a: a, argnums=())(x)),
        (RuntimeError, "must return a real number", lambda: f.grad(lambda a: a.sum())(z)),
        (RuntimeError, r"should be a tuple: \(output, aux\)", lambda: f.grad(sum, has_aux=True)(x)),
        (
            RuntimeError,
            "Expected tensors, got unsupported type",
            lambda: f.grad(lambda a: (a[0], 1), 0, True)(x),
        ),
        (RuntimeError, "can require gradients", lambda: f.grad(lambda a: a[0])(x.long())),
        (RuntimeError, "Expected pytree structure of cotangents", lambda: pull((x,))),
        (RuntimeError, "Mismatch in shape", lambda: pull(three)),
        (RuntimeError, "floating-point or complex", lambda: f.vjp(lambda a: a.long(), x)),
        (RuntimeError, "return only tensors, got unsupported", lambda: f.vjp(lambda a: 1, x)),
        (RuntimeError, "have the same python structure", lambda: f.jvp(lambda a: a, (x,), (x, x))),
        (RuntimeError, "same dtype", lambda: pull(x + 0j)),
        (RuntimeError, "have the shape", lambda: f.jvp(lambda a: a, (x,), (three,))),
        (RuntimeError, "at least one Tensor", lambda: f.jvp(lambda: x, (), ())),
        (RuntimeError, "must depend", lambda: f.jvp(lambda a: three, (x,), (x,), strict=True)),
        (RuntimeError, "to be real but", lambda: f.jacrev(lambda a: a * 1j)(x)),
        (RuntimeError, "to be real but", lambda: f.jacfwd(lambda a: a * 1j)(x)),
        (RuntimeError, "to be real but", lambda: f.jacfwd(lambda a: a)(z)),
        (ValueError, "chunk_size", lambda: f.jacrev(lambda a: a, chunk_size=0)(x)),
    ]:
        with raises(lib, error, message):
            program()
    assert f.jvp(lambda a: a, (x,), (x,), strict=True)[1].tolist() == [1, 1]


def test_vmap_structures(lib: ModuleType) -> None:
    f, x = of(lib), lib.arange(6.0).view(3, 2)
    assert f.vmap(lambda a: lib.ones(2), out_dims=None)(x).shape == (2,)
    assert f.vmap(lambda a: a, out_dims=(1,))(x).tolist() == x.T.tolist()
    assert f.vmap(lambda a: {"q": a}, out_dims={"q": 1})(x)["q"].shape == (2, 3)
    assert f.vmap(lambda a: (a, 1), out_dims=(0, None))(x)[1] == 1
    assert f.vmap(lambda p: p["x"][0] + p["x"][1], in_dims=({"x": 1},))({"x": [x, x]}).shape == (
        2,
        3,
    )
    assert f.vmap(lambda a: a.unsqueeze(0) * 2)(x[:0]).shape == (0, 1, 2)
    assert f.vmap(lambda a: a * 2)(x[:0].requires_grad_()).requires_grad
    assert not f.vmap(lambda a: a, chunk_size=2)(x)._is_view()
    assert f.vmap(lambda a: a, chunk_size=2, out_dims=-1)(x).tolist() == x.T.tolist()
    add = lambda a, b: a + b  # noqa: E731
    for error, message, program in [
        (
            ValueError,
            "expected `in_dims` to be int or a .potentially nested. tuple",
            lambda: f.vmap(add, in_dims=[0, 0])(x, x),
        ),
        (ValueError, "got no inputs", lambda: f.vmap(lambda: x)()),
        (ValueError, "structure of `inputs`", lambda: f.vmap(add, in_dims=(0,))(x, x)),
        (ValueError, "Got in_dim=0 for an input but the input is", lambda: f.vmap(add)(x, 1)),
        (ValueError, "Tensor of dimensionality 2", lambda: f.vmap(lambda a: a, in_dims=2)(x)),
        (
            ValueError,
            "of `outputs`",
            lambda: f.vmap(lambda a: [a, a], out_dims=(0, 0))(x),
        ),
        (ValueError, "must only return Tensors, got type", lambda: f.vmap(lambda a: 1.0)(x)),
        (
            RuntimeError,
            "values for randomness",
            lambda: f.vmap(add, randomness="x")(x, x),
        ),
        (ValueError, "chunk_size", lambda: f.vmap(add, chunk_size=0)(x, x)),
    ]:
        with raises(lib, error, message):
            program()


def test_vmap_gives_back_what_it_was_given(lib: ModuleType) -> None:
    f, leaf = of(lib), lib.ones(2, 3, requires_grad=True)
    assert f.vmap(lambda a: a)(leaf) is leaf
    assert f.vmap(lambda a, b: (b, a * 2), (None, -1), (1, None))(leaf[0], leaf)[0] is leaf
    assert f.vmap(lambda a: a, 1)(leaf).shape == (3, 2)
    with lib.no_grad():
        assert f.vmap(lambda a: a)(leaf).requires_grad
    with lib.inference_mode():
        assert f.vmap(lambda a: a * 2)(leaf).is_inference()
        assert not f.vmap(f.grad(lambda a: a.sum()))(leaf).is_inference()
    with pytest.raises(AssertionError):
        f.vmap(lambda a: a, chunk_size=1)(leaf[:0])


def test_vmap_refuses_random_numbers(lib: ModuleType) -> None:
    f, x, F = of(lib), lib.ones(3, 2), lib.nn.functional
    for draw in (
        lib.rand_like, F.dropout, lambda a: a + lib.rand(2), lambda a: a[lib.randperm(2)],
        lambda a: lib.bernoulli(a / 2),
        lambda a: a.clone().normal_(), lambda a: lib.native_dropout(a, 0.5, True)[0],
    ):  # fmt: skip
        with raises(lib, RuntimeError, "random operation while in randomness error mode"):
            f.vmap(draw)(x)
        with raises(lib, RuntimeError, "random operation while in randomness error mode"):
            f.vmap(f.vmap(draw, randomness="different"))(lib.ones(2, 3, 2))
        assert f.vmap(draw, randomness="different")(x).shape == (3, 2)
    for draw in (f.jacfwd(F.dropout), f.vmap(lambda a: F.rrelu(a, training=True))):
        with raises(lib, RuntimeError, "random operation while in randomness error mode"):
            draw(x)
    assert f.jacfwd(F.dropout, randomness="same")(x[0]).shape == (2, 2)
    assert f.vmap(lambda a: F.dropout(a, training=False))(x).tolist() == x.tolist()


def test_random_nestings(torch: ModuleType) -> None:
    findings = [transforms.check(seed, torch, nnkit) for seed in range(150)]
    assert not any(findings), "\n".join(filter(None, findings))


def test_vmap_refuses_what_depends_on_the_example(lib: ModuleType) -> None:
    f, x = of(lib), lib.arange(6.0).view(3, 2)
    for read in (
        lambda a: a if a.sum() > 1 else -a, lambda a: a * a.sum().item(), lambda a: a * float(a[0]),
        lambda a: a * int(a[0]), lambda a: lib.tensor(a.tolist()), lambda a: a[a > 1],
        lambda a: lib.arange(9)[int(a[0])], lambda a: a if lib.is_nonzero(a[0]) else -a,
        lambda a: a * (1.0 in a), f.vmap(lambda b: b if b > 1 else -b),
        lambda a: lib.tensor(lib.equal(a, x[0])),
    ):  # fmt: skip
        with pytest.raises(RuntimeError):
            f.vmap(read)(x)
    with raises(lib, RuntimeError, "differ between examples"):
        f.grad(lambda x: f.vmap(lambda a: a.sum() if a.sum() > 1 else -a.sum())(x).sum())(x)
    with raises(lib, ValueError, "differs by example"):
        f.vmap(lambda a: a, out_dims=None)(x)
    captured = lib.ones(2)
    for same in (
        lambda a: a if captured.sum() > 1 else -a, lambda a: a * captured[0].item(),
        lambda a: a * int(lib.tensor(1)), lambda a: a * len(captured.tolist()) / 2,
    ):  # fmt: skip
        assert f.vmap(same)(x).tolist() == x.tolist()
    assert f.vmap(lambda a: lib.arange(9.0)[a[0].long()])(x).tolist() == [0, 2, 4]
    assert f.grad(lambda a: a.sum() if a.sum() > 1 else -a.sum())(x).sum().item() == 6


def test_rows_of_a_jacobian_in_chunks(lib: ModuleType) -> None:
    class Dynamic(lib.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 if grad.nonzero().numel() else grad

    f, x, y = lib.func, lib.arange(6.0).view(2, 3), lib.arange(3.0)

    def several(x: Any, y: Any) -> tuple:
        return x.sin().sum(0) * y, (x * y[0]).T

    whole = f.jacrev(several, argnums=(0, 1))(x, y)
    for size in (1, 2, 4, 100):
        found = f.jacrev(several, argnums=(0, 1), chunk_size=size)(x, y)
        for row, expected in zip(found, whole, strict=True):
            assert all(map(lib.allclose, row, expected))
    assert f.jacrev(Dynamic.apply, chunk_size=1)(y).tolist() == (lib.eye(3) * 2).tolist()
    with pytest.raises(RuntimeError):
        f.jacrev(Dynamic.apply, chunk_size=2)(y)
