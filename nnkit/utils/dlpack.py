"""Memory shared with other libraries by DLPack: ``torch.utils.dlpack``."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.exchange.dlpack import from_dlpack as from_dlpack

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A tensor's memory as a capsule, which can be taken once.

    Example:
        >>> import nnkit
        >>> from nnkit.utils import dlpack
        >>> dlpack.from_dlpack(dlpack.to_dlpack(nnkit.ones(2)))
        tensor([1., 1.])
    """
    return tensor.__dlpack__(max_version=(1, 0))  # of an older one NumPy makes read-only arrays
