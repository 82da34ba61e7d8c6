"""The settings of `FullyShardedDataParallel`, under torch's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from nnkit.backend.dtype import dtype
from nnkit.nn import Module
from nnkit.nn.modules.batchnorm import _BatchNorm

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",
    "MixedPrecision", "OptimStateDictConfig", "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig", "ShardingStrategy", "StateDictConfig", "StateDictSettings",
    "StateDictType",
]  # fmt: skip


class ShardingStrategy(Enum):
    """The tensors that are sharded, and the ranks that share them.

    Parameters, gradients and optimizer states are sharded in all but ``NO_SHARD``; with
    ``SHARD_GRAD_OP`` parameters stay whole between forward and backward. The hybrid ones shard over
    the second dimension of a mesh and replicate over the first.
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the parameters that backward needs next are gathered; here always beforehand."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass
class MixedPrecision:
    """The dtypes of computation and communication.

    Attributes:
        param_dtype: of the parameters as they are gathered; their own by default.
        reduce_dtype: in which gradients are summed; ``param_dtype`` by default.
        buffer_dtype: of floating buffers; their own by default.
        keep_low_precision_grads: accepted where it is the default.
        cast_forward_inputs: cast floating inputs of every wrapped module to ``param_dtype``.
        cast_root_forward_inputs: cast those of the outermost one.
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Module]] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether shards are kept in the CPU's memory; tensors on the CPU are there anyway."""

    offload_params: bool = False


class StateDictType(Enum):
    """The kinds of tensors in a ``state_dict()``: whole ones, or `DTensor` shards."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """The place of the tensors of a state."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Whole tensors, on all ranks or with ``rank0_only`` on rank 0."""

    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Shards, as `DTensor`."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """The place of the tensors of an optimizer's state."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whole tensors, on all ranks or with ``rank0_only`` on rank 0."""

    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Shards, as `DTensor`."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """The settings of `FullyShardedDataParallel.set_state_dict_type`."""

    state_dict_type: StateDictType = StateDictType.FULL_STATE_DICT
    state_dict_config: StateDictConfig = field(default_factory=FullStateDictConfig)
    optim_state_dict_config: OptimStateDictConfig = field(default_factory=FullOptimStateDictConfig)
