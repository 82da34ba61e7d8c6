"""No transform leaves tensors behind that wait for the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

import nnkit
from nnkit import Tensor, func

# Of functions with an array as their result, and of those with a number.
OF_ARRAYS: dict[str, Callable] = {
    "vmap": func.vmap,
    "jacrev": func.jacrev,
    "jacfwd": func.jacfwd,
    "hessian": func.hessian,
    "tangent": lambda f: lambda x: func.jvp(f, (x,), (x,)),
}
OF_NUMBERS: dict[str, Callable] = {
    "grad": func.grad,
    "grad of grad": lambda f: func.grad(lambda x: func.grad(f)(x).sum()),
    "tangent of grad": lambda f: lambda x: func.jvp(func.grad(f), (x,), (x,)),
    "grad of tangent": lambda f: func.grad(lambda x: func.jvp(f, (x,), (x,))[1]),
    "linearize": lambda f: lambda x: func.linearize(f, x)[1](x),
    "vjp": lambda f: lambda x: func.vjp(f, x)[1](nnkit.tensor(1.0)),
    "functional": lambda f: lambda x: nnkit.autograd.functional.hessian(f, x),
}


def _identity(x: Tensor) -> Tensor:
    return x


def _with_views(x: Tensor) -> Tensor:
    y = x.clone()
    y.view(-1)[0] = 2.0
    return (y * y.flip(0)).sin()


@pytest.mark.parametrize("function", [_identity, _with_views])
@pytest.mark.parametrize("transform", OF_ARRAYS | OF_NUMBERS)
def test_no_tensor_is_left(transform: str, function: Callable) -> None:
    x = nnkit.tensor([[0.5, 1.5], [2.5, 3.5]])
    if transform in OF_ARRAYS:
        apply = OF_ARRAYS[transform](function)
    else:
        apply = OF_NUMBERS[transform](lambda x: function(x).sum())
    apply(x)  # what is made once
    gc.collect()
    gc.disable()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        apply(x)
        gc.collect()
        left = [each for each in gc.garbage if isinstance(each, Tensor)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left
