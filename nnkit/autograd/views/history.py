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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape
from nnkit.autograd.engine import node as node_module
from nnkit.autograd.engine.node import (
    Node,
    NotImplementedBackward,
    OutputEdge,
    SavedOutput,
    Unknown,
    describe_edge,
    edge_of,
    leaf_hooks,
)
from nnkit.autograd.engine.saved import ACTIVE
from nnkit.autograd.forward.level import ENTERED_LEVELS, keep_view
from nnkit.autograd.grad_mode import MODE, no_grad
from nnkit.autograd.op.promotion import (
    ASKING,
    asking_among,
    cast_within,
    on_one_device,
    promoted_dtype,
    translated,
)
from nnkit.autograd.op.registry import OPS
from nnkit.autograd.tensor import (
    UNTRACKED,
    InferenceWrites,
    SeenWrites,
    Tensor,
    counter_of,
    replace_memory,
    wrap,
)
from nnkit.autograd.views.overlap import REFUSED_FIRST, check_memory, warn_expanded
from nnkit.autograd.views.refusals import (
    UNSEEN,
    WRITTEN,
    check_captured,
    check_history,
    refusal,
    was_written,
)
from nnkit.autograd.views.replay import (
    EXPANDED,
    CopySlices,
    Rootless,
    Uninfluential,
    chain_again,
    chain_of,
    replay,
    room_for,
    strided,
)
from nnkit.backend.dtype import BOOL, FLOATING, OF_ARRAY
from nnkit.backend.memory import has_expanded, looks_into, order_of


def link_view(out: Tensor, source: Tensor, name: str, statics: tuple, several: bool) -> None:
    """Make ``out`` a view of ``source`` where it really shares its memory."""
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
        out._viewed = ~out._viewed  # so that the view looks at its base, which may begin or cease
    if wanted and not MODE.enabled:
        _lose_history(out)


def _lose_history(view: Any) -> None:
    """Let a view require grad, as its base does, with no history: no gradient goes further."""
    if view._edge is None and not view._requires_grad:
        view._edge = Unknown((), (), view._device)
        view._requires_grad = True


def refresh(view: Any) -> None:
    """Give a view whose storage was written since the history that its base has now.

    RuntimeError, while grad mode is on, where its history cannot follow that of its base.
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
        move(view, _edge_again(view, base))
        view._viewed = version
    elif view._edge is not None:  # its base lost its history, or never had one
        move(view, Rootless((None,), (), view._device))
        view._viewed = version


def _edge_again(view: Any, base: Any) -> Any:
    """The history of a view of a base that was written."""
    with_grad = MODE.enabled
    MODE.enabled = True
    try:
        return replay(chain_again(view), room_for(view))._edge
    finally:
        MODE.enabled = with_grad


def reshape_in_place(
    x: Tensor, operation: str, function: Callable, *arguments: Any, **options: Any
) -> Tensor:
    """Let ``x`` become the view of it that ``function`` returns."""
    check_change(x, operation)
    result = function(_same(x), *arguments, **options)
    recorded = result._edge if MODE.enabled and x._edge is not None else None
    if recorded is not None and x.retains_grad:
        leaf_hooks(x).retained = True  # that of its shape before: the hook stays behind
    change_geometry(x, result._array, recorded)
    wrote(x, operation)
    if recorded is not None and x._base is not None:
        x._viewed = x._writes[0]
    return x


def change_geometry(x: Any, data: Any, edge: Any = None) -> None:
    """Let ``x`` hold other memory, or look otherwise into its own; with a history if that was
    recorded."""
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


# Those of which torch says that their result has another shape, or cannot be cast, before that
# there is none for such numbers.
CHECKED_FIRST = frozenset(
    "addcmul_ clamp_ clamp_max_ clamp_min_ clip_ div_ gcd_ lcm_ lerp_ pow_ xlogy_".split()
)
TAKING_NUMBERS = frozenset(
    "add_ sub_ subtract_ mul_ multiply_ div_ divide_ true_divide_ floor_divide_ dropout_ "
    "feature_dropout_ alpha_dropout_ feature_alpha_dropout_".split()
)


def check_write(x: Tensor, operation: str, operands: Any = ()) -> bool:
    """Whether a write to ``x`` with these operands becomes history.

    Raises:
        RuntimeError: torch forbids it: what `check_change` says, or elements that share their
            memory with each other or with part of an operand.
    """
    tracked = check_change(x, operation, operands)
    check_memory(x, operation, operands)
    return tracked


def check_change(x: Tensor, operation: str, operands: Any = ()) -> bool:
    """Whether a change of ``x``, its contents or its shape, becomes history.

    Raises:
        RuntimeError: a leaf that requires grad or a view of one, a view whose base could not
            follow, or a tensor that a function which is differentiated has captured.
    """
    if MODE.captures is not None and operation[-1] == "_":  # in place, not into ``out``
        check_captured(x, operation)
    if operation not in TAKING_NUMBERS:
        operands = [t for t in operands if isinstance(t, (Tensor, tuple))]
    if not wants_history(x, operands) or operation in UNSEEN:
        return False
    if x.dtype.category < FLOATING:
        if operation not in ("copy_", "copy"):
            check_traceable(x)
        return False
    if x._base is not None and not isinstance(x._view, str):
        _check_current(x)
        refresh(x)
    check_traceable(x)
    return True


def _check_current(view: Any) -> None:
    """RuntimeError for a view without history whose base has got one since: until the view is
    used, a write to it is one to a leaf in torch."""
    stale = view._viewed is not None and was_written(view)
    if view._base._requires_grad and view._edge is None and stale:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation: a view "
            "that was not used since its base got a history"
        )


def wants_history(x: Tensor, operands: Any) -> bool:
    """Whether an operation on these operands becomes history."""
    if MODE.enabled:
        for t in (x, *operands):
            if isinstance(t, Tensor) and _is_of_history(t):
                return not is_unseen((x, *operands))
    return False


def _is_of_history(t: Any) -> bool:
    """Whether a tensor requires grad, or is a view of one that does, without making its history;
    of a forward level, whether it does so there: what its primal requires is that one's affair."""
    if t._base is None:
        return t._requires_grad
    lost = t._edge.__class__ is Unknown and isinstance(t._view, str)
    return t._requires_grad and not lost or t._base._requires_grad


