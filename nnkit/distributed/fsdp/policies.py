"""Policies of `fully_shard`: dtypes, and where shards are kept."""

from __future__ import annotations

from dataclasses import dataclass

from nnkit.backend.dtype import dtype

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of a module's computation; its shards keep that of the parameters.

    Attributes:
        param_dtype: of the parameters as they are gathered; their own by default.
        reduce_dtype: in which gradients are summed; ``param_dtype`` by default.
        output_dtype: to which floating outputs of forward are cast.
        cast_forward_inputs: whether floating inputs are cast to ``param_dtype``.
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """The policy of shards that stay on their device."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """The policy of shards in the CPU's memory; tensors on the CPU are there anyway."""

    pin_memory: bool = True
