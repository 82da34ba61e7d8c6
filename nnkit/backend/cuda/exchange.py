"""The edge between arrays on the GPU and NumPy, Python buffers and DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cuda import failures
from nnkit.backend.cuda.creation import array, cupy
from nnkit.backend.cuda.differences import BF16, address, contiguous

__all__ = [
    "as_array", "data_pointer", "from_buffer", "from_dlpack", "from_numpy", "is_shared", "shared",
    "to_numpy",
]  # fmt: skip


def from_numpy(data: Any) -> Any:
    return array(data, None)


def as_array(data: Any) -> Any:
    return array(data, None)


def from_buffer(data: Any, dtype: np.dtype, count: int, offset: int) -> Any:
    return array(np.frombuffer(data, dtype, count, offset), None)


def from_dlpack(data: Any) -> Any:
    return cupy().from_dlpack(data)


def to_numpy(x: Any) -> np.ndarray:
    """A copy in the host's memory; waits until the kernels before it are done, and raises what
    they found wrong."""
    if isinstance(x, np.ndarray):
        failures.check()
        return x.copy()
    dense = contiguous(x)
    values = dense.view(np.uint16).get().view(BF16) if x.dtype == BF16 else dense.get()
    failures.check()
    return values


def data_pointer(x: Any) -> int:
    """The address of the first element; 0 for an empty array."""
    return address(x) if x.size else 0


def shared(x: Any) -> Any:
    """The array itself: the GPU's memory is not inherited by child processes."""
    return x


def is_shared(x: Any) -> bool:
    """True, as torch says of every CUDA tensor."""
    return True
