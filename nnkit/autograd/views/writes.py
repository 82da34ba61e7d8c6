"""In-place writes: their checks, the write itself, and its place in the history of a tensor.

Every write goes through `write`, or through `check_write` and `wrote`. What a write does to the
histories of a tensor and its views is in `nnkit.autograd.views.history`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape
from nnkit.autograd.engine.node import SavedOutput, Unknown, edge_of, leaf_hooks
from nnkit.autograd.engine.saved import ACTIVE
from nnkit.autograd.forward.level import ENTERED_LEVELS
from nnkit.autograd.grad_mode import MODE, no_grad, without_derivatives
from nnkit.autograd.op.promotion import (
    ASKING,
    asking_among,
    cast_within,
    on_one_device,
    promoted_dtype,
    translated,
)
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.counters import counter_of
from nnkit.autograd.views.history import alias, change_geometry, refresh, set_history, shallow_copy
from nnkit.autograd.views.overlap import REFUSED_FIRST, check_memory, warn_expanded
from nnkit.autograd.views.refusals import UNSEEN, WRITTEN, check_captured, refusal, was_written
from nnkit.autograd.views.replay import Uninfluential
from nnkit.backend.dtype import BOOL, FLOATING, OF_ARRAY
from nnkit.backend.memory import has_expanded

# For these, torch checks the shape and the cast of the result before it checks whether the
# operation is implemented for the dtype.
CHECKED_FIRST = frozenset(
    "addcmul_ clamp_ clamp_max_ clamp_min_ clip_ div_ gcd_ lcm_ lerp_ pow_ xlogy_".split()
)
# Those for which a number counts as an operand that is no inference tensor (`is_unseen`).
TAKING_NUMBERS = frozenset(
    "add_ sub_ subtract_ mul_ multiply_ div_ divide_ true_divide_ floor_divide_ dropout_ "
    "feature_dropout_ alpha_dropout_ feature_alpha_dropout_".split()
)


def check_write(x: Tensor, operation: str, operands: Any = ()) -> bool:
    """Whether a write to ``x`` with these operands must be recorded.

    RuntimeError by `check_change`, or if elements share memory with each other or an operand.
    """
    tracked = check_change(x, operation, operands)
    check_memory(x, operation, operands)
    return tracked


def check_change(x: Tensor, operation: str, operands: Any = ()) -> bool:
    """Whether a change of ``x`` (its contents or its shape) must be recorded.

    Raises:
        RuntimeError: ``x`` is a leaf that requires grad or a view of one, a view whose base cannot
            record the write, or a tensor captured by a function that is being differentiated.
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
    """RuntimeError for a view without history whose base has got one since: as in torch, until the
    view is used, a write to it counts as a write to a leaf."""
    stale = view._viewed is not None and was_written(view)
    if view._base._requires_grad and view._edge is None and stale:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation: a view "
            "that was not used since its base got a history"
        )


def wants_history(x: Tensor, operands: Any) -> bool:
    """Whether an operation on these operands must be recorded."""
    if MODE.enabled:
        for t in (x, *operands):
            if isinstance(t, Tensor) and (
                t._requires_grad if t._base is None else _is_of_view_with_history(t)
            ):
                return not is_unseen((x, *operands))
    return False


def _is_of_view_with_history(t: Any) -> bool:
    """Whether a view or its base requires grad; without a refresh of its history. Of a dual tensor,
    not whether its primal does."""
    lost = t._edge.__class__ is Unknown and isinstance(t._view, str)
    return t._requires_grad and not lost or t._base._requires_grad


def is_unseen(operands: Any) -> bool:
    """Whether all operands of an operation are inference tensors: then torch does not record it,
    even if they require grad. Numbers count as normal tensors."""
    for operand in operands:
        if isinstance(operand, tuple):  # an index
            if not is_unseen([t for t in operand if isinstance(t, Tensor)]):
                return False
        elif operand is not None and not (isinstance(operand, Tensor) and operand._is_inference()):
            return False
    return True


