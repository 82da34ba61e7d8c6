"""torch.distributed: what `nnkit.distributed` has; process groups are those of MPI."""

from __future__ import annotations

from nnkit.compat.names.distributed.distributed_c10d import _rank_not_in_group

__all__ = ["_rank_not_in_group"]
