"""What a tensor holds, exchanged with another's; and what a module's tensor becomes by a load."""

from __future__ import annotations

import weakref
from typing import Any

from nnkit.autograd.arguments.overriding import overridable
from nnkit.autograd.engine.node import RENEWED, Node, RemovableHandle, leaf_hooks
from nnkit.autograd.engine.renewal import look_up_former, recorded
from nnkit.autograd.engine.saved import SavedIndex
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.public import attach
from nnkit.autograd.tensor import Tensor


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange all that two tensors are: class, memory, attributes, gradient and history.

    Whoever holds one of them holds what the other was. A graph that was recorded before refers to
    what it referred to; a backward pass through it that comes to one of them raises.

    Raises:
        RuntimeError: there are weak references to one of them, a graph has saved it, it is the base
            of a view or the gradient of another, or their classes have different slots.
        AttributeError: a graph leads to one of them, in inference mode or to an inference tensor.

    Example:
        >>> import nnkit
        >>> a, b = nnkit.zeros(2), nnkit.nn.Parameter(nnkit.ones(3))
        >>> nnkit.utils.swap_tensors(a, b)
        >>> a.tolist(), type(b).__name__
        ([1.0, 1.0, 1.0], 'Tensor')
    """
    if RENEWED:  # weak references
        look_up_former()
    slots = _slots(t1)
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if slots != _slots(t2):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    graphs = [_graphs_of(tensor, name) for name, tensor in (("t1", t1), ("t2", t2))]
    for tensor, nodes in zip((t1, t2), graphs, strict=True):
        if nodes and (MODE.inference or tensor._is_inference()):
            raise AttributeError("swap_tensors(): inference mode hides the graph of a tensor")
    contents = [_contents(tensor, slots) for tensor in (t1, t2)]
    t1.__class__, t2.__class__ = type(t2), type(t1)
    for tensor, content in zip((t2, t1), contents):
        for name in slots:
            if name in content:
                setattr(tensor, name, content[name])
            elif hasattr(tensor, name):
                delattr(tensor, name)
        tensor._device.claim(tensor)
    exchanged = {id(t1): t2, id(t2): t1}
    for node in {*graphs[0], *graphs[1]}:
        node.edges = tuple([exchanged.get(id(edge), edge) for edge in node.edges])
    _refuse_gradients(t2, graphs[0])
    _refuse_gradients(t1, graphs[1])


def _graphs_of(tensor: Tensor, name: str) -> list[Node]:
    """The nodes with an edge to a leaf.

    Raises:
        RuntimeError: a node has saved the tensor, or another tensor refers to it.
    """
    found = []
    for node in recorded():
        if _holds(node.values, tensor):
            raise RuntimeError(f"swap_tensors(): {name} is saved for backward by {node.name()}")
        if any(edge is tensor for edge in node.edges):
            found.append(node)
    for other in Tensor._living():
        if other._base is tensor or other._grad is tensor:
            what = "base" if other._base is tensor else "gradient"
            raise RuntimeError(f"swap_tensors(): {name} is the {what} of another tensor")
    return found


def _holds(value: Any, tensor: Tensor) -> bool:
    """Whether a tensor is among the saved values of a node."""
    if value.__class__ is SavedIndex:
        value = value.items
    if isinstance(value, (tuple, list)):
        return any(_holds(each, tensor) for each in value)
    return value is tensor


def _refuse_gradients(leaf: Tensor, nodes: list[Node]) -> None:
    """Let the backward passes that come to a leaf raise, while the nodes live that referred to what
    it has become."""
    hooks = leaf._hooks
    own = hooks.node() if hooks is not None and hooks.node is not None else None
    if own is not None:
        own.variable = leaf
        nodes = [*nodes, own]
    living = weakref.WeakSet(nodes)

    def refuse(grads: tuple) -> None:
        if living:
            raise RuntimeError(
                "swap_tensors() was called on a tensor between forward and backward: this pass "
                "came to its AccumulateGrad node that was poisoned by swap_tensors. Swap before "
                "the forward pass, or after the backward pass"
            )

    if nodes:
        RemovableHandle.add(leaf_hooks(leaf).pre, refuse)


def _slots(tensor: Tensor) -> set[str]:
    """The names of its slots, among them that of the dictionary of its attributes."""
    slots: set[str] = {"__dict__"}
    for kind in type(tensor).__mro__:
        own = vars(kind).get("__slots__", ())
        slots.update([own] if isinstance(own, str) else own)
    return slots - {"__weakref__"}


def _contents(tensor: Tensor, slots: set[str]) -> dict[str, object]:
    return {name: getattr(tensor, name) for name in slots if hasattr(tensor, name)}


def _module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """The new content of this tensor of a module when ``other`` is loaded for it.

    `nn.Module.load_state_dict` asks for it, and swaps the two, where
    ``set_swap_module_params_on_conversion(True)`` of `nnkit.__future__` was called. Subclasses may
    answer otherwise, but neither with this tensor itself nor with ``other``.

    Args:
        other: the tensor in the state.
        assign: whether it is to be taken as it is; else its values are copied into this one.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(2).module_load(nnkit.ones(2))
        tensor([1., 1.])
    """
    return other.detach() if assign else self.copy_(other).detach()


_module_load.__name__ = "module_load"
attach("module_load", overridable(_module_load))
