"""Which elements of a write lie in one place in memory, and whether torch lets that be."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.tensor import Tensor
from nnkit.backend.lazy import Lazy
from nnkit.backend.memory import has_expanded, overlap, owner, steps_of

# The writes whose target may have several elements in one place, those whose operands may lie in
# any part of the target, and those whose operands may not even be the target itself.
REPEATABLE = frozenset(
    "fill_ zero_ threshold_ masked_fill_ index_fill_ index_put_ addmv_ baddbmm_ zeros ones "
    "full all any amax amin argmax argmin bmm cummax cummin histc mv nansum narrow_copy prod "
    "randperm std sum tril triu var".split()
)
ANYWHERE = frozenset(
    "fill_ masked_fill_ index_fill_ masked_scatter_ addmm_ addmv_ addbmm_ baddbmm_ mm mv bmm "
    "matmul addmm addmv addbmm baddbmm dot vdot linalg.norm all any amax amin argmax argmin "
    "histc inner linalg.lu_solve logsumexp max mean min nanmean nanquantile nansum narrow_copy "
    "norm prod quantile searchsorted std sum var".split()
)
# Those that refuse complex numbers before they look at the memory.
OF_REAL = frozenset("ceil_ clamp_ clamp_max_ clamp_min_ floor_ relu_ sign_ trunc_".split())
APART = frozenset(
    "index_add_ index_copy_ index_put_ scatter_ scatter_add_ scatter_reduce_ put_ cross gather "
    "index_select kthvalue masked_select max.dim min.dim mode take take_along_dim topk cat concat "
    "concatenate stack hstack vstack row_stack dstack column_stack".split()
)


def check_expanded(operation: str, data: Any) -> None:
    """RuntimeError where several elements lie in one place."""
    if has_expanded(data):
        raise RuntimeError(
            f"{operation}(): more than one element of the written-to tensor refers to a single "
            f"memory location: clone() the expanded tensor of shape {list(data.shape)} before "
            "writing into it"
        )


def check_apart(operation: str, x: Tensor, operand: Tensor) -> None:
    """RuntimeError where an operand shares part of the written memory, or, if the operation reads
    it out of order, all of it."""
    if operation in ANYWHERE or not shares_memory(x, operand):
        return
    if operation != "copy_" and Lazy in (x._data.__class__, operand._data.__class__):
        return  # torch computes with copies of them
    shared = "all" if operand is x else overlap(x._device.backend, x._data, operand._data)
    if shared == "part" or (shared == "all" and operation in APART):
        raise RuntimeError(
            f"{operation}(): some elements of an input and of the written-to tensor refer to a "
            "single memory location: clone() one of them"
        )


def is_same(x: Tensor, source: Any) -> bool:
    """Whether both are the same elements in memory, so that a copy changes nothing."""
    if not (isinstance(source, Tensor) and shares_memory(x, source)):
        return False
    a, b, B = x._data, source._data, x._device.backend
    same = a.shape == b.shape and a.dtype == b.dtype and steps_of(a) == steps_of(b)
    return same and B.data_pointer(a) == B.data_pointer(b)


def shares_memory(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors lie in one storage."""
    return x._device.home is y._device.home and owner(x._data) is owner(y._data)
