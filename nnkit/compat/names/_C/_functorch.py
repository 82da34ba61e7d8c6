"""torch._C._functorch: what a tensor is inside of transforms."""

from __future__ import annotations

from nnkit import Tensor
from nnkit.autograd.batch.examples import BatchLevel
from nnkit.autograd.batch.examples import is_batched as is_batchedtensor
from nnkit.autograd.forward.level import Level

__all__ = ["get_unwrapped", "is_batchedtensor", "is_gradtrackingtensor", "maybe_get_bdim"]


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Whether a tensor is of a transform that differentiates forwards."""
    return isinstance(tensor._device, Level) and not isinstance(tensor._device, BatchLevel)


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The tensor of what happens around the transform that a tensor is of."""
    place = tensor._device
    return place.lower(tensor)[0] if isinstance(place, Level) else tensor


def maybe_get_bdim(tensor: Tensor) -> int:
    """The dimension of `get_unwrapped` that the examples lie along, -1 if there is none."""
    place = tensor._device
    dim = place.lower(tensor)[1] if isinstance(place, BatchLevel) else None
    return -1 if dim is None else dim
