"""Memory shared with other libraries by DLPack: ``torch.utils.dlpack``."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.ops.exchange import interchange

__all__ = ["from_dlpack", "to_dlpack"]


class _Capsule:
    """A bare capsule in the dress of an array of the CPU, as NumPy wants it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def to_dlpack(tensor: Tensor) -> Any:
    """A tensor's memory as a capsule, which can be taken once.

    Example:
        >>> import nnkit
        >>> from nnkit.utils import dlpack
        >>> dlpack.from_dlpack(dlpack.to_dlpack(nnkit.ones(2)))
        tensor([1., 1.])
    """
    return tensor.__dlpack__(max_version=(1, 0))  # of an older one NumPy makes read-only arrays


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor on the memory of an array, or of a capsule of the CPU's memory.

    Example:
        >>> import nnkit
        >>> nnkit.utils.dlpack.from_dlpack(nnkit.ones(2))
        tensor([1., 1.])
    """
    bare = not hasattr(ext_tensor, "__dlpack__")
    return interchange.from_dlpack(_Capsule(ext_tensor) if bare else ext_tensor)
