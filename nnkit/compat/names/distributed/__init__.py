"""torch.distributed: what `nnkit.distributed` has; process groups are those of MPI."""

from __future__ import annotations

from nnkit.compat.names.distributed.distributed_c10d import _rank_not_in_group
from nnkit.distributed.reduce_op import ReduceOp

__all__ = ["_make_nccl_premul_sum", "_rank_not_in_group"]


def _make_nccl_premul_sum(factor: object) -> ReduceOp:
    """The operation, which can be created, but which no backend here has."""
    return ReduceOp(ReduceOp.PREMUL_SUM)
