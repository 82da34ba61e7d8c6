"""torch.distributed: the answers of a build of torch without it, so that libraries do without."""

from __future__ import annotations

import enum
from typing import Any

from nnkit.compat.passing import false

is_available = is_initialized = is_nccl_available = is_gloo_available = is_mpi_available = false
is_ucc_available = is_xccl_available = is_torchelastic_launched = false
ReduceOp = enum.Enum("ReduceOp", "SUM AVG PRODUCT MIN MAX BAND BOR BXOR PREMUL_SUM")


class ProcessGroup:
    """A group of processes, of which there are none."""


class GroupMember:
    """The default group, of which there is none."""

    WORLD = NON_GROUP_MEMBER = None


group = GroupMember


def _needs_a_group(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("torch.distributed: nnkit has no process groups; this is one process")


init_process_group = destroy_process_group = new_group = barrier = _needs_a_group
all_reduce = all_gather = all_gather_object = all_gather_into_tensor = reduce = _needs_a_group
broadcast = broadcast_object_list = gather = gather_object = scatter = _needs_a_group
reduce_scatter = reduce_scatter_tensor = all_to_all = all_to_all_single = _needs_a_group
scatter_object_list = send = recv = isend = irecv = monitored_barrier = _needs_a_group
get_rank = get_world_size = get_backend = get_process_group_ranks = _needs_a_group
