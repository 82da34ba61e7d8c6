"""Page-locked memory, from which a GPU copies while it computes."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.op.public import public
from nnkit.autograd.tensor import Tensor, wrap
from nnkit.backend.device import cpu


@public(namespace=False)
def pin_memory(input: Tensor, device: Any = None) -> Tensor:
    """A copy of a CPU tensor in page-locked memory; the tensor itself if it is there already.

    From there ``to("cuda", non_blocking=True)`` copies while the GPU computes.

    Raises:
        RuntimeError: the tensor is on a GPU, or there is no GPU.

    Example:
        >>> import nnkit
        >>> x = nnkit.zeros(3)
        >>> x = x.pin_memory() if nnkit.cuda.is_available() else x
    """
    from nnkit.backend.cuda import runtime

    if input._device is not cpu:
        raise RuntimeError(
            f"pin_memory(): only CPU tensors can be pinned, got one on {input._device}"
        )
    runtime.require()
    return input if is_pinned(input) else wrap(runtime.pinned(input._array))


@public(namespace=False)
def is_pinned(input: Tensor, device: Any = None) -> bool:
    """Whether `pin_memory` made the tensor's memory.

    Example:
        >>> import nnkit
        >>> nnkit.zeros(3).is_pinned()
        False
    """
    from nnkit.backend.cuda import runtime

    return input._device is cpu and runtime.is_pinned(input._array)
