"""torch.distributed.distributed_c10d: an older name."""

from __future__ import annotations

from nnkit.distributed.groups import get_global_rank as _get_global_rank

__all__ = ["_get_global_rank"]
