"""Values saved for backward: tensors in an index, and tensors packed by saved-tensor hooks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from nnkit.autograd.engine.node import OutputEdge, edge_of
from nnkit.autograd.grad_mode import no_grad
from nnkit.autograd.tensor import Tensor, wrap


class Hooks(tuple):
    """A pack and an unpack hook, as they were entered: two entries of the same are two."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class _Stack(threading.local):
    """The saved-tensor hooks that are active in this thread, innermost last."""

    def __init__(self) -> None:
        self.pairs: list[Hooks] = []
        self.refusal: str | None = None  # the reason why hooks are disabled, if they are

    def push(self, pack: Callable, unpack: Callable) -> None:
        self.pairs.append(Hooks((pack, unpack)))
        ACTIVE.add(self.pairs[-1])

    def pop(self) -> None:
        ACTIVE.discard(self.pairs.pop())

    def reset(self, pairs: list[Hooks], refusal: str | None) -> None:
        """Go back to what was active before."""
        if self.pairs != pairs:
            ACTIVE.difference_update(self.pairs)
            ACTIVE.update(pairs)
            self.pairs = pairs
        self.refusal = refusal


STACK = _Stack()
# The hooks that are active in any thread: a quick test for `record`.
ACTIVE: set[Hooks] = set()


class SavedIndex:
    """The positions of an index; each Tensor among them is paired with its number of writes."""

    __slots__ = ("items",)

    def __init__(self, items: tuple) -> None:
        self.items = items


def save_index(positions: tuple) -> SavedIndex:
    return SavedIndex(tuple([(i, i._writes[0]) if isinstance(i, Tensor) else i for i in positions]))


def unpack_index(node: Any, saved: SavedIndex, unpack: Callable) -> tuple:
    """The positions of a saved index, with its Tensors unpacked."""
    return tuple([unpack(node, i) if i.__class__ is tuple else i for i in saved.items])


def unpack_all(node: Any, unpack: Callable) -> None:
    """Unpack everything a node has saved, for the errors this may raise."""
    for value in node.values:
        if value.__class__ is SavedIndex:
            unpack_index(node, value, unpack)
        elif _is_counted(value) or _is_packed(value):
            unpack(node, value)


class PackedValue:
    """A saved tensor in another form: the result of a pack hook, or a copy."""

    __slots__ = ("device", "edge", "first", "index", "misfits", "packed", "shape", "unpack")

    def __init__(self, saved: Any, device: Any) -> None:
        self.device = device
        self.packed: Any = None
        self.unpack: Callable | None = None
        self.shape = saved._array.shape
        self.misfits = False  # whether the unpack hook returned another shape
        # The history of a saved input. That of a saved output is the node itself.
        self.edge: Any = None
        self.index: Any = None
        self.first: Any = None
        if isinstance(saved, Tensor):
            self.edge = edge_of(saved) if saved._requires_grad else None
        else:
            self.index, self.first = saved.index, saved.first

    def pack(self, saved: Tensor, pack: Callable, unpack: Callable) -> None:
        """Keep the result of the pack hook for the unpack hook."""
        self.unpack = unpack
        version = saved._writes[0]
        with no_grad():
            self.packed = pack(saved)
        if saved._writes[0] != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook can not be modified by in-place operations."
            )

    def tensor(self) -> Tensor:
        """The saved tensor, without history."""
        if self.unpack is None:
            return self.packed
        with no_grad():
            value = self.unpack(self.packed)
        if not isinstance(value, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(value).__name__}"
            )
        self.misfits = value._array.shape != self.shape
        return value


def _is_counted(value: Any) -> bool:
    """Whether a saved value is a pair (tensor, number of writes) and not a static argument."""
    return isinstance(value, tuple) and len(value) == 2 and hasattr(value[0], "_writes")


def misfits(node: Any) -> bool:
    """Whether an unpack hook of a node's values returned a tensor of another shape."""
    return any(_is_packed(value) and value[0].misfits for value in node.values or ())


def _is_packed(value: Any) -> bool:
    return value.__class__ is tuple and len(value) == 2 and value[0].__class__ is PackedValue


def keep_copy(value: Any, device: Any) -> Any:
    """A copy of a saved value, which later writes do not change."""
    if not _is_counted(value):
        return value
    kept = PackedValue(value[0], device)
    kept.packed = wrap(device.backend.copy(value[0]._array), device)
    return kept, None


def pack_values(node: Any, outputs: tuple) -> None:
    """Let this thread's innermost hooks pack the values that ``node`` has saved."""
    if not STACK.pairs:
        return
    hooks = STACK.pairs[-1]
    node.values = tuple([_packed(value, node, outputs, hooks) for value in node.values])


def pack_recorded(node: Any, inputs: tuple, outputs: tuple) -> None:
    """`pack_values` for the node of an op: first gives the ``outputs`` their history, since the
    hooks see them.

    The node notes the shapes of the ``inputs``: unpack hooks may return others, and gradients must
    still be fitted to these.
    """
    node.meta = tuple(
        [(t._array.shape, t._array.dtype) if isinstance(t, Tensor) else None for t in inputs]
    )
    op = node.op
    alone = len(outputs) == 1 or op.only_first
    for index, out in enumerate(outputs):
        if op.differentiable[0 if op.primitive.many else index]:
            out._edge, out._requires_grad = node if alone else OutputEdge(node, index), True
    pack_values(node, outputs)


def _packed(value: Any, node: Any, outputs: tuple, hooks: Hooks) -> Any:
    if value.__class__ is SavedIndex:
        return SavedIndex(tuple([_packed(item, node, outputs, hooks) for item in value.items]))
    if not _is_counted(value):
        return value
    saved = value[0]
    packed = PackedValue(saved, node.device)
    packed.pack(saved if isinstance(saved, Tensor) else outputs[saved.index], *hooks)
    return packed, None