def check_traceable(x: Tensor) -> None:
    """RuntimeError if a write to ``x`` cannot be recorded."""
    base = x._base
    if base is not None and isinstance(x._view, str):
        raise RuntimeError(refusal(x, WRITTEN))
    if x._requires_grad and (x._edge is None or (base is not None and base._edge is None)):
        what = "a leaf Variable" if base is None else "a view of a leaf Variable"
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")


def wrote(x: Tensor, operation: str) -> Tensor:
    """Count a write to the storage of ``x``, after `check_write` and the write itself.

    Raises:
        RuntimeError: ``x`` is an inference tensor, outside inference mode; as in torch, it has
            been written then.
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
    kernel: Callable | None = None, prepare: Callable | None = None,
    overlapping: Callable | None = None, **options: Any,
) -> Tensor:  # fmt: skip
    """Replace the contents of ``x`` by ``compute(x, *arguments)``, and its history accordingly.

    The result is cast to the dtype of ``x``.

    Args:
        compute: the out-of-place function; None if it has no derivative.
        kernel: does the same in place on arrays; used if nothing is recorded.
        prepare: makes the kernel's arguments of ``x`` and ``arguments``, after all checks, where
            these are not the same; None where only ``compute`` will do.
        overlapping: does the same on an array whose elements share memory, given the algebra, the
            array and the arguments: a copy of the result would overwrite itself.

    Raises:
        RuntimeError: the result has another shape or a higher category of dtype (float for an
            integer ``x``), or `check_write` refuses the write.
        NotImplementedError: the write must be recorded, and there is no ``compute``.
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
        # torch checks the other arguments first
        if compute is not None and (kernel is None or prepare is not None):
            with no_grad(), suppress(RuntimeError):
                compute(x.detach().clone(), *map(_of_zeros, arguments), **options)
        raise
    prepared: tuple | None = None if tracked or kernel is None else arguments
    if prepare is not None and prepared is not None:
        plain = not (ENTERED_LEVELS or ASKING or has_expanded(x._array))
        prepared = prepare(x, *arguments, **options) if plain else None
    if kernel is not None and prepared is not None:
        try:
            kernel(x._array, *[a._array if isinstance(a, Tensor) else a for a in prepared])
        except (TypeError, ValueError, MemoryError) as error:
            raise translated(operation, (x, *arguments), error) from None
        return wrote(x, operation)
    if compute is None:
        raise NotImplementedError(f"the derivative for '{operation}' is not implemented")
    _write_computed(x, operation, compute, arguments, options, operands, tracked, overlapping)
    return x


def _write_computed(
    x: Tensor, operation: str, compute: Callable, arguments: tuple, options: dict, operands: tuple,
    tracked: bool, overlapping: Callable | None,
) -> None:  # fmt: skip
    """Write what ``compute`` returns into ``x``, which gets its history if it is ``tracked``."""
    unseen = operation in UNSEEN
    of_mode = x._is_inference() and not tracked
    modes: Any = without_derivatives if unseen else no_grad if of_mode else nullcontext
    with modes():
        # Tangents may be functions of the old contents.
        before = x.clone() if x._device.depth and MODE.enabled else alias(x)
        if apart := bool(ACTIVE) and tracked:  # saved-tensor hooks may keep the memory
            before._array = x._device.backend.copy(x._array)
        try:
            result = compute(before, *arguments, **options)
        except NotImplementedError:
            if operation in CHECKED_FIRST and REFUSED_FIRST.get(operation) != x.dtype.category:
                _check_result(x, operation, operands)
            raise
    asking = asking_among((x, result)) if ASKING else None
    if asking is None:
        _check_device(operation, x, result)
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
    tracked = tracked or result._requires_grad  # an operand may be nested in the arguments
    if tracked and OF_ARRAY[target.dtype].category >= FLOATING:
        check_traceable(x)
        if not result._requires_grad:
            result = _without_influence(operation, result, (before, *operands))
        # If somebody else holds `before`, a rule reads the old contents, which must be kept.
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


