"""Tensors whose memory is replaced, and leaves that begin anew.

As in torch, a leaf that gets other memory by ``set_``, or another dtype by ``data``, has another
node from then on. The graphs that were recorded before end at the former one, which still adds to
the leaf's gradient, but is not what ``autograd.grad`` and ``inputs`` ask for. An edge to a leaf is
the leaf itself, so those graphs are looked up, once, before a graph is next looked at.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from nnkit.autograd.engine.leaves import REFERENCES_OF_A_LOCAL
from nnkit.autograd.engine.node import (
    RENEWED,
    RUNNING,
    AccumulateGrad,
    LeafHooks,
    Node,
    NodeHooks,
    accumulator,
    made_at,
    sequence,
)


class FormerAccumulateGrad(AccumulateGrad):
    """The node of a leaf in the graphs from before it began anew."""

    __slots__ = ()
    materializes = False
    _hooks = Node._hooks

    def gradients(self, B: Any, grads: list, unpack: Callable) -> tuple:
        (grad,) = grads
        del grads[:]
        unshared = sys.getrefcount(grad) <= REFERENCES_OF_A_LOCAL + 1  # what waited, in the pass
        RUNNING.innermost.give(self.variable, grad, unshared)
        return ()


FormerAccumulateGrad.__name__ = "AccumulateGrad"


def replace_memory(x: Any, data: Any) -> None:
    """Let a tensor hold another array. It keeps its history, whose gradients have the shape and
    dtype of the old array; as a leaf it begins anew if the dtype is another."""
    before, edge = object.__getattribute__(x, "_array"), x._edge  # lazy ones do not show it
    if edge is None:
        if x._requires_grad and before.dtype != data.dtype:
            begin_anew(x, before)
    elif isinstance(edge, Node) and edge.outputs is None:
        if before.shape != data.shape or before.dtype != data.dtype:
            edge.outputs = [(before.shape, before.dtype)]
    x._array = data


def begin_anew(leaf: Any, before: Any) -> None:
    """From now on, a leaf, which has held the array ``before``, has another node in the graphs that
    are recorded."""
    hooks, node = leaf._hooks, None
    form = before.shape, before.dtype
    if hooks is not None and (hooks.pre or hooks.post or hooks.node):
        node = _former(leaf, form, accumulator(leaf))
        fresh = leaf._hooks = LeafHooks()
        for name in ("tensor", "place", "post_accumulate", "retained", "detached"):
            setattr(fresh, name, getattr(hooks, name))
    RENEWED.append((weakref.ref(leaf), next(sequence), form, node))
    if len(RENEWED) > 10_000:  # where there is no backward that looks them up
        look_up_former()


def _former(leaf: Any, form: tuple, node: Any) -> FormerAccumulateGrad:
    hooks = leaf._hooks or LeafHooks()
    node.__class__ = FormerAccumulateGrad
    node.values, node.device, node.meta = (), leaf._device, None
    node.outputs = [form]
    node.hooks = NodeHooks()
    node.hooks.pre, node.hooks.post, node.hooks.metadata = hooks.pre, hooks.post, hooks.metadata
    node.hooks.tensor[0] = hooks.tensor  # which stay those of the leaf
    return node


def look_up_former() -> None:
    """Let the graphs that were recorded before a leaf began anew end at its former node."""
    known: dict[int, list] = {}
    for reference, order, form, node in RENEWED:  # as `begin_anew` has noted them
        leaf = reference()
        if leaf is not None:
            known.setdefault(id(leaf), []).append((order, leaf, form, node))
    RENEWED.clear()
    for node in recorded():
        if any(id(edge) in known for edge in node.edges):
            node.edges = tuple([_then(known, node, edge) for edge in node.edges])


Node._look_up_former = staticmethod(look_up_former)  # type: ignore[assignment]


def _then(known: dict[int, list], node: Node, edge: Any) -> Any:
    """What an edge led to when a node was made."""
    former = known.get(id(edge), [])
    for position, (order, leaf, form, place) in enumerate(former):
        if made_at(node) < order:
            if place is None:
                place = _former(leaf, form, AccumulateGrad(leaf))
                former[position] = order, leaf, form, place
            return place
    return edge


_LIVING: dict[int, list[weakref.ref[Node]]] = {}  # by the number of the next node: who lived then


def recorded() -> Iterator[Node]:
    """The nodes that live and have edges.

    All objects are looked through only if nodes were made since the last time, each of which has
    taken a number: a module exchanges its parameters one by one.
    """
    number = next(sequence)
    found = _LIVING.pop(number, None)
    if found is None:
        _LIVING.clear()
        found = [weakref.ref(x) for x in gc.get_objects() if issubclass(type(x), Node)]
    _LIVING[number + 1] = found
    return (node for each in found if (node := each()) is not None and getattr(node, "edges", ()))
