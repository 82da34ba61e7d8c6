"""The edge between arrays of this backend and NumPy, Python buffers and DLPack."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from nnkit.backend.dtype import OF_ARRAY
from nnkit.backend.memory import Foreign, extent, owner
from nnkit.backend.shared_memory import allocate


def from_numpy(data: Any) -> np.ndarray:
    """An array on the same memory, if a tensor can stand on it."""
    if not isinstance(data, np.ndarray):
        name = type(data).__name__
        raise TypeError(
            f"expected np.ndarray (got {'numpy.' * isinstance(data, np.generic)}{name})"
        )
    if not data.dtype.isnative:
        raise ValueError(
            f"given numpy array has byte order different from the native byte order: {data.dtype}"
        )
    known = OF_ARRAY.get(data.dtype)
    if known is None:
        raise TypeError(
            f"can't convert np.ndarray of type {data.dtype.type.__module__}.{data.dtype.name}: the "
            f"supported types are {', '.join(d.name for d in OF_ARRAY.values())}"
        )
    if any(s < 0 for s in data.strides):
        raise ValueError(
            "at least one stride in the given numpy array is negative, which tensors do not "
            f"support: got strides {data.strides}; make a copy with array.copy()"
        )
    # Kernels tell dtypes by identity, and an unpickled array brings a copy of its own.
    return _on_foreign(data) if data.dtype is known.array else _on_foreign(data).view(known.array)


def _on_foreign(data: np.ndarray) -> np.ndarray:
    """A view of a storage from the first byte of an array to the last, in one piece."""
    if data.flags.c_contiguous:
        found = np.asarray(Foreign(data.__array_interface__, data))
        return found if found.dtype == data.dtype else found.view(data.dtype)  # bfloat16 is ours
    size = extent(data.shape, data.strides, 0) + data.itemsize - 1
    interface = {**data.__array_interface__, "shape": (size,), "typestr": "|u1"}
    del interface["strides"], interface["descr"]
    storage = np.asarray(Foreign(interface, data))
    return np.ndarray(data.shape, data.dtype, storage, 0, data.strides)


def as_array(data: Any) -> np.ndarray:
    return np.asarray(data)


def from_buffer(data: Any, dtype: np.dtype, count: int, offset: int) -> np.ndarray:
    return _on_foreign(np.frombuffer(data, dtype, count, offset))


def from_dlpack(data: Any) -> np.ndarray:
    try:
        return _on_foreign(np.from_dlpack(data))
    except BufferError:
        return np.from_dlpack(data, copy=True)


def to_dlpack(x: Any, options: dict) -> Any:
    return x.__dlpack__(**options)


def dlpack_device(x: Any) -> tuple:
    return x.__dlpack_device__()


def to_numpy(x: np.ndarray) -> np.ndarray:
    return x


item = np.ndarray.item  # itself, since each call of a function around it would cost as much


def check(condition: np.ndarray, error: type[Exception], message: str) -> None:
    """Raise ``error`` unless the condition holds everywhere."""
    if not condition.all():
        raise error(message)


def data_pointer(x: np.ndarray) -> int:
    """The address of the first element; 0 for an empty array."""
    return x.__array_interface__["data"][0] if x.size else 0


def shared(x: np.ndarray) -> np.ndarray:
    """The bytes of a storage, copied into memory that processes share."""
    source = owner(x)
    out = allocate(source.nbytes)
    np.ndarray(source.shape, source.dtype, out, 0, source.strides)[...] = source
    return out


def is_shared(x: np.ndarray) -> bool:
    return isinstance(owner(x).base, mmap.mmap)
