"""The edge between arrays of this backend and NumPy, Python buffers and DLPack."""

from __future__ import annotations

import ctypes
import math
import mmap
from typing import Any

import numpy as np

from nnkit.backend.dtype import OF_ARRAY, bfloat16
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
    strides = data.strides
    if strides and min(strides) < 0:
        raise ValueError(
            "At least one stride in the given numpy array is negative, which tensors do not "
            f"support: got strides {strides}; make a copy with array.copy()"
        )
    if math.gcd(*strides) % data.itemsize:
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size: got strides "
            f"{strides} of elements of {data.itemsize} bytes; make a copy with array.copy()"
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


# DLPack's numbers for kinds of dtypes, and where its structs hold them, by the capsules' names.
_UNSIGNED, _BFLOAT = 1, 4
_OFFSETS_OF_KIND = {b"dltensor": 20, b"dltensor_versioned": 52}


class _Readable:
    """An object that speaks DLPack, for NumPy, which does not know its bfloat16: as integers of 16
    bits."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.is_bfloat16 = False

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.data.__dlpack__(**options)
        self.is_bfloat16 = _exchange_kind(capsule, _BFLOAT, _UNSIGNED)
        return capsule

    def __dlpack_device__(self) -> tuple:
        return self.data.__dlpack_device__()


def _exchange_kind(capsule: Any, old: int, new: int) -> bool:
    """Say another kind of dtype in a capsule of 16-bit numbers of the kind ``old``; whether it is
    one."""
    get_name, get_pointer = (
        ctypes.pythonapi.PyCapsule_GetName,
        ctypes.pythonapi.PyCapsule_GetPointer,
    )
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    name = get_name(capsule)
    if name not in _OFFSETS_OF_KIND:
        return False  # it was taken before, as NumPy will say
    place = get_pointer(capsule, name) + _OFFSETS_OF_KIND[name]
    kind = (ctypes.c_uint8 * 2).from_address(place)  # and the number of bits
    if tuple(kind) != (old, 16):
        return False
    kind[0] = new
    return True


def from_dlpack(data: Any) -> np.ndarray:
    data = _Readable(data)
    try:
        found = _on_foreign(np.from_dlpack(data))
    except BufferError:
        found = np.from_dlpack(data, copy=True)
    return found.view(bfloat16.array) if data.is_bfloat16 else found


def to_dlpack(x: Any, options: dict) -> Any:
    if x.dtype != bfloat16.array:
        return x.__dlpack__(**options)
    capsule = x.view(np.uint16).__dlpack__(**options)
    _exchange_kind(capsule, _UNSIGNED, _BFLOAT)
    return capsule


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
