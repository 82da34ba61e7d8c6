"""torch._C._functorch: whether a tensor belongs to a transform, and the tensor outside it."""

from __future__ import annotations

from nnkit import Tensor
from nnkit.autograd.batch.examples import BatchLevel
from nnkit.autograd.batch.examples import is_batched as is_batchedtensor
from nnkit.autograd.forward.level import Level
from nnkit.func.vmap import entered

__all__ = [
    "_add_batch_dim", "_remove_batch_dim", "get_unwrapped", "is_batchedtensor",
    "is_gradtrackingtensor", "maybe_get_bdim",
]  # fmt: skip


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Whether a tensor belongs to a forward-mode transform."""
    return isinstance(tensor._device, Level) and not isinstance(tensor._device, BatchLevel)


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The tensor outside the transform that holds a tensor of the transform."""
    place = tensor._device
    return place.lower(tensor)[0] if isinstance(place, Level) else tensor


def maybe_get_bdim(tensor: Tensor) -> int:
    """The dimension of the examples in `get_unwrapped`, -1 if there is none."""
    place = tensor._device
    dim = place.lower(tensor)[1] if isinstance(place, BatchLevel) else None
    return -1 if dim is None else dim


def _add_batch_dim(tensor: Tensor, in_dim: int, level: int) -> Tensor:
    """A tensor of all examples, along ``in_dim``, as one of the batch level that is ``level`` deep,
    which shows one of them."""
    return entered(level).lift(tensor, in_dim)


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """The tensor of all examples, along ``out_dim``, of one that shows one of them."""
    whole, dim = entered(level).lower(tensor)
    if dim is None:
        return whole.expand(batch_size, *whole.shape).movedim(0, out_dim)
    return whole.movedim(dim, out_dim)
