"""Errors, in torch's words, for writes that a history cannot follow."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.engine.node import Node, Unknown, target_of
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.overlap import shares_memory

_MODES = {
    "no_grad": ("no_grad mode", "with grad mode enabled", "no_grad"),
    "inference": ("inference mode", "in normal mode", "inference_mode"),
}
_MAKERS = {
    "multiple": (
        "This view is the output of a function that returns multiple views. Such functions do not "
        "allow the output views to be modified inplace. You should replace the inplace operation "
        "by an out-of-place one."
    ),
    "function": (
        "This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function."
    ),
}
WRITTEN = "is being modified inplace"
BASE_WRITTEN = "its base or another view of its base has been modified inplace"

# The writes that torch keeps from the history, whatever was written over (in place, and into
# ``out``), and those that it does not record.
UNSEEN = frozenset(
    "logical_and_ logical_not_ logical_or_ logical_xor_ logical_and logical_not logical_or "
    "logical_xor eq ge gt le lt ne".split()
)


def mark_views(outputs: tuple, maker: str) -> None:
    """Note on the views that a user's `Function` has made or returned who made them."""
    for output in outputs:
        if getattr(output, "_view", None) in ("no_grad", "inference"):
            output._view = maker


def refusal(view: Any, done: str) -> str:
    """The message for a view, which was ``WRITTEN`` or whose base was (``BASE_WRITTEN``)."""
    node, index = target_of(view._edge)
    known = isinstance(node, Node) and node.name().rpartition("Backward")[0]
    output = f"Output {index} of {known} is a view"
    mode, now, block = _MODES[view._view if view._view in _MODES else "no_grad"]
    if view._view in _MAKERS:
        what = f"{output} and {done}" if known else f"A view was created in {mode} and {done} {now}"
        return f"{what}. {_MAKERS[view._view]}"
    made = f"{output} of a view which was" if known else "A view was"
    return (
        f"{made} created in {mode} and {done} {now}. Given that this use case is ambiguous and "
        "error-prone, it is forbidden. You can clarify your code by moving both the view and the "
        f"inplace either both inside the {block} block (if you don't want the inplace to be "
        "tracked) or both outside (if you want the inplace to be tracked)."
    )


def check_history(view: Tensor) -> None:
    """RuntimeError if the history of a view could not follow a write to its base."""
    if is_lost(view):
        raise RuntimeError(refusal(view, BASE_WRITTEN))


def is_lost(view: Any) -> bool:
    """Whether the history of a view could not follow a write to its base."""
    base = view._base
    if base is None or not was_written(view) or not isinstance(view._view, str):
        return False
    return base._requires_grad or view._edge.__class__ not in (type(None), Unknown)


def was_written(view: Any) -> bool:
    """Whether the storage of a view was written since the view was made or refreshed."""
    return view._viewed not in (view._writes[0], ~view._writes[0])


def check_captured(x: Tensor, operation: str) -> None:
    """RuntimeError for a tensor captured by a function that `nnkit.func` differentiates: one that
    was made before and is not among its inputs."""
    level = MODE.captures
    while level is not None and x._writes.__class__ is list:
        number, inputs, level = level
        if not _is_of_transform(x, number, inputs):
            raise RuntimeError(
                "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to "
                f"call in-place operation ({operation}) that would mutate a captured Tensor. This "
                "is not supported; please rewrite the function being transformed to explicitly "
                "accept the mutated Tensor(s) as inputs."
            )


def check_data_set(x: Any, new: Any) -> None:
    """RuntimeError where the data of a tensor may not be set: a running function that `nnkit.func`
    differentiates has made it or takes it, or either is of a level that is not entered by hand."""
    places: list[Any] = [x._device, new._device]
    place, level = next((p for p in places if p.depth), None), MODE.captures
    refused = place is not None and not any(p.by_hand for p in places)
    mapped = place is not None and place.maps and place.captures is level
    while level is not None and not refused:
        number, inputs, level = level
        refused = x._writes.__class__ is list and _is_of_transform(x, number, inputs)
    if refused:
        where = "under vmap" if mapped else "inside functorch"
        raise RuntimeError(f"mutating directly with `.data` {where} transform is not allowed.")


def _is_of_transform(x: Tensor, number: int, inputs: list) -> bool:
    """Whether a transform has made a tensor or has it among its inputs."""
    if (x._writes[2] or 0) >= number:
        return True
    # A view of an input shares its write counter, or at least its memory.
    return any(x._writes is own._writes or shares_memory(x, own) for own in inputs)
