"""Many processes that compute together, as ``torch.distributed``: groups, collectives, messages.

Between CPUs they speak MPI (mpi4py, imported when a group of several processes is made), between
GPUs NCCL. ``python -m nnkit.distributed.run --nproc-per-node 2 train.py`` starts them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nnkit.backend.errors import DistBackendError as DistBackendError
from nnkit.backend.errors import DistError as DistError
from nnkit.backend.errors import DistNetworkError as DistNetworkError
from nnkit.backend.errors import DistStoreError as DistStoreError
from nnkit.distributed import nn as nn
from nnkit.distributed.collectives import *  # noqa: F403
from nnkit.distributed.collectives import _all_gather_base as _all_gather_base
from nnkit.distributed.collectives import _reduce_scatter_base as _reduce_scatter_base
from nnkit.distributed.debug_level import *  # noqa: F403
from nnkit.distributed.device_mesh import *  # noqa: F403
from nnkit.distributed.groups import *  # noqa: F403
from nnkit.distributed.objects import *  # noqa: F403
from nnkit.distributed.point_to_point import *  # noqa: F403
from nnkit.distributed.reduce_op import ReduceOp as ReduceOp
from nnkit.distributed.reduce_op import supports_complex as supports_complex
from nnkit.distributed.rendezvous import register_rendezvous_handler as register_rendezvous_handler
from nnkit.distributed.rendezvous import rendezvous as rendezvous
from nnkit.distributed.stores import *  # noqa: F403
from nnkit.distributed.work import Work as Work

_SUBMODULES = (  # imported when first used
    *("algorithms", "checkpoint", "distributed_c10d", "elastic", "fsdp", "optim", "tensor"),
)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"nnkit.distributed.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
