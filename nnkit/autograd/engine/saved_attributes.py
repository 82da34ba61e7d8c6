"""The saved values of a node under torch's names: ``grad_fn._saved_self``, ``_raw_saved_result``.

The first inputs are called ``self`` and ``other``, a single output ``result``. Every input and
output can also be read by its own name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nnkit.autograd.engine.node import Node
from nnkit.autograd.engine.saved import PackedValue
from nnkit.autograd.engine.unpacking import FREED, unpack_tensor
from nnkit.autograd.op.code import INPUT, OUTPUT
from nnkit.autograd.tensor import Tensor, wrap


class SavedTensor:
    """A tensor saved by a node, on which pack and unpack hooks can be registered."""

    def __init__(self, node: Node | None = None, place: int = 0) -> None:
        if node is None:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        self._node = node
        self._place = place

    @property
    def data(self) -> Any:
        """What is kept: the saved input itself, an output without its history, or what a pack hook
        has returned."""
        saved, _ = _values(self._node)[self._place]
        if isinstance(saved, PackedValue):
            return saved.packed
        return saved if isinstance(saved, Tensor) else wrap(saved._array, self._node.device)

    @property
    def unpack_hook(self) -> Callable | None:
        """The hook that will unpack it, if there is one."""
        saved, _ = _values(self._node)[self._place]
        return saved.unpack if isinstance(saved, PackedValue) else None

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Pack the tensor by ``pack_hook`` now; ``unpack_hook`` will unpack it in backward.

        Raises:
            TypeError: one of them is not callable.
            RuntimeError: the saved value was freed or is None, it has hooks already, or
                ``pack_hook`` writes to the tensor.
        """
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise TypeError("register_hooks(): incompatible function arguments: expected functions")
        values = _values(self._node)
        if values[self._place] is None:
            raise RuntimeError(
                "register_hooks(): calling it on a saved tensor that is None is forbidden"
            )
        saved, _ = values[self._place]
        if isinstance(saved, PackedValue):
            raise RuntimeError(
                "register_hooks(): hooks have already been set: there may be one pair for each "
                "saved tensor"
            )
        packed = PackedValue(saved, self._node.device)
        shown = wrap(saved._array, self._node.device)
        shown._writes = saved._writes
        packed.pack(shown, pack_hook, unpack_hook)
        changed = [*values]
        changed[self._place] = packed, None
        self._node.values = tuple(changed)


def _values(node: Node) -> tuple:
    if node.values is None:
        raise RuntimeError(FREED)
    return node.values


def _names(op: Any, kind: int, index: int) -> Iterator[str]:
    primitive = op.primitive
    if kind == INPUT:
        yield primitive.arrays[index]
        yield from (("self", "input"), ("other",))[index] if index < 2 else ()
    elif kind == OUTPUT:
        yield primitive.outputs[index]
        yield "result" if len(primitive.outputs) == 1 else f"result{index}"


def _attribute(place: int) -> property:
    def saved(node: Node) -> Any:
        """A saved value of the node."""
        value = _values(node)[place]
        return None if value is None else unpack_tensor(node, value)

    return property(saved)


def saved_attributes(op: Any) -> dict[str, property]:
    """The attributes ``_saved_<name>`` and ``_raw_saved_<name>`` for the node class of an op."""
    found: dict[str, property] = {}
    for place, (kind, index) in enumerate(op.values):
        for name in _names(op, kind, index):
            found[f"_saved_{name}"] = _attribute(place)
            found[f"_raw_saved_{name}"] = property(
                lambda node, place=place: SavedTensor(node, place)
            )
    return found
