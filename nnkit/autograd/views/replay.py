"""Making views again, of their base or of another one; and the gradient of a write to a view."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd.engine.node import (
    OF_NO_OP,
    RUNNING,
    AccumulateGrad,
    Node,
    NotImplementedBackward,
    Passage,
    describe_edge,
)
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.dtype import bool_
from nnkit.backend.lazy import OF_PARTS, is_conj, is_neg
from nnkit.backend.memory import has_expanded, owner, strides_in_elements

# The views whose elements are not those of what they look into, but have the same places; and
# all those that are not described by strides.
SAME_PLACES = frozenset(("conj", "neg_view"))
NO_STRIDES = SAME_PLACES | OF_PARTS | {"view_dtype"}


def chain_of(view: Any) -> tuple:
    """The ops that make a view from its base, innermost first, each with its statics."""
    chain, link = [], view._view
    while link.__class__ is tuple:
        name, statics, link = link
        chain.append((name, statics))
    if link is not view._base._array:  # the base now has another geometry, or other memory
        return strided(view)
    return tuple(chain[::-1])


def chain_again(view: Any) -> tuple:
    """The ops that make a view from a base that was written: one by strides, if possible."""
    chain = chain_of(view)
    return chain if any(name in NO_STRIDES for name, _ in chain) else strided(view)


def room_for(view: Any) -> Tensor:
    """The base of a view, with its history, on memory that is large enough for the view, too: both
    may have got other memory since."""
    base = view._base
    if owner(view._array) is owner(base._array):
        return base
    B = base._device.backend
    size = max(B.storage_size(base._array), B.storage_size(view._array))
    memory = B.zeros((size,), base._array.dtype)
    geometry = _geometry(B, base._array)
    out = wrap(B.as_strided(memory, *geometry, ((size,), (1,), 0)), base._device)
    out._edge, out._requires_grad = base._edge or Passage((base,), (), base._device), True
    return out


def strided(view: Any, base: Any = None) -> tuple:
    """The ops that make a view from its base by their geometries, each with its statics."""
    B, base = view._device.backend, view._base if base is None else base
    geometry, source = _geometry(B, view._array), _geometry(B, base._array)
    last: tuple = _put_off(view._array)
    chain = _put_off(base._array)[::-1]
    if base.is_complex() and not view.is_complex():
        chain += (("view_as_real", ()),)
        source = _in_parts(*source)
    elif view.is_complex() and not base.is_complex():
        last = (("view_as_complex", ()), *last)
        geometry = _in_parts(*geometry)
    return (*chain, ("as_strided", (*geometry, source)), *last)


def _put_off(data: Any) -> tuple:
    """The lazy operations of a tensor (conj, neg); each is its own inverse."""
    marks = (("conj", is_conj), ("neg_view", is_neg))
    return tuple([(name, ()) for name, mark in marks if mark(data)])


def _in_parts(shape: tuple, strides: tuple, offset: int) -> tuple:
    """The geometry of a complex tensor as a view of real numbers."""
    return (*shape, 2), (*[2 * step for step in strides], 1), 2 * offset


def _geometry(B: Any, data: Any) -> tuple:
    return data.shape, strides_in_elements(data), B.storage_offset(data)


def replay(chain: tuple, base: Tensor) -> Tensor:
    """Apply the ops of a view to another base."""
    for name, statics in chain:
        base = OPS[name](base, *statics)
    return base


def replay_array(B: Any, chain: tuple, array: Any) -> Any:
    """`replay` on an array, with the algebra ``B``."""
    for name, statics in chain:
        array = getattr(B, name)(array, *statics)
    return array


EXPANDED = (-1,)  # stands for the memory order of a base that is expanded


class CopySlices(Node):
    """The history of a base after a write through one of its views."""

    __slots__ = ()
    operation = "CopySlices"
    space = OF_NO_OP
    saves_arrays = True  # so that, as in torch, it runs only once

    @property
    def inner(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The node of the written value."""
        node = describe_edge(self.edges[1])[0]
        return None if isinstance(node, AccumulateGrad) else node

    def gradients(self, B: Any, grads: list, unpack: Callable) -> list:
        (g,) = grads
        chain, shape, order = self.values
        written = self.edges[1]
        if written.__class__ is NotImplementedBackward:  # torch's is inside of this node
            written.gradients(B, grads, unpack)
        if order is EXPANDED:  # torch copies the gradient into memory like the base's
            raise RuntimeError(self._shared(shape))
        raw = self.device.backend
        to_base = None
        if self.edges[0] is not None:
            where = tuple([step for step in chain if step[0] not in SAME_PLACES])
            parts = any(name in OF_PARTS for name, _ in where)
            dtype = (g if B is raw else g._array).dtype if parts else bool_.array
            is_complex = parts and dtype.kind == "c"
            untouched = laid(raw, raw.full(shape, 1 + 1j if is_complex else 1, dtype), order)
            region = replay_array(raw, where, untouched)
            this = RUNNING.innermost
            if has_expanded(region) and (this is None or this.asks_for(self.edges[0])):
                raise RuntimeError(self._shared(region.shape))  # torch copies a gradient there
            raw.fill_(region, 0)
            kept = B.view_as_real(g) if is_complex else g
            if parts:
                untouched = raw.ne(raw.view_as_real(untouched) if is_complex else untouched, 0)
            mask = untouched if B is raw else wrap(untouched, self.device)
            to_base = B.where(mask, kept, B.zeros_like(kept))
            to_base = B.view_as_complex(to_base) if is_complex else to_base
        # A view of the base need not be one of a gradient that lies in memory in another order.
        to_value = None
        if self.edges[1] is not None:
            to_value = B.contiguous(replay_array(B, chain, laid(B, g, order)))
        return [to_base, to_value]

    def _shared(self, shape: tuple) -> str:
        return (
            f"{self.name()}: more than one element of the tensor of shape {list(shape)} that was "
            "written refers to a single memory location: clone() it before writing into it"
        )


def laid(B: Any, array: Any, order: tuple | None) -> Any:
    """The array, with its dimensions in this memory order."""
    if order is None:
        return B.contiguous(array)
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    return B.permute(B.contiguous(B.permute(array, order)), back)


class Rootless(Node):
    """The history of a tensor made from tensors without a history: no gradient is sent further."""

    __slots__ = ()

    def gradients(self, B: Any, grads: list, unpack: Callable) -> tuple:
        return (None,) * len(self.edges)


class Uninfluential(Node):
    """The history of a result whose derivative is zero everywhere, such as a comparison that was
    written in place."""

    __slots__ = ()

    def name(self) -> str:
        return self.values[0]

    def gradients(self, B: Any, grads: list, unpack: Callable) -> list:
        raw, looks = self.device.backend, self.values[1]
        zeros = [
            None if edge is None else raw.zeros(*look)
            for edge, look in zip(self.edges, looks, strict=True)
        ]
        return zeros if B is raw else [z if z is None else wrap(z, self.device) for z in zeros]
