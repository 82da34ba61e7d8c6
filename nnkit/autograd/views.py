"""Views and in-place writes: whose memory a tensor shares, and how its history follows a write.

All views of one storage share a version counter. Writing bumps it, so that a backward that saved
the memory before notices. A view remembers how it is made from its base; when the base or another
view is written, its own history is made afresh from the base (`refresh`). A write through a view
becomes part of the history of the base (`CopySlices`).
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any

from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.node import Node, describe_edge
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.device import cpu
from nnkit.backend.dtype import OF_ARRAY, bool_


def link_view(out: Tensor, source: Tensor, name: str, statics: tuple, several: bool) -> None:
    """Make ``out`` a view of ``source`` where it really shares its memory."""
    owner = out._data.base
    if owner is None and source._device is not cpu:
        from nnkit.backend.cuda.differences import looks_into

        if not looks_into(out._data, source._data):
            return
    elif owner is None or not (owner is source._data or owner is source._data.base):
        return
    out._writes = source._writes
    out._viewed = source._writes[0]
    out._base = source if source._base is None else source._base
    if isinstance(source._view, str):
        out._view = source._view
    elif several:
        out._view = "multiple"
    else:
        out._view = (name, statics, source._view) if MODE.enabled else "no_grad"


def refresh(view: Any) -> None:
    """Give a view whose storage was written since the history that its base has now."""
    base = view._base
    if base is None or view._writes[0] == view._viewed:
        return
    view._viewed = view._writes[0]
    if isinstance(view._view, tuple) and base._requires_grad:
        with_grad = MODE.enabled
        MODE.enabled = True
        try:
            again = replay(view._view, base)
        finally:
            MODE.enabled = with_grad
        move(view, again._edge)


def replay(chain: tuple | None, base: Tensor) -> Tensor:
    """Apply a view's recorded operations, outermost last, to another base."""
    from nnkit.autograd.op import OPS

    if chain is None:
        return base
    name, statics, inner = chain
    return OPS[name](replay(inner, base), *statics)


def replay_array(B: Any, chain: tuple | None, array: Any) -> Any:
    """The same on an array with algebra ``B``."""
    if chain is None:
        return array
    name, statics, inner = chain
    return getattr(B, name)(replay_array(B, inner, array), *statics)


class CopySlices(Node):
    """The history of a base after a write through one of its views."""

    __slots__ = ()
    operation = "CopySlices"

    def gradients(self, B: Any, grads: list, unpack: Callable) -> list:
        (g,) = grads
        chain, shape = self.values
        raw = self.device.backend
        untouched = raw.full(shape, True, bool_.array)
        raw.fill_(replay_array(raw, chain, untouched), False)
        to_base = None
        if self.edges[0] is not None:
            mask = untouched if B is raw else wrap(untouched, self.device)
            to_base = B.where(mask, g, B.zeros_like(g))
        # A view of the base need not be one of a gradient that lies in memory in another order.
        return [to_base, replay_array(B, chain, B.contiguous(g))]


def check_writable(x: Tensor) -> None:
    """RuntimeError where torch forbids writing in place: into expanded memory, and, while grad
    mode is on, into leaves that require a gradient."""
    if x._base is not None and 0 in x._data.strides and x._data.size:
        _check_expanded(x)
    if not MODE.enabled:
        return
    if x._requires_grad and x._edge is None:
        what = "a leaf Variable" if x._base is None else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")
    base = x._base
    if base is None:
        return
    if base._requires_grad and base._edge is None:
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )
    if base._requires_grad:
        check_traceable(x)


def _check_expanded(x: Tensor) -> None:
    data = x._data
    if any(s == 0 and n > 1 for s, n in zip(data.strides, data.shape, strict=True)):
        raise RuntimeError(
            "more than one element of the written-to tensor refers to a single memory location: "
            f"clone() the expanded tensor of shape {list(data.shape)} before writing into it"
        )


def check_traceable(x: Tensor) -> None:
    """RuntimeError where a write through a view could not become history of its base."""
    if x._view == "no_grad":
        raise RuntimeError(
            "A view was created in no_grad mode and is being modified inplace with grad mode "
            "enabled. Move the creation of the view out of no_grad, or the write into it."
        )
    if x._view == "multiple":
        node = x.grad_fn
        raise RuntimeError(
            f"Output {x.output_nr} of {node.name() if node else 'split'} is a view and is being "
            "modified inplace, but it is one of several views that one operation returned, whose "
            "history cannot follow the write: use the out-of-place form."
        )


