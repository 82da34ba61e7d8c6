"""Arrays in files: safetensors, NumPy's npz, and raw memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from nnkit.backend.dtype import DTYPES

# The format's own names; what it has no name for is written as its parts (see `as_plain`).
_BY_NAME = {
    name: DTYPES[own].array
    for name, own in {
        "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32",
        "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    }.items()
}  # fmt: skip
_PARTS = {"complex64": "float32", "complex128": "float64"}


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
    """Write arrays under names, with notes."""
    from safetensors.numpy import save

    rows = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    stream.write(save(rows, dict(metadata)))


def read_safetensors(stream: BinaryIO) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays and the notes of a safetensors file, each array with memory of its own.

    Raises:
        ValueError: the file is damaged, or has a dtype that is not known here.
    """
    from safetensors import SafetensorError, deserialize

    content = stream.read()
    try:
        entries = deserialize(content)
    except SafetensorError as error:
        raise ValueError(f"damaged safetensors file: {error}") from error
    arrays = {}
    for name, entry in entries:
        dtype = _BY_NAME.get(entry["dtype"])
        if dtype is None:
            raise ValueError(f"safetensors: {name!r} has the unknown dtype {entry['dtype']}")
        arrays[name] = array_of(bytearray(entry["data"]), dtype).reshape(entry["shape"])
    # The library reads the notes of a file on disk only: they stand in the JSON header.
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return arrays, header.get("__metadata__", {})


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
