"""`autograd.functional` and `gradcheck`: torch's results, flags and refusals."""

from __future__ import annotations

import itertools
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

import nnkit
from tests.frameworks import raises


def product(a: Any, b: Any) -> Any:
    return a * b, a.sum()


def cubic(a: Any, b: Any) -> Any:
    return (a**2 * b).sum()


# Called with (functional, lib, inputs a and b, a vector v, create_graph and strict as options).
CALLS: dict[str, Any] = {
    "vjp": lambda f, lib, a, b, v, o: f.vjp(product, (a, b), (v, v.sum()), **o),
    "jvp": lambda f, lib, a, b, v, o: f.jvp(product, (a, b), (v, v), **o),
    "jacobian": lambda f, lib, a, b, v, o: f.jacobian(product, (a, b), **o),
    "hessian": lambda f, lib, a, b, v, o: f.hessian(cubic, (a, b), **o),
    "hvp": lambda f, lib, a, b, v, o: f.hvp(cubic, (a, b), (v, v), **o),
    "vhp": lambda f, lib, a, b, v, o: f.vhp(cubic, (a, b), (v, v), **o),
    "vjp of a product by 2": lambda f, lib, a, b, v, o: f.vjp(lambda a: a * 2, a, v, **o),
    "jvp of a product by 2": lambda f, lib, a, b, v, o: f.jvp(lambda a: a * 2, a, v, **o),
    "jacobian of a product by 2": lambda f, lib, a, b, v, o: f.jacobian(lambda a: a * 2, a, **o),
    "hessian of a sum": lambda f, lib, a, b, v, o: f.hessian(lambda a: a.sum(), a, **o),
    "hvp of a sum": lambda f, lib, a, b, v, o: f.hvp(lambda a: a.sum(), a, v, **o),
    "vhp of a sum": lambda f, lib, a, b, v, o: f.vhp(lambda a: a.sum(), a, v, **o),
    "jacobian of a constant": lambda f, lib, a, b, v, o: f.jacobian(lambda a: v, a, **o),
    "jvp of a constant": lambda f, lib, a, b, v, o: f.jvp(lambda a: v, a, v, **o),
    "vjp of a constant": lambda f, lib, a, b, v, o: f.vjp(lambda a: v, a, v, **o),
    "hessian of a constant": lambda f, lib, a, b, v, o: f.hessian(lambda a: v.sum(), a, **o),
    "vjp by an unused input": lambda f, lib, a, b, v, o: f.vjp(lambda a, b: a**2, (a, b), v, **o),
    "hvp by an unused input": lambda f, lib, a, b, v, o: f.hvp(
        lambda a, b: (a**2).sum(), (a, b), (v, v), **o
    ),
}


def described(value: Any) -> Any:
    if isinstance(value, tuple):
        return [described(v) for v in value]
    return tuple(value.shape), value.tolist(), value.requires_grad


@pytest.mark.parametrize("name", CALLS)
def test_is_torchs(name: str, torch: ModuleType) -> None:
    def outcome(lib: ModuleType, leaves: bool, options: dict[str, bool]) -> Any:
        a, b, v = (lib.tensor(x, dtype=lib.float64) for x in ([1.0, 2.0], [3.0, 4.0], [0.5, -1.0]))
        for leaf in (a, b) if leaves else ():
            leaf.requires_grad_()
        try:
            return described(CALLS[name](lib.autograd.functional, lib, a, b, v, options))
        except RuntimeError:
            return "RuntimeError"

    for leaves, create_graph, strict in itertools.product((False, True), repeat=3):
        options = {"create_graph": create_graph, "strict": strict}
        assert outcome(nnkit, leaves, options) == outcome(torch, leaves, options), options


def test_refuses(lib: ModuleType) -> None:
    f = lib.autograd.functional
    x, v = lib.ones(2, requires_grad=True), lib.ones(2)
    strict = {"strict": True, "create_graph": True}
    for error, message, call in [
        (RuntimeError, "independent of input 0", lambda: f.jacobian(lambda a: a * 2, x, **strict)),
        (RuntimeError, "independent of input 0", lambda: f.jvp(lambda a: a * 2, x, v, **strict)),
        (RuntimeError, "independent of input 0", lambda: f.vjp(lambda a: a * 2, x, v, **strict)),
        (AssertionError, "strategy must be", lambda: f.jacobian(lambda a: a, x, strategy="x")),
        (
            RuntimeError,
            "Output 0 .* does not require",
            lambda: f.vjp(lambda a: v, x, v, strict=True),
        ),
        (
            RuntimeError,
            "jacobian .* respect to input 0 is independent",
            lambda: f.hessian(sum, x, strict=True),
        ),
        (RuntimeError, "contain a single Tensor", lambda: f.jvp(lambda a: a, x, (v, v))),
        (RuntimeError, "^v has invalid size", lambda: f.jvp(lambda a: a, x, v[:1])),
        (RuntimeError, "^Entry 0 in v has", lambda: f.jvp(lambda a: a, (x,), v[:1])),
        (RuntimeError, "input to the .* a single element", lambda: f.jvp(lambda a: a, x)),
        (RuntimeError, "function returns a single", lambda: f.vjp(lambda a: a, x)),
        (RuntimeError, "return a single Tensor", lambda: f.vhp(lambda a: (a.sum(), a), x, v)),
        (RuntimeError, "contain a single element", lambda: f.hvp(lambda a: a, x, v)),
    ]:
        with raises(lib, error, message):
            call()


