"""Tensors distributed over several ranks, as ``torch.distributed.tensor``."""

from __future__ import annotations

from nnkit.distributed.device_mesh import DeviceMesh as DeviceMesh
from nnkit.distributed.device_mesh import init_device_mesh as init_device_mesh
from nnkit.distributed.tensor.dtensor import DTensor as DTensor
from nnkit.distributed.tensor.dtensor import distribute_tensor as distribute_tensor
from nnkit.distributed.tensor.placement_types import Partial as Partial
from nnkit.distributed.tensor.placement_types import Placement as Placement
from nnkit.distributed.tensor.placement_types import Replicate as Replicate
from nnkit.distributed.tensor.placement_types import Shard as Shard