def is_unseen(operands: Any) -> bool:
    """Whether all tensors among the operands of an operation are inference tensors: then torch
    does not record it, whatever they require. A number is a normal tensor there."""
    for operand in operands:
        if isinstance(operand, tuple):  # an index
            if not is_unseen([t for t in operand if isinstance(t, Tensor)]):
                return False
        elif operand is not None and not (isinstance(operand, Tensor) and operand._is_inference()):
            return False
    return True


def check_traceable(x: Tensor) -> None:
    """RuntimeError where a write to ``x`` could not become history."""
    base = x._base
    if base is not None and isinstance(x._view, str):
        raise RuntimeError(refusal(x, WRITTEN))
    if x._requires_grad and (x._edge is None or (base is not None and base._edge is None)):
        what = "a leaf Variable" if base is None else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")


def wrote(x: Tensor, operation: str) -> Tensor:
    """Count a write to the storage of ``x``, which `check_write` has let through.

    RuntimeError, as in torch when all is written, for an inference tensor outside of its mode.
    """
    version = x._writes
    if version.__class__ is not list:
        version = counter_of(version)
        if MODE.inference:
            return x
        if version is None:
            raise RuntimeError(
                f"{operation}(): Inplace update to inference tensor outside InferenceMode is not "
                "allowed. Make a clone to get a normal tensor before doing inplace update."
            )
    version[0] += 1
    version[1] = operation
    return x


