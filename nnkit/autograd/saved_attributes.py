"""What a node has saved, by torch's names: ``grad_fn._saved_self``, ``grad_fn._raw_saved_result``.

The first inputs are called ``self`` and ``other``, an only output ``result``; every input, output
and number goes by its own name as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from nnkit.autograd.backward_pass import FREED, unpack_tensor
from nnkit.autograd.node import Node
from nnkit.autograd.op_code import INPUT, OUTPUT, STATIC
from nnkit.autograd.saved import PackedValue, SavedIndex


class SavedTensor:
    """A tensor that a node has saved, whose hooks can be registered."""

    def __init__(self, node: Node, place: int) -> None:
        self._node = node
        self._place = place

    def register_hooks(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        """Keep what ``pack_hook`` makes of the tensor, for ``unpack_hook``.

        Raises:
            RuntimeError: what was saved is freed, there are hooks already, or the first one writes
                into the tensor.
        """
        values = _values(self._node)
        saved, _ = values[self._place]
        if isinstance(saved, PackedValue):
            raise RuntimeError(
                "register_hooks(): hooks have already been set: there may be one pair for each "
                "saved tensor"
            )
        packed = PackedValue(saved, self._node.device)
        packed.pack(saved, (pack_hook, unpack_hook))
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
    elif kind == STATIC:
        yield primitive.statics[index]


def saved_attribute(node: Node, name: str) -> Any:
    """``_saved_<name>`` or ``_raw_saved_<name>`` of a node.

    Raises:
        AttributeError: the node has saved nothing of that name.
        RuntimeError: what it saved is freed, or was written since.
    """
    wanted = name.partition("saved_")[2]
    op = getattr(type(node), "op", None)
    for place, (kind, index) in enumerate(op.values if op is not None else ()):
        if wanted not in _names(op, kind, index):
            continue
        value = _values(node)[place]
        if kind == STATIC and value.__class__ is not SavedIndex:
            return value
        if name.startswith("_raw"):
            return SavedTensor(node, place)
        return None if value is None else unpack_tensor(node, value)
    raise AttributeError(f"{type(node).__name__!r} object has no attribute {name!r}")
