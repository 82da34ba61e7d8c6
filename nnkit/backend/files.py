"""Arrays in files: safetensors, NumPy's npz, and raw memory."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from nnkit.backend.dtype import DTYPES

# The format's own names; what it has no name for is written as its parts (see `as_plain`).
_NAMES = {
    "bool": "BOOL",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "int64": "I64",
    "float16": "F16",
    "bfloat16": "BF16",
    "float32": "F32",
    "float64": "F64",
}
_BY_NAME = {name: DTYPES[own].array for own, name in _NAMES.items()}
_PARTS = {"complex64": "float32", "complex128": "float64"}
_MAX_HEADER = 100_000_000


def memory_of(array: Any) -> bytes:
    """The elements of an array as bytes, in row-major order."""
    return np.ascontiguousarray(array).tobytes()


def array_of(memory: bytearray, dtype: Any) -> Any:
    """The writable one-dimensional array on that memory."""
    return np.frombuffer(memory, np.uint8).view(dtype)


def as_plain(array: Any) -> Any:
    """An array that every reader knows: complex numbers become pairs in a last dimension."""
    parts = _PARTS.get(array.dtype.name)
    if parts is None:
        return array
    return np.ascontiguousarray(array).view(parts).reshape(*array.shape, 2)


def from_plain(array: Any, dtype: Any) -> Any:
    """The array of ``dtype`` that was stored as ``array``."""
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
        # NumPy writes a dtype that is not its own, such as bfloat16, as nameless bytes.
        return array.view(dtype)
    if _PARTS.get(dtype.name) != array.dtype.name or array.shape[-1:] != (2,):
        raise ValueError(f"an array of {dtype} was expected in the file, got {array.dtype}")
    return array.view(dtype).reshape(array.shape[:-1])


def write_safetensors(
    stream: BinaryIO, arrays: Mapping[str, Any], metadata: Mapping[str, str]
) -> None:
    """Write arrays under names: a JSON header with a length in front, then their memory.

    Source: the safetensors format, https://github.com/huggingface/safetensors.
    """
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    # The widest elements first, so that each array is aligned.
    ordered = sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize)
    start = 0
    for name, array in ordered:
        end = start + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
        start = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    stream.write(struct.pack("<Q", len(text)))
    stream.write(text)
    for _, array in ordered:
        stream.write(memory_of(array))


def read_safetensors(stream: BinaryIO) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays and the notes of a safetensors file, each array with memory of its own.

    Raises:
        ValueError: the file is damaged, or has a dtype that is not known here.
    """
    (length,) = struct.unpack("<Q", _read(stream, 8))
    if length > _MAX_HEADER:
        raise ValueError(f"no safetensors file: its header would have {length} bytes")
    header = json.loads(bytes(_read(stream, length)))
    if not isinstance(header, dict):
        raise ValueError("damaged safetensors file: the header is no JSON object")
    metadata = header.pop("__metadata__", {})
    arrays = {}
    position = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype = _BY_NAME.get(entry["dtype"])
        if dtype is None:
            raise ValueError(f"safetensors: {name!r} has the unknown dtype {entry['dtype']}")
        start, end = entry["data_offsets"]
        size = dtype.itemsize
        for extent in entry["shape"]:
            size *= extent
        if start != position or end - start != size or size < 0:
            raise ValueError(f"damaged safetensors file: {name!r} has offsets {start}, {end}")
        arrays[name] = array_of(_read(stream, size), dtype).reshape(entry["shape"])
        position = end
    return {name: arrays[name] for name in header}, metadata


def _read(stream: BinaryIO, size: int) -> bytearray:
    memory = bytearray(size)
    if stream.readinto(memory) != size:  # pyright: ignore[reportAttributeAccessIssue]
        raise ValueError("the file ends before its data does")
    return memory


def write_npz(stream: BinaryIO, arrays: Mapping[str, Any]) -> None:
    """Write arrays under names, as ``numpy.savez`` does."""
    np.savez(stream, **arrays)


def read_npz(stream: BinaryIO) -> dict[str, Any]:
    """The arrays of an npz file; one that holds Python objects is an error.

    Raises:
        ValueError: an array holds Python objects.
    """
    with np.load(stream, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