def write(
    x: Tensor, operation: str, compute: Callable | None, *arguments: Any,
    kernel: Callable | None = None, overlapping: Callable | None = None, **options: Any,
) -> Tensor:  # fmt: skip
    """Replace the contents of ``x`` by ``compute(x, *arguments)``, with the history it has.

    The result is cast to the dtype of ``x``; RuntimeError where that would lose a category
    (float to integer) or where the shapes differ.

    Args:
        kernel: does the same in place on arrays; called where nothing becomes history.
        overlapping: does it, with the algebra before the arguments, where several elements lie in
            one place: there a copy would write over what was written.
    """
    operands = (*arguments, *options.values()) if options else arguments
    if ENTERED_LEVELS:
        kernel = None if _join_level(x, operands) else kernel
        if any(isinstance(a, Tensor) and a._device is not x._device for a in arguments):
            arguments = on_one_device(operation, (x, *arguments))[1:]
    tracked = check_change(x, operation, operands)
    try:
        check_memory(x, operation, operands)
    except RuntimeError:
        if compute is not None and kernel is None:  # torch looks at the dimensions first
            with no_grad(), suppress(RuntimeError):
                compute(x.detach().clone(), *map(_of_zeros, arguments), **options)
        raise
    if kernel is not None and not tracked:
        try:
            kernel(x._array, *[a._array if isinstance(a, Tensor) else a for a in arguments])
        except (TypeError, ValueError, MemoryError) as error:
            raise translated(operation, (x, *arguments), error) from None
        return wrote(x, operation)
    if compute is None:
        raise NotImplementedError(f"the derivative for '{operation}' is not implemented")
    unseen = operation in UNSEEN
    of_mode = x._is_inference() and not tracked
    modes: Any = _without_derivatives if unseen else no_grad if of_mode else nullcontext
    with modes():
        # Tangents may be functions of what is written over.
        before = x.clone() if x._device.depth and MODE.enabled else alias(x)
        if apart := bool(ACTIVE) and tracked:  # hooks may keep the memory of what is saved
            before._array = x._device.backend.copy(x._array)
        try:
            result = compute(before, *arguments, **options)
        except NotImplementedError:
            if operation in CHECKED_FIRST and REFUSED_FIRST.get(operation) != x.dtype.category:
                _check_result(x, operation, operands)
            raise
    asking = asking_among((x, result)) if ASKING else None
    if result._device.home is not x._device.home and asking is None:
        raise RuntimeError(
            f"{operation}(): Expected all tensors to be on the same device, but found at least "
            f"two devices, {x._device} and {result._device}"
        )
    target, source = x._array, result._array
    B = (asking or x._device).backend
    if source.dtype != target.dtype:
        check_cast(operation, OF_ARRAY[source.dtype], OF_ARRAY[target.dtype])
        with modes():
            result = cast_within(result, target.dtype)
    computed, source = source, result._array
    check_fits(operation, source.shape, x)
    put: Callable = B.copy_
    if overlapping is not None and has_expanded(target):
        warn_expanded(operation)
        put = lambda target, source: overlapping(B, target, *arguments, **options)
    tracked = tracked or result._requires_grad  # by an operand deep in the arguments
    if tracked and OF_ARRAY[target.dtype].category >= FLOATING:
        check_traceable(x)
        if not result._requires_grad:
            result = _without_influence(operation, result, (before, *operands))
        # Somebody else holds `before`: a rule reads the old contents, so they must stay.
        if not apart and sys.getrefcount(before) > 2:
            before._array = B.copy(before._array)
        put(target, source)
        wrote(x, operation)
        _share_saved(result._edge, computed, x)
        set_history(x, result)
    else:
        with modes():
            put(target, source)
        wrote(x, operation)
    return x


@contextmanager
def _without_derivatives() -> Iterator[None]:
    """Backward and forward: what a level around writes keeps its history and its tangent."""
    carried, MODE.carries = MODE.carries, False
    try:
        with no_grad():
            yield
    finally:
        MODE.carries = carried


def _check_result(x: Tensor, operation: str, operands: Any) -> None:
    """RuntimeError where the result of an elementwise operation would not fit into ``x``."""
    numbers = [o for o in operands if o is not None and not isinstance(o, str)]
    shapes = [t._array.shape for t in numbers if isinstance(t, Tensor)]
    if len(shapes) == len(numbers):
        check_fits(operation, broadcast_shape(operation, [x._array.shape, *shapes]), x)
        check_cast(operation, promoted_dtype(operation, x, *numbers), x.dtype)


def _of_zeros(argument: Any) -> Any:
    """An index with zeros in place of its positions, whatever they are; other arguments as they
    are."""
    if isinstance(argument, tuple):
        return tuple(map(_of_zeros, argument))
    is_index = isinstance(argument, Tensor) and BOOL < argument.dtype.category < FLOATING
    return argument * 0 if is_index else argument


def _without_influence(operation: str, result: Tensor, operands: Any) -> Tensor:
    """``result`` with a history in which the gradients of all it was made of are zero."""
    by_tensor = int(isinstance(operands[-1], Tensor))  # overloads are numbered in torch
    name = f"{operation[:-1].capitalize()}Backward{by_tensor}"
    tensors = [t for t in operands if isinstance(t, Tensor)]
    edges = tuple([edge_of(t) if t._requires_grad else None for t in tensors])
    looks = [(t._array.shape, t._array.dtype) for t in tensors]
    result._edge = Uninfluential(edges, (name, looks), result._device)
    result._requires_grad = True
    return result


def _join_level(x: Tensor, operands: Any) -> bool:
    """Make ``x`` one of the tensors of a level if what is written to it is; whether so."""
    level = MODE.wrapping
    while level is not None and level is not x._device:
        if any(isinstance(t, Tensor) and t._device is level for t in operands):
            level.join(x)
            return True
        level = level.around
    return False


def _share_saved(node: Any, source: Any, x: Tensor) -> None:
    """Let a result that ``node`` has saved, and that stands in ``x`` now, be ``x`` itself."""
    values = getattr(node, "values", ())
    for i, value in enumerate(values):
        saved: Any = value[0] if value.__class__ is tuple and len(value) == 2 else None
        if saved.__class__ is SavedOutput and saved._array is source:
            saved._array, saved._writes = x._array, x._writes
            node.device = x._device
            node.values = (*values[:i], (saved, x._writes[0]), *values[i + 1 :])


