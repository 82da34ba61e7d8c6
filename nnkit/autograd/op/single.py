"""Functions that are one operation in torch, and several ops here.

`single` makes them look like one. It decides once, not for each op, whether inference tensors are
recorded because another operand is a normal tensor. And it gives the result one node (a `Whole`),
so that the graph, and the hooks on it, show the function with its own arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from nnkit.autograd.engine.backward_pass import Pass
from nnkit.autograd.engine.node import GradientEdge, Node, OutputEdge, Passage, edge_of, target_of
from nnkit.autograd.engine.unpacking import unpack_tensor
from nnkit.autograd.grad_mode import MODE, no_grad
from nnkit.autograd.op.inference import refusal
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.counters import SeenWrites, without_base
from nnkit.autograd.views.history import refresh
from nnkit.autograd.views.replay import laid
from nnkit.autograd.views.writes import is_unseen
from nnkit.backend.dtype import FLOATING
from nnkit.backend.memory import order_of


class Whole(Node):
    """The node of a function made of several ops: its rule is the backward pass through them.

    Its values are the edges of the results; for each argument None or the `Passage` through which
    it enters, where second derivatives continue; the saved values of its ops, once a second
    derivative may free them; and, by argument, the memory orders that gradients must have.
    """

    __slots__ = ()
    materializes = False
    reads_result = False
    orders_gradients = False

    @property
    def saves_arrays(self) -> bool:  # type: ignore[override]
        """Whether one of its ops saves arrays: they are freed with the node."""
        return any(node.saves_arrays for node in self.parts)

    @property
    def parts(self) -> Iterator[Node]:
        """The nodes of its ops."""
        results, entrances, *_ = self._restored()
        left, looked_at = [target_of(edge)[0] for edge in results], {None, *entrances}
        while left:
            node: Any = left.pop()
            if node not in looked_at and isinstance(node, Node):
                yield node
                looked_at.add(node)
                left += [target_of(edge)[0] for edge in node.edges]

    def _restored(self) -> tuple:
        """Its values, after giving its ops back what a second derivative has freed."""
        for node, values in self.values[2]:
            node.values = values
        return self.values

    def gradients(self, B: Any, grads: list, unpack: Callable) -> list:
        results, entrances, saved, orders = self._restored()
        lifted = B if unpack is unpack_tensor else None
        if lifted and not saved and not self.reads_result:
            saved = [(node, node.values) for node in self.parts]
            self.values = results, entrances, saved, orders
        roots = [(edge, g) for edge, g in zip(results, grads, strict=True) if g is not None]
        # The gradients of a recorded pass depend on the ops themselves, which may have to run again
        # in this pass.
        inner = Pass(roots, lifted, unpack, retain=True)
        inner.is_part = True
        wanted = [i for i, entrance in enumerate(entrances) if entrance is not None]
        inner.limit_to([GradientEdge(entrances[i], 0) for i in wanted], accumulate=False)
        inner.run()
        found = {i: inner.captured.get(place) for place, i in enumerate(wanted)}
        for i, order in orders.items():
            if found.get(i) is not None:
                found[i] = laid(B, found[i], order)
        return [found.get(i) for i in range(len(entrances))]


def single(
    function: Callable | None = None,
    *,
    alone: str | None = None,
    name: str = "",
    node: str | None = None,
    reads_result: bool = False,
    orders_gradients: bool = False,
    saves: bool = True,
) -> Any:
    """Decorate a function of Tensors that is one operation for torch's autograd.

    Args:
        alone: what torch does if all tensors are inference tensors (see `rule`): by default it does
            not record the operation; ``"recorded"``: it does; ``"refused"``: RuntimeError if one
            of them requires grad.
        name: the name in messages.
        node: the name of the node class. Without one the results keep the nodes of the ops, which
            is necessary if ``name_`` overwrites what their rules read.
        reads_result: whether torch's derivative also depends on the result, so that a pass through
            the derivative runs this node and frees what it saved.
        orders_gradients: whether a gradient has the memory order of the argument.
        saves: whether torch's node saves tensors, which backward frees.
    """
    if function is None:
        return functools.partial(
            single, alone=alone, name=name, node=node, reads_result=reads_result,
            orders_gradients=orders_gradients, saves=saves,
        )  # fmt: skip
    name = name or function.__name__
    members: dict = {"__slots__": (), "operation": name, "reads_result": reads_result}
    members["orders_gradients"] = orders_gradients
    if not saves:
        members["saves_arrays"] = False
    kind = node and type(node, (Whole,), members)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if MODE.enabled:
            given = _tensors((*arguments, *options.values()))
            unseen = [t._is_inference() for t in given]
            if True in unseen:
                if all(unseen) and alone != "recorded":
                    if alone and any(t._requires_grad for t in given):
                        raise RuntimeError(refusal(name))
                    with no_grad():
                        return _results(function(*arguments, **options))
                arguments = tuple(map(seen, arguments))
                options = {name: seen(value) for name, value in options.items()}
            if kind and True in [t._requires_grad for t in given]:
                return _results(_as_one(kind, function, arguments, options))
        return _results(function(*arguments, **options))

    return call


def _results(found: Any) -> Any:
    """The results of one operation, which are no views of what was computed on the way."""
    for result in found if isinstance(found, tuple) else (found,):
        if isinstance(result, Tensor) and result._base is not None:
            without_base(result)
    return found


def _as_one(kind: Any, function: Callable, arguments: tuple, options: dict) -> Any:
    """The results of the function, with one node for all its ops."""
    edges: list = []
    entrances: list = []
    orders: dict = {}

    def entering(value: Any) -> Any:
        if value.__class__ in (list, tuple):
            return type(value)(map(entering, value))
        if not isinstance(value, Tensor) or value.dtype.category < FLOATING:
            return value
        refresh(value)
        edge = edge_of(value) if value._requires_grad else None
        edges.append(edge)
        entrances.append(None if edge is None else Passage((edge,), (), value._device))
        if edge is None:
            return value
        if kind.orders_gradients:
            orders[len(entrances) - 1] = order_of(value._array)
        entered = wrap(value._array, value._device)
        entered._writes = value._writes
        entered._requires_grad = True
        entered._edge = entrances[-1]
        return entered

    arguments = tuple(map(entering, arguments))
    result = function(*arguments, **{n: entering(value) for n, value in options.items()})
    results = result if isinstance(result, tuple) else (result,)
    if not any(out._requires_grad for out in results):
        return result
    ways = tuple([out._edge for out in results])
    node = kind(tuple(edges), (ways, tuple(entrances), (), orders), results[0]._device)
    if len(results) > 1:
        data = [out._array for out in results]
        node.outputs = [w and (d.shape, d.dtype) for w, d in zip(ways, data, strict=True)]
    for index, out in enumerate(results):
        if out._requires_grad:
            out._edge = node if len(results) == 1 else OutputEdge(node, index)
    return result


def _tensors(values: Any) -> list[Tensor]:
    """The tensors among the arguments, and in lists among them."""
    found: list[Tensor] = []
    for value in values:
        if value.__class__ in (list, tuple):
            found += [t for t in value if isinstance(t, Tensor)]
        elif isinstance(value, Tensor):
            found.append(value)
    return found


def seen(value: Any) -> Any:
    """An inference tensor as autograd sees it beside normal tensors: with its history, but it must
    not be saved."""
    if value.__class__ in (list, tuple):
        return type(value)(map(seen, value))
    if not isinstance(value, Tensor) or not value._is_inference():
        return value
    out = wrap(value._array, value._device)
    out._writes = SeenWrites()
    if value._requires_grad:
        out._requires_grad = True
        out._edge = Passage((edge_of(value),), (), value._device)
    return out


def seen_beside(value: Tensor, *others: Any) -> Tensor:
    """`seen`, if one of the others is not an inference tensor."""
    return value if is_unseen((value, *others)) else seen(value)
