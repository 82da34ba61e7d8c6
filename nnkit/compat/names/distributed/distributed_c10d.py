"""torch.distributed.distributed_c10d: private functions about groups."""

from __future__ import annotations

from typing import Any

from nnkit.distributed.groups import GroupMember
from nnkit.distributed.groups import get_global_rank as _get_global_rank

__all__ = ["_get_global_rank"]


def _rank_not_in_group(group: Any) -> bool:
    """Whether this rank is outside a group; None is the group of all."""
    return group is not None and group == GroupMember.NON_GROUP_MEMBER
