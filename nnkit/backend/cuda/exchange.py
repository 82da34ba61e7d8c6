"""The edge between arrays on the GPU and NumPy, Python buffers and DLPack."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cuda import failures
from nnkit.backend.cuda.checks import checked_index
from nnkit.backend.cuda.creation import array, cast, cupy
from nnkit.backend.cuda.differences import BF16, address, contiguous

I8 = np.dtype(np.int64)


def from_numpy(data: Any) -> Any:
    return array(data, None)


def as_array(data: Any) -> Any:
    return array(data, None)


def from_buffer(data: Any, dtype: np.dtype, count: int, offset: int) -> Any:
    return array(np.frombuffer(data, dtype, count, offset), None)


def from_dlpack(data: Any) -> Any:
    return cupy().from_dlpack(data)


def to_dlpack(x: Any, options: dict) -> Any:
    return x.__dlpack__(**options)


def dlpack_device(x: Any) -> tuple:
    return x.__dlpack_device__()


def to_numpy(x: Any) -> np.ndarray:
    """A copy in the host's memory; waits until the kernels before it are done, and raises what
    they found wrong."""
    dense = contiguous(x)
    values = dense.view(np.uint16).get().view(BF16) if x.dtype == BF16 else dense.get()
    failures.check()
    return values


def item(x: Any) -> Any:
    """The one element as a Python number."""
    return to_numpy(x).item()


def check(condition: Any, error: type[Exception], message: str) -> None:
    """Report ``error`` unless the condition holds everywhere; the next call that waits raises."""
    # Where it does not hold, 1 is out of the range of an axis of size 1.
    checked_index(cast(~condition, I8), 1, failures.code_of(error, message))


def data_pointer(x: Any) -> int:
    """The address of the first element; 0 for an empty array."""
    return address(x) if x.size else 0


def shared(x: Any) -> Any:
    """The array itself: the GPU's memory is not inherited by child processes."""
    return x


def is_shared(x: Any) -> bool:
    """True, as torch says of every CUDA tensor."""
    return True
