"""Formal dependences: gradients and tangents that depend on a tensor with a derivative of zeros.

torch records every operand of a formula, in ``g * x.sign()`` also `x`, and so the result requires a
gradient. The rules here are functions of fewer operands: a comparison, say, has no node. Where
torch has a history beyond that of the rules, it is added by a `Dependence`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.arguments.dims import broadcasts
from nnkit.autograd.batch.examples import Batched
from nnkit.autograd.engine.node import Node, edge_of
from nnkit.autograd.forward.dual import Dual, dual_of
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.promotion import on_one_device
from nnkit.autograd.op.registry import LIFTED
from nnkit.autograd.tensor import Tensor, wrap


class Dependence(Node):
    """Passes a gradient on, and zeros or None to the tensors that its value formally depends on."""

    __slots__ = ()

    def gradients(self, B: Any, grads: list, unpack: Callable) -> tuple:
        g = grads[0]
        zeros: Any = None if self.values == "none" else B.zeros_like(g)
        return g, *((zeros,) * (len(self.edges) - 1))


def depending(node: Node, results: tuple, kind: str, saved: tuple) -> tuple:
    """The gradients of a node whose op ``depends``, with their formal dependences.

    Args:
        saved: for each result what torch's formula for it reads, where it is known; for the kind
            "none" the edges of all that is read.
    """
    if not MODE.enabled:
        return results
    linked = []
    for i, result in enumerate(results):
        if isinstance(result, Tensor) and node.edges[i] is not None:
            if kind == "none":
                if any(edge is not None for edge in saved):
                    result = _linked(result, saved, kind)
            elif saved[i] is None:
                result = _linked(result, (node.edges[i],), "zeros", (node.meta and node.meta[i],))
            else:
                result = dependent(result, [saved[i]], kind, besides=True)
        linked.append(result)
    return tuple(linked)


def dependent(
    value: Tensor, others: Sequence[Any], kind: str = "zeros", besides: bool = False
) -> Tensor:
    """The value as a function of the others too, on their level and on those around it.

    Args:
        kind: "zeros", or "backward": then its tangents do not depend on theirs.
        besides: whether a value that requires a gradient anyway is made one on its own level too.
    """
    others = [other for other in others if wants(other)]
    if not others:
        return value
    value, *others = on_one_device("dependent", (value, *others))
    found, level = value, value._device
    if level.depth:
        if value._array.__class__ is Dual:
            data: Any = _dependent_dual(dual_of(value), level, others, kind)
        else:  # all examples share one history
            whole, dim = level.lower(value)
            wholes = [level.lower(other)[0] for other in others]
            data = Batched(dependent(whole, wholes, kind, besides), dim)
        found = wrap(data, level)
        found._edge, found._requires_grad = value._edge, value.requires_grad
    own = [other for other in others if other.requires_grad]
    if not own or (value.requires_grad and not besides):
        return found
    alike = all(broadcasts(other._array.shape, value._array.shape) for other in own)
    meta = tuple([(other._array.shape, other._array.dtype) for other in own])
    passed = "zeros" if alike else "none"
    return _linked(found, tuple([edge_of(other) for other in own]), passed, meta)


def _dependent_dual(data: Dual, level: Any, others: Sequence[Tensor], kind: str) -> Dual:
    lower = [level.lower(other) for other in others]
    points = [primal for primal, _ in lower]
    own = [tangent for _, tangent in lower if tangent is not None]
    moving = data.tangent
    if own and kind == "zeros" and any(map(wants, (*points, *own))):
        moving = LIFTED.zeros_like(data.primal) if moving is None else moving
        moving = dependent(moving, [*points, *own])
    return Dual(dependent(data.primal, points, kind), moving)


def wants(value: Any) -> bool:
    """Whether a tensor requires a gradient, on its own level or on one around it."""
    if not isinstance(value, Tensor):
        return False
    if value.requires_grad or not value._device.depth:
        return value.requires_grad
    if value._array.__class__ is Batched:
        return wants(value._device.lower(value)[0])
    return wants(dual_of(value).primal) or wants(dual_of(value).tangent)


def _linked(value: Tensor, edges: tuple, kind: str, meta: tuple | None = None) -> Tensor:
    found = wrap(value._array, value._device)
    found._requires_grad = True
    known = edge_of(value) if value._requires_grad else None
    found._edge = Dependence((known, *edges), kind, value._device, meta and (None, *meta))
    return found