def test_a_vector_of_another_dtype_keeps_its_history(lib: ModuleType) -> None:
    v = lib.ones(2, requires_grad=True)
    x = lib.tensor([1.0, 2.0], dtype=lib.float64)
    f = lib.autograd.functional
    for product in (f.vjp, f.jvp):
        (g,) = lib.autograd.grad(product(lambda a: a**2, x, v, create_graph=True)[1].sum(), v)
        assert g.dtype is lib.float32 and g.tolist() == [2, 4]


def test_a_jacobian_without_rows(lib: ModuleType) -> None:
    f, none = lib.autograd.functional, lib.zeros(0)
    for program in (
        lambda: f.jacobian(lambda a: a * 2, none),
        lambda: f.hessian(lambda a: (a**2).sum(), none),
    ):
        with raises(lib, RuntimeError, "must return tensors with elements"):
            program()
    with raises(lib, RuntimeError, "a real Tensor"):
        f.vjp(lambda a: a, lib.zeros(1, dtype=lib.complex64))


def function(lib: ModuleType, gradient: Any) -> Any:
    """Twice its argument, with a gradient of its own."""

    class Twice(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return gradient(g)

    return Twice.apply


def test_gradcheck(lib: ModuleType) -> None:
    check = lib.autograd.gradcheck
    x = lib.tensor([0.5, 2.0], dtype=lib.float64, requires_grad=True)
    assert check(function(lib, lambda g: g * 2), x)
    assert not check(function(lib, lambda g: g * 3), x, raise_exception=False)
    noise = lib.ones(2, dtype=lib.float64) * 1e-7

    def restless(g: Any) -> Any:
        noise.mul_(1.1)
        return g * 2 + noise * g.abs()

    with raises(lib, RuntimeError, "not reentrant"):
        check(function(lib, restless), x)
    noise.fill_(1e-7)
    assert check(function(lib, restless), x, nondet_tol=1e-3)
    with raises(lib, AssertionError, "at least one of check_forward_ad or check_backward_ad"):
        check(lambda x: x, x, check_backward_ad=False)


def test_gradcheck_of_several_gradients_at_once(lib: ModuleType) -> None:
    check, gradgradcheck = lib.autograd.gradcheck, lib.autograd.gradgradcheck
    x = lib.tensor([0.5, 2.0], dtype=lib.float64, requires_grad=True)
    batched = {"check_batched_grad": True}
    assert check(lambda x: (x.exp() * x, x.sum()), x, **batched)
    assert gradgradcheck(lambda x: x.exp() * x, x, **batched)
    by_numbers = function(lib, lambda g: g * 2 if g.sum() == 0 else g * 2)
    assert check(by_numbers, x)
    with raises(lib, RuntimeError, "failed while testing batched gradient computation"):
        check(by_numbers, x, **batched)
    assert not check(by_numbers, x, **batched, raise_exception=False)


def test_gradcheck_looks_at_what_else_a_function_does(lib: ModuleType) -> None:
    check, x = lib.autograd.gradcheck, lib.ones(1, dtype=lib.float64, requires_grad=True)
    for message, function in [
        ("same shape", lambda x: lib.cat([x, x]) if (x >= 1).all() else x * 1),
        ("same dtype", lambda x: x.float() if (x >= 1).all() else x * 1),
    ]:
        with raises(lib, AssertionError, message):
            check(function, (x,))
    with raises(lib, RuntimeError, "expected to be zero"):
        check(lambda x: lib.tensor([x.item()], dtype=lib.float64), (x,))

    def hooked(x: Any) -> Any:
        def hook(g: Any) -> None:
            if g is None:
                raise RuntimeError("no gradient")

        y = x.clone()
        y.register_hook(hook)
        return y

    with pytest.warns(UserWarning, match="undefined gradient"):
        with raises(lib, RuntimeError, "undefined output grads"):
            check(hooked, (x,))
    assert check(hooked, (x,), check_undefined_grad=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_gradcheck_of_sparse_inputs(lib: ModuleType, layout: str) -> None:
    check, kind = lib.autograd.gradcheck, getattr(lib, layout)
    given = lib.tensor([[0.5, 0.0], [2.0, -1.0]], dtype=lib.float64)
    x, y = given.to_sparse(layout=kind).requires_grad_(), given.clone().requires_grad_()
    assert check(lambda x, y: x.to_dense() ** 2 * y, (x, y), masked=True)
    with pytest.raises(ValueError, match="Sparse output is not supported at gradcheck yet"):
        check(lambda x: x * 1, (x,), masked=True, raise_exception=False)

    def wrong(x: Any) -> Any:
        y = x.to_dense()
        y.register_hook(lambda g: g * 2)
        return y

    with pytest.raises(RuntimeError, match="Jacobian mismatch for output 0 with respect to inp"):
        check(wrong, (x,), masked=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradcheck_along_one_direction(lib: ModuleType, dtype: str) -> None:
    kind, options = getattr(lib, dtype), {"fast_mode": True, "check_forward_ad": True}
    x = (lib.arange(6.0).to(kind).reshape(2, 3) / 7 + 0.5).requires_grad_()
    y = (lib.arange(3.0).to(kind) / 5 - 2).requires_grad_()
    check, calls = lib.autograd.gradcheck, []

    def product(x: Any, y: Any) -> Any:
        calls.append(x)
        return x @ y, (x * x).sum(), y.abs()

    assert check(product, (x, y), **options)
    assert len(calls) < 60 and lib.autograd.gradgradcheck(product, (x, y), fast_mode=True)
    kept = x.tolist()
    for wrong in (
        lambda g: g * 2.01, lambda g: g + 2 * lib.tensor([1, -1, 0], dtype=kind),
    ):  # fmt: skip
        with raises(lib, RuntimeError, "Jacobian mismatch for output 0 with respect to input 0"):
            check(function(lib, wrong), x, fast_mode=True)
        assert not check(function(lib, wrong), x, fast_mode=True, raise_exception=False)
    assert x.tolist() == kept


@pytest.mark.parametrize("apart", [1, 2, 11, 22])
def test_one_direction_tells_elements_apart(apart: int) -> None:
    order = list(range(30))
    order[3], order[3 + apart] = order[3 + apart], order[3]
    x = nnkit.ones(30, dtype=nnkit.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        nnkit.autograd.gradcheck(function(nnkit, lambda g: 2 * g[order]), x, fast_mode=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("forwards", [False, True])
def test_one_direction_tells_a_jacobian_from_its_transpose(lib: ModuleType, forwards: bool) -> None:
    class Roll(lib.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.roll(1)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.roll(-1 if forwards else 1)

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return tangent.roll(-1)

    x = lib.ones(30, dtype=lib.float64, requires_grad=True)
    options = {"fast_mode": True, "check_forward_ad": forwards, "check_backward_ad": not forwards}
    with raises(lib, RuntimeError, "mismatch"):
        lib.autograd.gradcheck(Roll.apply, x, **options)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_gradcheck_of_nothing(lib: ModuleType, fast: bool) -> None:
    x = lib.ones(2, 0, dtype=lib.float64, requires_grad=True)
    y = lib.ones(2, dtype=lib.float64, requires_grad=True)
    options = {"fast_mode": fast, "check_batched_grad": False}
    assert lib.autograd.gradcheck(lambda x, y: (x * 2, y[:0], y * 3), (x, y), **options)


@pytest.mark.filterwarnings("ignore")
def test_words_of_gradcheck(lib: ModuleType) -> None:
    check = lib.autograd.gradcheck

    def off(x: Any, make: Any = lambda x: x.clone()) -> Any:
        y = make(x)
        y.register_hook(lambda g: g + 1e-2)
        return y

    class Sparse(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.to_sparse()

    class Forwards(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    real = lib.ones(2, dtype=lib.float64, requires_grad=True)
    imaginary = lib.ones(2, dtype=lib.complex128, requires_grad=True)
    both = lambda x: off(x, lambda x: lib.complex(x, x))
    for words, function, x, options in (
        ("^Jacobian mismatch for output 0 with respect to input 0", off, real, {}),
        ("imaginary part of complex outputs only, Jacobian mismatch", off, imaginary, {}),
        ("imaginary part of complex outputs only, Jacobian mismatch", both, real, {}),
        ("backward not multiplied by grad_output", off, real, {"atol": 0.1}),
        ("grad is incorrect layout", Sparse.apply, real, {}),
        ("Jacobian computed with forward mode mismatch for output 0 with respect to input 0",
         Forwards.apply, real, {"check_forward_ad": True}),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=words):
            check(function, (x,), **options)
        assert not check(function, (x,), raise_exception=False, **options)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double prec"):
        assert check(lambda x: x * 1, lib.ones(1, requires_grad=True), atol=0.1)


def test_gradcheck_of_what_depends_on_grad_mode(lib: ModuleType) -> None:
    x = lib.tensor([0.5, 2.0], dtype=lib.float64, requires_grad=True)

    def more(x: Any) -> Any:
        return (x**2, x**3) if lib.is_grad_enabled() else x

    def step(x: Any) -> Any:
        p = x.clone()
        p.grad = x * 3
        lib.optim.SGD([p], lr=0.1, differentiable=True).step()
        return p

    for check in (lib.autograd.gradcheck, lib.autograd.gradgradcheck):
        assert check(more, x)
    assert lib.autograd.gradcheck(step, x)


def test_strict_and_vectorized(lib: ModuleType) -> None:
    functional = import_module(f"{lib.__name__}.autograd.functional")
    for function in (functional.jacobian, functional.hessian):
        with raises(lib, RuntimeError, "not supported together"):
            function(lambda x: (x * x).sum(), lib.ones(2), strict=True, vectorize=True)
