"""The history of what a compiled function returns: one node, whose rule is a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from nnkit.autograd.engine.node import Node, OutputEdge, edge_of, target_of
from nnkit.autograd.engine.unpacking import FREED
from nnkit.autograd.tensor import Tensor
from nnkit.backend.device import cpu


class CompiledFunctionBackward(Node):
    """Runs the backward that was recorded with a function.

    Its values are the program, the arrays that it reads of the forward, and the write counters of
    the Tensors that these belong to, as they were then.
    """

    __slots__ = ()
    operation = "a compiled function"
    saves_arrays = True

    def gradients(self, B: Any, grads: list, unpack: Callable) -> Any:
        if self.values is None:
            raise RuntimeError(FREED)
        if B is not self.device.backend:
            raise RuntimeError(
                "nnkit.compile: a compiled function cannot be differentiated twice; take "
                "create_graph=True out, or compile the whole step with both derivatives in it"
            )
        run, saved, counters = self.values
        for writes, count in counters:
            if writes[0] != count:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: a compiled function saved it at version {count}, and "
                    f"{writes[1] or 'an in-place operation'} wrote it since: it is at version "
                    f"{writes[0]}; expected version {count} instead."
                )
        return run(*grads, *saved)


class SpentNode(CompiledFunctionBackward):
    """The history of a loss whose backward ran in the compiled step."""

    __slots__ = ()

    def gradients(self, B: Any, grads: list, unpack: Callable) -> Any:
        raise RuntimeError(FREED)


def connect(
    record: Any, inputs: list, saved: tuple, counted: list, outputs: list, metas: list
) -> None:
    """Make a node the history of what a compiled function returns.

    Args:
        record: whose ``run`` is the backward.
        inputs: the Tensors that get its gradients.
        saved: the arrays of the forward that it reads.
        counted: the Tensors that must not be written until it has run.
        outputs: what is returned.
        metas: the shape and dtype of each of them.
    """
    edges = tuple([t._edge or t for t in inputs])
    counters = tuple([(t._writes, t._writes[0]) for t in counted])
    node = CompiledFunctionBackward(edges, (record.run, saved, counters), cpu)
    if len(outputs) > 1:
        node.outputs = metas
    for index, tensor in enumerate(outputs):
        tensor._requires_grad = True
        tensor._edge = node if len(outputs) == 1 else OutputEdge(node, index)


def walk(outputs: Iterable[Tensor], stops: Iterable[Tensor] = ()) -> Iterable[Any]:
    """The nodes and leaves that Tensors depend on, up to where ``stops`` are made."""
    ends = {_key(edge_of(t)) for t in stops}
    stack = [edge_of(t) for t in outputs]
    seen = set()
    while stack:
        edge = stack.pop()
        target, _ = target_of(edge)
        if target is None or _key(edge) in ends or id(target) in seen:
            continue
        seen.add(id(target))
        yield target
        if isinstance(target, Node):
            stack.extend(target.edges)


def _key(edge: Any) -> tuple:
    target, index = target_of(edge)
    return id(target), index


def is_spent(tensor: Tensor) -> bool:
    """Whether a node that a Tensor depends on has freed what it had saved."""
    return any(isinstance(t, Node) and t.values is None for t in walk([tensor]))


def leaves_of(outputs: list[Tensor], stops: list[Tensor]) -> tuple[list[Tensor], list[Node]]:
    """The leaves that Tensors depend on, ``stops`` among them first, and the nodes between."""
    found = list(walk(outputs, [t for t in stops if t._edge is not None]))
    leaves = [t for t in found if isinstance(t, Tensor)]
    ends = [t for t in stops if t._edge is not None]
    return [*ends, *leaves], [t for t in found if isinstance(t, Node)]


def has_hooks(nodes: Iterable[Node], leaves: Iterable[Tensor]) -> bool:
    """Whether anybody wants to see gradients on the way."""
    return any(n.hooks is not None for n in nodes) or any(t._hooks is not None for t in leaves)
