"""Sharded parameters, gradients and optimizer states, as ``torch.distributed.fsdp``."""

from __future__ import annotations

from nnkit.distributed.fsdp.api import *  # noqa: F403
from nnkit.distributed.fsdp.fully_shard import FSDPModule as FSDPModule
from nnkit.distributed.fsdp.fully_shard import UnshardHandle as UnshardHandle
from nnkit.distributed.fsdp.fully_shard import fully_shard as fully_shard
from nnkit.distributed.fsdp.fully_sharded_data_parallel import (
    FullyShardedDataParallel as FullyShardedDataParallel,
)
from nnkit.distributed.fsdp.fully_sharded_data_parallel import (
    OptimStateKeyType as OptimStateKeyType,
)
from nnkit.distributed.fsdp.policies import CPUOffloadPolicy as CPUOffloadPolicy
from nnkit.distributed.fsdp.policies import MixedPrecisionPolicy as MixedPrecisionPolicy
from nnkit.distributed.fsdp.policies import OffloadPolicy as OffloadPolicy