def as_view(result: Tensor) -> Tensor:
    """``result`` as a view of a tensor that nobody else will see."""
    return OPS["reshape"](result, result._array.shape)


def alias(x: Tensor) -> Tensor:
    """Another tensor with the memory and the history of ``x``, which is about to be written."""
    before = _same(x)
    base: Any = x._base
    if base is not None and base._requires_grad and x.__class__ is Tensor:
        if not isinstance(x._view, str) and _has_hooks(x):
            # No gradient goes through the views any more.
            before._edge = replay(chain_of(x), base)._edge
    return before


def _has_hooks(view: Any) -> bool:
    """Whether there are hooks on a view, or on one that it is a view of."""
    edge = view._edge
    for _ in chain_of(view):
        node = edge.node if edge.__class__ is OutputEdge else edge
        if not isinstance(node, Node) or len(node.edges) != 1:
            return False
        if node.hooks:
            return True
        edge = node.edges[0]
    return False


def _same(x: Tensor) -> Tensor:
    """Another tensor with the memory and the history of ``x``."""
    refresh(x)
    before = wrap(x._array, x._device)
    if MODE.inference and not x._is_inference():
        before._writes = [0, None, MODE.origin]
    before._requires_grad = x._requires_grad
    before._edge = x._edge
    return before


def check_fits(name: str, shape: tuple, x: Tensor) -> None:
    """RuntimeError where an in-place result has not the shape of the tensor."""
    if shape != x._array.shape:
        raise RuntimeError(
            f"{name}(): output with shape {list(x._array.shape)} doesn't match the broadcast shape "
            f"{list(shape)}"
        )


def check_cast(name: str, source: Any, target: Any) -> None:
    """RuntimeError where an in-place result does not fit the tensor's category of dtype."""
    if source.category > target.category:
        raise RuntimeError(
            f"{name}(): result type {source.scalar_type} can't be cast to the desired output type "
            f"{target.scalar_type}"
        )


def move(x: Tensor, edge: Any) -> None:
    """Give ``x`` another place in the graph: its hooks stay behind, `retain_grad` does not."""
    node, index = describe_edge(x._edge)
    kept = node.hooks.retain.pop(index, None) if node is not None and node.hooks else None
    if node is not None and x._hooks is not None:
        x._hooks.place = None
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
    edges = (edge_of(base) if base._requires_grad else None, result._edge)
    order = EXPANDED if has_expanded(base._array) else order_of(base._array)
    values = (chain_of(x), base._array.shape, order)
    move(base, CopySlices(edges, values, base._device))
    x._viewed = None  # its own history is made when it is next used
    node, _ = describe_edge(x._edge)
    if node is not None and node.hooks:  # of a gradient that is retained
        refresh(x)


def end_history(
    x: Tensor, operation: str, operands: Any, error: type[Exception] = RuntimeError
) -> None:
    """Record that ``x`` was written by an operation on tensors, perhaps itself, that has no
    derivative: backward says so."""
    edges = tuple([edge_of(t) if t.requires_grad else None for t in operands])
    result = wrap(x._array, x._device)
    result._edge = NotImplementedBackward(edges, (error, operation), x._device)
    set_history(x, result)


def inplace(function: Callable, name: str, writer: Callable | None = None) -> Callable:
    """The in-place form of an out-of-place function of a Tensor, done by ``writer`` if given."""

    # Without the attributes of the function, which are those of what checks its arguments.
    @functools.wraps(function, updated=())
    def write_in_place(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        if writer is not None:
            return writer(self, *arguments, **options)
        return write(self, name, function, *arguments, **options)

    write_in_place.__name__ = write_in_place.__qualname__ = name
    write_in_place.__doc__ = f"In-place version of `{function.__name__}`; returns the tensor."
    return write_in_place


def detach_(self: Tensor) -> Tensor:
    """Make the tensor itself a leaf that requires no gradient; nothing in `inference_mode`, nor to
    an inference tensor.

    Raises:
        RuntimeError: it is a view, whose history belongs to its base.
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
    self._edge = None
    self._requires_grad = False
    return self


def clear(gradient: Any) -> None:
    """Cut a gradient from its history and fill it with zeros, in place."""
    if gradient.grad_fn is not None:
        gradient.detach_()
    gradient.requires_grad_(False).zero_()


def retain_grad(tensor: Any) -> None:
    """Have the engine store the gradient of a non-leaf in its ``grad``."""
    node, index = describe_edge(tensor._edge)
    if node is not None:
        node._hooks().retain[index] = weakref.ref(tensor)