def wrote(x: Tensor, operation: str) -> None:
    """Count a write to the storage of ``x``."""
    version = x._writes
    version[0] += 1
    version[1] = operation
    if x._base is not None:
        x._viewed = version[0]


def write(x: Tensor, operation: str, compute: Callable, *arguments: Any, **options: Any) -> Tensor:
    """Replace the contents of ``x`` by ``compute(x, *arguments)``, with the history it has.

    The result is cast to the dtype of ``x``; RuntimeError where that would lose a category
    (float to integer) or where the shapes differ.
    """
    check_writable(x)
    refresh(x)
    before = wrap(x._data, x._device)
    before._requires_grad = x._requires_grad
    before._edge = x._edge
    result = compute(before, *arguments, **options)
    if result._device is not x._device:
        raise RuntimeError(
            f"{operation}(): expected all tensors to be on the same device, "
            f"but found {x._device} and {result._device}"
        )
    target, source = x._data, result._data
    B = x._device.backend
    if source.dtype != target.dtype:
        check_cast(OF_ARRAY[source.dtype], OF_ARRAY[target.dtype])
        result = _cast(result, target.dtype)
        source = result._data
    if source.shape != target.shape:
        raise RuntimeError(
            f"{operation}(): output with shape {list(target.shape)} doesn't match the broadcast "
            f"shape {list(source.shape)}"
        )
    if result._requires_grad:
        # Somebody else holds `before`: a rule reads the old contents, so they must stay.
        if sys.getrefcount(before) > 2:
            before._data = B.copy(before._data)
        B.copy_(target, source)
        wrote(x, operation)
        set_history(x, result)
    else:
        B.copy_(target, source)
        wrote(x, operation)
    return x


def _cast(result: Tensor, array_dtype: Any) -> Tensor:
    from nnkit.autograd.op import OPS

    return OPS["cast"](result, array_dtype)


def check_cast(source: Any, target: Any) -> None:
    """RuntimeError where an in-place result does not fit the tensor's category of dtype."""
    if source.category > target.category:
        raise RuntimeError(
            f"result type {source.name} can't be cast to the desired output type {target.name}"
        )


def move(x: Tensor, edge: Any) -> None:
    """Give ``x`` another place in the graph: its hooks stay behind, `retain_grad` does not."""
    node, index = describe_edge(x._edge)
    kept = node.hooks.retain.pop(index, None) if node is not None and node.hooks else None
    x._edge = edge
    x._requires_grad = True
    if kept is not None:
        retain_grad(x)


def set_history(x: Tensor, result: Tensor) -> None:
    """Make ``x``, whose memory now holds ``result``'s values, the outcome of its operations."""
    base = x._base
    if base is None:
        move(x, result._edge)
        return
    check_traceable(x)
    edges = ((base._edge or base) if base._requires_grad else None, result._edge)
    chain = x._view
    move(base, CopySlices(edges, (chain, base._data.shape), base._device))
    x._viewed = -1
    refresh(x)


def inplace(function: Callable, name: str, writer: Callable | None = None) -> Callable:
    """The in-place form of an out-of-place function of a Tensor, done by ``writer`` if given."""

    @functools.wraps(function)
    def write_in_place(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        if writer is not None:
            return writer(self, *arguments, **options)
        return write(self, name, function, *arguments, **options)

    write_in_place.__name__ = write_in_place.__qualname__ = name
    write_in_place.__doc__ = f"In-place version of `{function.__name__}`; returns the tensor."
    return write_in_place


def detach_(self: Tensor) -> Tensor:
    """Make the tensor itself a leaf that requires no gradient.

    Raises:
        RuntimeError: it is a view, whose history belongs to its base.
    """
    if self._base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead: got a view of shape "
            f"{list(self.shape)}"
        )
    self._edge = None
    self._requires_grad = False
    return self


def retain_grad(tensor: Any) -> None:
    """Have the engine store the gradient of a non-leaf in its ``grad``."""
    node, index = describe_edge(tensor._edge)
    if node is not None:
        node._hooks().retain[index] = weakref.ref(tensor)
