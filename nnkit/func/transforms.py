"""Derivatives of functions as functions: `grad`, `vjp`, `jacrev` ...

All are computed in reverse mode. A derivative that is taken inside another one, or of tensors
that require grad, can itself be differentiated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor, enable_grad, functional
from nnkit.autograd import grad as gradients
from nnkit.autograd.ops.creation import zeros_like
from nnkit.autograd.ops.joining import stack
from nnkit.func.tree import flatten


class _Nesting(threading.local):
    depth = 0  # how many transforms this thread is computing around the next one


_NESTING = _Nesting()


class _Tracked:
    """Some arguments of a call, made differentiable; active while the call is computed."""

    def __init__(self, name: str, args: tuple, argnums: Any) -> None:
        self.several = isinstance(argnums, tuple)
        numbers = argnums if isinstance(argnums, tuple) else (argnums,)
        for number in numbers:
            if not -len(args) <= number < len(args):
                raise RuntimeError(
                    f"{name}: argnums={argnums} is out of range for {len(args)} positional "
                    "arguments"
                )
        values, self.rebuild = flatten(tuple(args[n] for n in numbers))
        for value in values:
            if not isinstance(value, Tensor):
                raise ValueError(
                    f"{name}: the arguments of argnums must be tensors, got {type(value).__name__}"
                )
        self.create_graph = _NESTING.depth > 0 or any(v.requires_grad for v in values)
        with enable_grad():
            self.leaves = [
                v.view_as(v) if v.requires_grad else v.detach().requires_grad_() for v in values
            ]
        replaced = list(args)
        for number, value in zip(numbers, self.rebuild(self.leaves), strict=True):
            replaced[number] = value
        self.args = tuple(replaced)

    def __enter__(self) -> _Tracked:
        _NESTING.depth += 1
        self._mode = enable_grad()
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        _NESTING.depth -= 1
        self._mode.__exit__(*exception)

    def structured(self, leaves: list[Any]) -> Any:
        """One value for each leaf, in the arguments' structure."""
        values = self.rebuild(leaves)
        return values if self.several else values[0]

    def out(self, tree: Any) -> Any:
        """A result, cut off the graph unless it is to be differentiated."""
        if self.create_graph:
            return tree
        leaves, rebuild = flatten(tree)
        return rebuild([v.detach() if isinstance(v, Tensor) else v for v in leaves])


def _split(result: Any, has_aux: bool) -> tuple[Any, Any]:
    return result if has_aux else (result, None)


def grad_and_value(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """The function that gives the gradient of ``func`` and its value.

    Args:
        func: returns one number; with ``has_aux`` a pair of it and anything.
        argnums: the positional argument (or a tuple of several) to differentiate by; each a tensor
            or a nested dict, list or tuple of tensors.
        has_aux: give ``(gradient, (value, aux))``.

    Raises:
        RuntimeError: the value is no single number, or ``argnums`` is out of range.

    Example:
        >>> import nnkit
        >>> nnkit.func.grad_and_value(lambda x: (x**2).sum())(nnkit.tensor([1.0, 2.0]))
        (tensor([2., 4.]), tensor(5.))
    """

    def both(*args: Any, **kwargs: Any) -> Any:
        with _Tracked("grad", args, argnums) as tracked:
            value, aux = _split(func(*tracked.args, **kwargs), has_aux)
            if not isinstance(value, Tensor) or value.ndim != 0:
                shown = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
                raise RuntimeError(f"grad: the function must return a 0-dim tensor, got {shown}")
            found = _gradients(value, tracked)
        value = tracked.out(value)
        return tracked.structured(found), (value, tracked.out(aux)) if has_aux else value

    return both


def _gradients(value: Tensor, tracked: _Tracked, weight: Tensor | None = None) -> list[Tensor]:
    if not value.requires_grad:
        return [zeros_like(leaf) for leaf in tracked.leaves]
    found = gradients(
        value, tracked.leaves, weight, retain_graph=True, create_graph=tracked.create_graph,
        allow_unused=True, materialize_grads=True,
    )  # fmt: skip
    return list(found)


def grad(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """The function that gives the gradient of ``func``; arguments as of `grad_and_value`.

    Example:
        >>> import nnkit
        >>> grad = nnkit.func.grad
        >>> grad(grad(lambda x: x**3))(nnkit.tensor(2.0))
        tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def vjp(func: Callable, *primals: Any, has_aux: bool = False) -> Any:
    """The value of ``func`` and the function from its cotangents to those of the arguments.

    Example:
        >>> import nnkit
        >>> value, pull = nnkit.func.vjp(lambda x: x**2, nnkit.tensor([1.0, 2.0]))
        >>> pull(nnkit.ones(2))
        (tensor([2., 4.]),)
    """
    with _Tracked("vjp", primals, tuple(range(len(primals)))) as tracked:
        value, aux = _split(func(*tracked.args), has_aux)

    def pull(cotangents: Any) -> tuple:
        outputs, _ = flatten(value)
        weights, _ = flatten(cotangents)
        total: list[Any] = [0] * len(tracked.leaves)
        for output, weight in zip(outputs, weights, strict=True):
            found = _gradients(output, tracked, weight)
            total = [t + g for t, g in zip(total, found, strict=True)]
        return tracked.structured(total)

    shown = tracked.out(value)
    return (shown, pull, tracked.out(aux)) if has_aux else (shown, pull)


def jvp(func: Callable, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The value of ``func`` and its derivative in the direction of ``tangents``.

    Raises:
        RuntimeError: primals or tangents are no tuple.

    Example:
        >>> import nnkit
        >>> nnkit.func.jvp(lambda x: x**2, (nnkit.tensor(3.0),), (nnkit.tensor(1.0),))
        (tensor(9.), tensor(6.))
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(f"jvp: {name} must be a tuple, got {type(given).__name__}")
    return functional.jvp(
        func,
        primals if len(primals) > 1 else primals[0],
        tangents if len(tangents) > 1 else tangents[0],
    )


def jacrev(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """The function that gives the Jacobian of ``func``: the output's shape, then the argument's.

    Args:
        func: returns a tensor, or a nested structure of tensors; with ``has_aux`` a pair.
        argnums: as of `grad_and_value`.
        has_aux: give ``(jacobian, aux)``.

    Example:
        >>> import nnkit
        >>> nnkit.func.jacrev(lambda x: x**2)(nnkit.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        with _Tracked("jacrev", args, argnums) as tracked:
            value, aux = _split(func(*tracked.args, **kwargs), has_aux)
            outputs, rebuild = flatten(value)
            found = []
            for output in outputs:
                rows = [_gradients(number, tracked) for number in output.reshape(-1)]
                found.append(
                    tracked.structured(
                        [
                            stack([row[i] for row in rows]).reshape(*output.shape, *leaf.shape)
                            for i, leaf in enumerate(tracked.leaves)
                        ]
                    )
                )
        result = rebuild(found)
        return (result, tracked.out(aux)) if has_aux else result

    return jacobian


def jacfwd(func: Callable, argnums: Any = 0, has_aux: bool = False) -> Callable:
    """As `jacrev`, which computes it.

    Example:
        >>> import nnkit
        >>> nnkit.func.jacfwd(nnkit.sin)(nnkit.zeros(1))
        tensor([[1.]])
    """
    return jacrev(func, argnums, has_aux)


def hessian(func: Callable, argnums: Any = 0) -> Callable:
    """The function that gives the second derivatives of ``func``.

    Example:
        >>> import nnkit
        >>> nnkit.func.hessian(lambda x: (x**3).sum())(nnkit.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacrev(jacrev(func, argnums), argnums)
