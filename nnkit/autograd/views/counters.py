"""The counters of in-place writes, ``tensor._writes``.

The counter of a normal tensor is a list, shared by all views of its storage: ``[number of writes,
name of the op that wrote last, `MODE.origin` of the memory]``. Inference tensors have a mark in its
place, which raises when somebody reads the number of writes.
"""

from __future__ import annotations

from typing import Any

from nnkit.autograd.grad_mode import MODE

NOT_COUNTED = "Inference tensors do not track version counter."

_NOT_SAVED = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd: make a clone to get a normal tensor."
)


class Uncounted(list):
    """The ``_writes`` of an inference tensor whose ``data`` was set to a normal tensor's.

    Saving such a tensor for backward, or making a view of it, reads the counter and so raises.
    """

    counter: list | None = None  # counts the writes nevertheless, if given

    def __getitem__(self, item: Any) -> Any:
        raise RuntimeError(NOT_COUNTED)


class InferenceWrites(Uncounted):
    """The ``_writes`` of an inference tensor.

    Such a tensor must not be saved for backward. The transforms of `nnkit.func` are the exception:
    as in torch they wrap their inputs, and a ``wrapped`` one does not count as an inference
    tensor. One with a ``counter`` (``data`` or `detach` of an inference tensor, taken outside
    inference mode) may be written everywhere.
    """

    def __init__(self, counter: list | None = None, wrapped: bool = False) -> None:
        self.counter = counter
        self.wrapped = wrapped

    def __getitem__(self, item: Any) -> Any:
        if self.wrapped if MODE.saves_inference is None else MODE.saves_inference:
            return 0
        raise RuntimeError(_NOT_SAVED)


class SeenWrites(Uncounted):
    """The ``_writes`` of an inference tensor that autograd has recorded (`autograd.op.single`)."""

    def __getitem__(self, item: Any) -> Any:
        raise RuntimeError(_NOT_SAVED)


UNTRACKED: Any = InferenceWrites()  # shared by all tensors that are made in inference mode
WRAPPED: Any = InferenceWrites(wrapped=True)  # shared by inference tensors a transform wraps


def without_base(result: Any) -> Any:
    """``result``, a view of a Tensor that nobody else holds, no longer marked as one; the two still
    count writes together, since a node may have saved the other.
    """
    result._base = result._view = None
    return result


def counter_of(writes: Any) -> list | None:
    """The list that counts the writes to a tensor; None if they are not counted."""
    return writes if writes.__class__ is list else writes.counter