def reshape_in_place(
    x: Tensor, operation: str, function: Callable, *arguments: Any, **options: Any
) -> Tensor:
    """Turn ``x`` into the view of it that ``function`` returns, such as its transpose."""
    check_change(x, operation)
    result = function(shallow_copy(x), *arguments, **options)
    recorded = result._edge if MODE.enabled and x._edge is not None else None
    if recorded is not None and x.retains_grad:
        leaf_hooks(x).retained = True  # the hook remains on the history of the old shape
    change_geometry(x, result._array, recorded)
    wrote(x, operation)
    if recorded is not None and x._base is not None:
        x._viewed = x._writes[0]
    return x


def _check_device(operation: str, x: Tensor, result: Tensor) -> None:
    """RuntimeError if a result is on another device than the tensor it is written to."""
    if result._device.home is not x._device.home:
        raise RuntimeError(
            f"{operation}(): Expected all tensors to be on the same device, but found at least "
            f"two devices, {x._device} and {result._device}"
        )


def _check_result(x: Tensor, operation: str, operands: Any) -> None:
    """RuntimeError if the result of an element-wise operation would not fit into ``x``."""
    numbers = [o for o in operands if o is not None and not isinstance(o, str)]
    shapes = [t._array.shape for t in numbers if isinstance(t, Tensor)]
    if len(shapes) == len(numbers):
        check_fits(operation, broadcast_shape(operation, [x._array.shape, *shapes]), x)
        check_cast(operation, promoted_dtype(operation, x, *numbers), x.dtype)


def _of_zeros(argument: Any) -> Any:
    """An argument, with zeros in place of the positions if it is an index."""
    if isinstance(argument, tuple):
        return tuple(map(_of_zeros, argument))
    is_index = isinstance(argument, Tensor) and BOOL < argument.dtype.category < FLOATING
    return argument * 0 if is_index else argument


def _without_influence(operation: str, result: Tensor, operands: Any) -> Tensor:
    """``result``, with a history that sends gradients of zeros to all operands."""
    by_tensor = int(isinstance(operands[-1], Tensor))  # torch numbers the overloads
    name = f"{operation[:-1].capitalize()}Backward{by_tensor}"
    tensors = [t for t in operands if isinstance(t, Tensor)]
    edges = tuple([edge_of(t) if t._requires_grad else None for t in tensors])
    looks = [(t._array.shape, t._array.dtype) for t in tensors]
    result._edge = Uninfluential(edges, (name, looks), result._device)
    result._requires_grad = True
    return result


def _join_level(x: Tensor, operands: Any) -> bool:
    """Move ``x`` to the innermost level that an operand belongs to; return whether there is one."""
    level = MODE.wrapping
    while level is not None and level is not x._device:
        if any(isinstance(t, Tensor) and t._device is level for t in operands):
            level.join(x)
            return True
        level = level.around
    return False


def _share_saved(node: Any, source: Any, x: Tensor) -> None:
    """If ``node`` has saved the result that was written to ``x``, let it save ``x`` instead."""
    values = getattr(node, "values", ())
    for i, value in enumerate(values):
        saved: Any = value[0] if value.__class__ is tuple and len(value) == 2 else None
        if saved.__class__ is SavedOutput and saved._array is source:
            saved._array, saved._writes = x._array, x._writes
            node.device = x._device
            node.values = (*values[:i], (saved, x._writes[0]), *values[i + 1 :])


def check_fits(name: str, shape: tuple, x: Tensor) -> None:
    """RuntimeError unless an in-place result has the shape of the tensor."""
    if shape != x._array.shape:
        raise RuntimeError(
            f"{name}(): output with shape {list(x._array.shape)} doesn't match the broadcast shape "
            f"{list(shape)}"
        )


def check_cast(name: str, source: Any, target: Any, part: str | None = None) -> None:
    """RuntimeError if a result, called ``part``, has a higher category of dtype than its tensor."""
    if source.category > target.category:
        if part is not None:
            raise RuntimeError(
                f"{name}(): Expected {part} to be safely castable from {source.scalar_type} dtype, "
                f"but got {part} with dtype {target.scalar_type}"
            )
        raise RuntimeError(
            f"{name}(): result type {source.scalar_type} can't be cast to the desired output type "
            f"{target.scalar_type}"
        )
