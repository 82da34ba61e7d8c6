"""torch.cuda.comm: tensors on several devices, in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nnkit
from nnkit import Tensor


def broadcast(tensor: Tensor, devices: Sequence[Any]) -> tuple[Tensor, ...]:
    """The tensor on each of some devices."""
    return tuple([tensor.to(_device(place)) for place in devices])


def scatter(
    tensor: Tensor, devices: Sequence[Any], chunk_sizes: Sequence[int] | None = None, dim: int = 0
) -> tuple[Tensor, ...]:
    """Pieces of the tensor, one on each of some devices: equal ones, or of the sizes given."""
    pieces = tensor.chunk(len(devices), dim) if chunk_sizes is None else (
        tensor.split(list(chunk_sizes), dim)
    )  # fmt: skip
    return tuple([piece.to(_device(place)) for piece, place in zip(pieces, devices, strict=False)])


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = None) -> Tensor:
    """The tensors joined along a dimension, on one device: by default that of the first."""
    place = tensors[0].device if destination is None else _device(destination)
    return nnkit.cat([tensor.to(place) for tensor in tensors], dim)


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of the tensors, on one device: by default that of the first.

    Raises:
        ValueError: their shapes differ.
    """
    if any(each.shape != inputs[0].shape for each in inputs):
        raise ValueError(f"reduce_add: the shapes differ, got {[tuple(t.shape) for t in inputs]}")
    place = inputs[0].device if destination is None else _device(destination)
    total = inputs[0].to(place)
    for each in inputs[1:]:
        total = total + each.to(place)
    return total


def _device(place: Any) -> Any:
    return nnkit.device("cuda", place) if isinstance(place, int) else place
