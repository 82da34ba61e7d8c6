"""What a tensor holds, exchanged with another's; and what a module's tensor becomes by a load."""

from __future__ import annotations

import weakref

from nnkit.autograd.arguments.overriding import overridable
from nnkit.autograd.op.public import attach
from nnkit.autograd.tensor import Tensor


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange all that two tensors are: class, memory, attributes, gradient and history.

    Whoever holds one of them holds what the other was. A graph that was recorded before, and views
    of either, still refer to the objects, and so to what those are now.

    Raises:
        RuntimeError: there are weak references to one of them, somebody holds the node of a leaf,
            or their classes have different slots.

    Example:
        >>> import nnkit
        >>> a, b = nnkit.zeros(2), nnkit.nn.Parameter(nnkit.ones(3))
        >>> nnkit.utils.swap_tensors(a, b)
        >>> a.tolist(), type(b).__name__
        ([1.0, 1.0, 1.0], 'Tensor')
    """
    slots = _slots(t1)
    for name, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
        hooks = tensor._hooks
        if hooks is not None and hooks.node is not None and hooks.node() is not None:
            raise RuntimeError(f"swap_tensors(): the node that gathers {name}'s gradient is held")
    if slots != _slots(t2):
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    contents = [_contents(tensor, slots) for tensor in (t1, t2)]
    t1.__class__, t2.__class__ = type(t2), type(t1)
    for tensor, content in zip((t2, t1), contents):
        for name in slots:
            if name in content:
                setattr(tensor, name, content[name])
            elif hasattr(tensor, name):
                delattr(tensor, name)
        tensor._device.claim(tensor)


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
