"""Whether elements that a write reaches share memory, and whether torch allows that."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import BOOL, COMPLEX, FLOATING, uint8
from nnkit.backend.lazy import Lazy, is_zero
from nnkit.backend.memory import (
    Span,
    has_expanded,
    has_same_elements,
    is_view,
    overlap,
    owner,
    span_of,
    strides_in_order,
)
from nnkit.backend.warning import warn

# The writes whose target may have several elements in one place, those whose operands may lie in
# any part of the target, those whose operands may not even be the target itself, and those that
# look at the target as it would be if the dimension that they drop were kept.
REPEATABLE = frozenset(
    "fill_ zero_ threshold_ masked_fill_ index_fill_ index_put_ addmv_ baddbmm_ zeros ones "
    "full all any amax amin argmax argmin bmm cummax cummin histc mv nansum narrow_copy prod "
    "randperm std sum tril triu var".split()
)
ANYWHERE = frozenset(
    "fill_ masked_fill_ index_fill_ masked_scatter_ ldexp_ bernoulli_from_ "
    "addmm_ addmv_ addbmm_ baddbmm_ mm mv bmm "
    "matmul addmm addmv addbmm baddbmm dot vdot linalg.norm all any amax amin argmax argmin "
    "cummax cummin diag histc inner linalg.lu_solve log_softmax logsumexp max mean min nanmean "
    "nanquantile nansum narrow_copy norm prod quantile searchsorted softmax std sum tril triu "
    "var".split()
)
# Those that refuse numbers of a category before they look at the memory.
REFUSED_FIRST = {
    name: category
    for category, names in (
        (
            COMPLEX,
            "ceil_ clamp_ clamp_max_ clamp_min_ clip_ floor_ hardtanh_ relu_ sign_ trunc_",
        ),
        (BOOL, "addmm_ cumprod_ cumsum_"),
    )
    for name in names.split()
}
APART = frozenset(
    "index_add_ index_copy_ index_reduce_ index_put_ scatter_ scatter_add_ scatter_reduce_ put_ "
    "cross gather index_select kthvalue masked_select take take_along_dim cat concat concatenate "
    "stack hstack vstack row_stack dstack column_stack".split()
)
REDUCING = frozenset("max.dim min.dim mode median".split())


def changes_nothing(operation: str, x: Tensor) -> bool:
    """Whether a write does nothing for numbers of this kind."""
    if operation == "nan_to_num_":
        return x.dtype.category < FLOATING
    return operation == "conj_physical_" and not x.is_complex()


def check_memory(x: Tensor, operation: str, operands: Any = ()) -> None:
    """RuntimeError if elements that a write reaches share memory, and torch forbids it."""
    data = x._array
    may_share = is_view(data)
    lazy = data.__class__ is Lazy  # torch copies back what it wrote
    check_writable(x, operation)
    if operation in REFUSED_FIRST and REFUSED_FIRST[operation] == x.dtype.category:
        return
    if may_share and has_expanded(data) and (lazy or operation not in REPEATABLE):
        if changes_nothing(operation, x):
            return
        if operation != "copy_" or not is_same(x, operands[0]):
            check_expanded(operation, data)
    for operand in operands:
        if isinstance(operand, Tensor):
            if may_share or is_view(operand._array) or operand._array is data:
                check_apart(operation, x, operand)


def check_writable(x: Tensor, operation: str) -> None:
    """RuntimeError for constant zeros that stand for a missing derivative."""
    if is_zero(x._array):
        raise RuntimeError(
            f"{operation}(): zeros that stand for a derivative where there is none cannot be "
            "written to: clone() them before"
        )


def check_expanded(operation: str, data: Any) -> None:
    """RuntimeError if several elements share a place in memory."""
    if has_expanded(data):
        raise RuntimeError(
            f"{operation}(): unsupported operation: more than one element of the written-to tensor "
            f"refers to a single memory location: clone() the expanded tensor of shape "
            f"{list(data.shape)} before writing into it"
        )


def warn_expanded(operation: str) -> None:
    """Warn about a write to elements that share a place in memory."""
    warn(f"Use of {operation} on expanded tensors is deprecated: clone() the tensor before")


def check_apart(operation: str, x: Tensor, operand: Tensor, resized: Span | None = None) -> None:
    """RuntimeError if an operand shares part of the written memory, or, for operations that read it
    in another order, all of it.

    Args:
        resized: the span of ``x`` after it has been resized.
    """
    if operation in ANYWHERE or not shares_memory(x, operand):
        return
    if operation != "copy_" and Lazy in (x._array.__class__, operand._array.__class__):
        return  # torch computes with copies of them
    B = x._device.backend
    written, read = resized or span_of(B, x._array), span_of(B, operand._array)
    shared = "all" if operand is x else overlap(written, read)
    if written and read and written[:2] == read[:2] and operation in REDUCING:
        return
    if shared == "part" or (shared == "all" and operation in APART):
        raise _sharing(operation)


def check_positions(operation: str, x: Tensor, positions: Sequence) -> None:
    """RuntimeError if the positions of a write, or a mask, share the memory that is written. The
    mask of an `index_put_` is converted to positions first."""
    B = x._device.backend
    for each in positions:
        if isinstance(each, Tensor) and shares_memory(x, each):
            is_mask = each.dtype.category == BOOL or each.dtype is uint8
            if is_mask and operation == "index_put_":
                continue
            shared = overlap(span_of(B, x._array), span_of(B, each._array))
            if shared == "part" or (shared == "all" and not is_mask):
                raise _sharing(operation)


def _sharing(operation: str) -> RuntimeError:
    return RuntimeError(
        f"{operation}(): unsupported operation: some elements of an input and of the written-to "
        "tensor refer to a single memory location: clone() one of them"
    )


def resized_span(B: Any, array: Any, shape: tuple, axes: tuple[int, ...] | None) -> Span:
    """The span of memory of an array after it is resized, with its dimensions in this order."""
    begin = B.data_pointer(owner(array)) + B.storage_offset(array) * array.itemsize
    return Span(begin, begin + prod(shape) * array.itemsize, strides_in_order(shape, axes))


def is_same(x: Tensor, source: Any) -> bool:
    """Whether both are the same elements in memory, so that copying would change nothing."""
    if not (isinstance(source, Tensor) and shares_memory(x, source)):
        return False
    return has_same_elements(x._device.backend, x._array, source._array)


def shares_memory(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors share one storage."""
    if x._device is not y._device and x._device.home is not y._device.home:
        return False
    return owner(x._array) is owner(y._array)
