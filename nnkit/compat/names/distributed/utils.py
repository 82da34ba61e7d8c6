"""torch.distributed.utils: copying a module's tensors from one rank to all."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from nnkit import Tensor
from nnkit.distributed.collectives import broadcast
from nnkit.nn import Module

__all__ = ["_sync_module_states", "_sync_params_and_buffers"]


def _sync_module_states(
    module: Module,
    process_group: Any,
    broadcast_bucket_size: int,
    src: int,
    params_and_buffers_to_ignore: Container[str],
    broadcast_buffers: bool = True,
) -> None:
    """Copy the parameters and buffers of a module, except those named, from rank ``src``."""
    named = [*module.named_parameters(), *(module.named_buffers() if broadcast_buffers else ())]
    states = [tensor for name, tensor in named if name not in params_and_buffers_to_ignore]
    _sync_params_and_buffers(process_group, states, broadcast_bucket_size, src)


def _sync_params_and_buffers(
    process_group: Any, module_states: Iterable[Tensor], broadcast_bucket_size: int, src: int
) -> None:
    """Copy tensors from rank ``src`` to all ranks."""
    for tensor in module_states:
        broadcast(tensor.detach(), src, process_group)
