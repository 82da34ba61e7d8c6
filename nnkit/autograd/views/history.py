"""Histories of views: which tensors share memory, and how a history follows a write.

All views of one storage share a version counter. A write increments it, so that a backward that
saved the old contents raises. A view remembers how it was made from its base. When the base or
another view has been written, the view's own history is made again from that of the base
(`refresh`). A write through a view becomes part of the history of the base (`CopySlices`).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from nnkit.autograd.arguments.overriding import PLAIN
from nnkit.autograd.engine import node as node_module
from nnkit.autograd.engine.node import (
    Node,
    NotImplementedBackward,
    OutputEdge,
    Unknown,
    describe_edge,
    edge_of,
    leaf_hooks,
)
from nnkit.autograd.engine.renewal import replace_memory
from nnkit.autograd.forward.level import ENTERED_LEVELS, keep_view
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.autograd.views.counters import UNTRACKED, InferenceWrites, SeenWrites
from nnkit.autograd.views.refusals import check_captured, check_history
from nnkit.autograd.views.replay import (
    EXPANDED,
    CopySlices,
    Rootless,
    chain_again,
    chain_of,
    replay,
    room_for,
    strided,
)
from nnkit.backend.memory import has_expanded, looks_into, order_of


def link_view(out: Tensor, source: Tensor, name: str, statics: tuple, several: bool) -> None:
    """Mark ``out`` as a view of ``source`` if it really shares its memory."""
    if not looks_into(out._array, source._array):
        return
    if source._writes.__class__ in (InferenceWrites, SeenWrites):
        out._writes = UNTRACKED if source._is_inference() else source._writes
        return
    out._writes = source._writes
    out._viewed = source._writes[0]
    out._base = source if source._base is None else source._base
    if isinstance(source._view, str):
        out._view = source._view
    elif not (MODE.enabled or (MODE.bars_grad and MODE.grad_in_inference)):
        out._view = "inference" if MODE.inference else "no_grad"
    else:
        link = source._array if source._base is None else source._view
        out._view = "multiple" if several else (name, statics, link)
    if ENTERED_LEVELS:
        keep_view(out)
    wanted = out._base._requires_grad
    if not (MODE.enabled and wanted):
        out._viewed = ~out._viewed  # always refresh: requires_grad of the base may change
    if wanted and not MODE.enabled:
        _lose_history(out)


def _lose_history(view: Any) -> None:
    """Make a view require grad, like its base, with an unknown history: it sends no gradient."""
    if view._edge is None and not view._requires_grad:
        view._edge = Unknown((), (), view._device)
        view._requires_grad = True


def refresh(view: Any) -> None:
    """If the storage of a view has been written, make the view's history from its base again.

    Raises:
        RuntimeError: grad mode is on and the history cannot be made from that of the base.
    """
    base = view._base
    if base is None or view._viewed == (version := view._writes[0]):
        return
    apart = isinstance(view._view, str) or view._viewed == ~version
    if apart and view._edge.__class__ is Unknown and not base._requires_grad:
        view._edge, view._requires_grad = None, False
    elif view._viewed == ~version:
        if base._requires_grad:
            _lose_history(view)
    elif apart:
        if MODE.enabled and not (MODE.level is not None and MODE.level.ignores(base)):
            check_history(view)
    elif base._requires_grad:
        move(view, _edge_again(view))
        view._viewed = version
    elif view._edge is not None:  # the base has no history (any more)
        move(view, Rootless((None,), (), view._device))
        view._viewed = version


def _edge_again(view: Any) -> Any:
    """The edge of a view whose base was written."""
    with_grad = MODE.enabled
    MODE.enabled = True
    try:
        return replay(chain_again(view), room_for(view))._edge
    finally:
        MODE.enabled = with_grad


def change_geometry(x: Any, data: Any, edge: Any = None) -> None:
    """Give ``x`` another array, often a view of its own; and another history if ``edge`` is
    given."""
    if edge is None:
        replace_memory(x, data)
    else:
        x._array, x._edge = data, edge
    if x._base is not None and not isinstance(x._view, str):
        x._view = x._base._array
        for step in strided(x):
            x._view = (*step, x._view)
        if edge is None and x._base._requires_grad:
            x._viewed = None


def as_view(result: Tensor) -> Tensor:
    """``result`` as a view of another tensor, which nobody else holds."""
    return OPS["reshape"](result, result._array.shape)


def alias(x: Tensor) -> Tensor:
    """Another tensor with the memory and history of ``x``, for computing what is written to it."""
    before = shallow_copy(x)
    base: Any = x._base
    if base is not None and base._requires_grad and x.__class__ is Tensor:
        if not isinstance(x._view, str) and _has_hooks(x):
            # The gradient goes to the base directly, no longer through the views.
            before._edge = replay(chain_of(x), base)._edge
    return before


def _has_hooks(view: Any) -> bool:
    """Whether there are hooks on a view, or on the views between it and its base."""
    edge = view._edge
    for _ in chain_of(view):
        node = edge.node if edge.__class__ is OutputEdge else edge
        if not isinstance(node, Node) or len(node.edges) != 1:
            return False
        if node.hooks:
            return True
        edge = node.edges[0]
    return False


def shallow_copy(x: Tensor) -> Tensor:
    """Another tensor with the memory and history of ``x``."""
    refresh(x)
    before = wrap(x._array, x._device)
    if MODE.inference and not x._is_inference():
        before._writes = [0, None, MODE.origin]
    before._requires_grad = x._requires_grad
    before._edge = x._edge
    return before


def move(x: Tensor, edge: Any) -> None:
    """Give ``x`` another edge. Its hooks remain on the old one, but `retain_grad` moves along."""
    node, index = describe_edge(x._edge)
    kept = node.hooks.retain.pop(index, None) if node is not None and node.hooks else None
    if node is not None and x._hooks is not None:
        x._hooks.place = None
    x._edge = edge
    x._requires_grad = True
    if kept is not None:
        retain_grad(x)


def set_history(x: Tensor, result: Tensor) -> None:
    """Give ``x`` the history of ``result``, whose values have been written to it."""
    base = x._base
    if base is None:
        move(x, result._edge)
        return
    edges = (edge_of(base) if base._requires_grad else None, result._edge)
    order = EXPANDED if has_expanded(base._array) else order_of(base._array)
    values = (chain_of(x), base._array.shape, order)
    move(base, CopySlices(edges, values, base._device))
    x._viewed = None  # its own history is made when it is used next
    node, _ = describe_edge(x._edge)
    if node is not None and node.hooks:  # perhaps `retain_grad`, which must move along
        refresh(x)


def end_history(
    x: Tensor, operation: str, operands: Any, error: type[Exception] = RuntimeError
) -> None:
    """Record that ``x`` was written by an operation that has no derivative: backward raises."""
    edges = tuple([edge_of(t) if t.requires_grad else None for t in operands])
    result = wrap(x._array, x._device)
    result._edge = NotImplementedBackward(edges, (error, operation), x._device)
    set_history(x, result)


def detach_(self: Tensor) -> Tensor:
    """Make the tensor itself a leaf that does not require grad; return the tensor.

    It also loses its tangent, and the history that it has outside a transform. It has no effect in
    `inference_mode`, or on an inference tensor.

    Raises:
        RuntimeError: the tensor is a view, whose history belongs to its base.

    Example:
        >>> import nnkit
        >>> y = nnkit.ones(2, requires_grad=True) * 2
        >>> y.detach_().requires_grad
        False
    """
    if MODE.inference or self._is_inference():
        return self
    if MODE.captures is not None:
        check_captured(self, "detach_")
    if self._base is not None:
        raise RuntimeError(
            "Can't detach views in-place. Use detach() instead: got a view of shape "
            f"{list(self.shape)}"
        )
    if self.retains_grad:
        leaf_hooks(self).retained = True
    if self._edge is not None:
        leaf_hooks(self).detached = next(node_module.sequence)
    if self._device.depth:
        self._array = self._device.detached(self._array)
    self._edge = None
    self._requires_grad = False
    return self


def clear_gradients(tensors: Iterable[Any], set_to_none: bool) -> None:
    """Set the gradients of some tensors to None, or detach them and fill them with zeros."""
    for tensor in tensors:
        is_plain = tensor.__class__ in PLAIN  # so that no class overrides `grad`
        gradient = tensor._grad if is_plain else tensor.grad
        if gradient is None:
            continue
        if not set_to_none:
            if gradient.grad_fn is not None:
                gradient.detach_()
            gradient.requires_grad_(False).zero_()
        elif is_plain:
            tensor._grad = None
        else:
            tensor.grad = None


def retain_grad(tensor: Any) -> None:
    """Make the engine store the gradient of a non-leaf tensor in its ``grad``."""
    node, index = describe_edge(tensor._edge)
    if node is not None:
        node._hooks().retain[index] = weakref.ref(tensor)
