"""`once_differentiable`: the backward of a Function that has no derivative itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit.autograd.engine.node import OF_NO_OP, Node, OutputEdge
from nnkit.autograd.grad_mode import MODE, no_grad
from nnkit.autograd.tensor import Tensor, wrap


class Error(Node):
    """The node of gradients from a `once_differentiable` backward: raises when it is run."""

    __slots__ = ()
    space = OF_NO_OP

    def gradients(self, B: Any, grads: Any, unpack: Callable) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )


def once_differentiable(function: Callable) -> Callable:
    """Decorate the backward of a `Function` that must not be differentiated itself.

    Example:
        >>> import nnkit
        >>> class Double(nnkit.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return x * 2
        ...     @staticmethod
        ...     @nnkit.autograd.function.once_differentiable
        ...     def backward(ctx, g):
        ...         return g * 2
        >>> x = nnkit.tensor(1.0, requires_grad=True)
        >>> nnkit.autograd.grad(Double.apply(x), x)
        (tensor(2.),)
    """

    @functools.wraps(function)
    def backward(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            result = function(ctx, *grads)
        if not MODE.enabled or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        guarded = [o.detach() if isinstance(o, Tensor) else o for o in outputs]
        found = [(i, o) for i, o in enumerate(guarded) if isinstance(o, Tensor)]
        if found:
            leaves = {i: wrap(o._array, o._device) for i, o in found}  # in place of the inputs
            for leaf in leaves.values():
                leaf._requires_grad = True
            edges = tuple([leaves.get(i) for i in range(len(outputs))])
            node = Error(edges, (), found[0][1]._device)
            node.outputs = [None] * len(outputs)
            for i, out in found:
                node.outputs[i] = (out._array.shape, out._array.dtype)
                out._edge = OutputEdge(node, i) if len(outputs) > 1 else node
                out._requires_grad = True
        return tuple(guarded) if isinstance(result, tuple) else guarded[0]

    return backward
