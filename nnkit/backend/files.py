"""Arrays in files: safetensors, NumPy's npz, and raw memory.

Readers hold every size that a file states against the size of the file before they allocate.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from nnkit.backend.dtype import DTYPES

MOST_DIMENSIONS = 64  # of an array of NumPy
# The format's own names; what it has no name for is written as its parts (see `as_plain`).
_BY_NAME = {
    name: DTYPES[own].array
    for name, own in {
        "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "I32": "int32",
        "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
        "U16": "uint16", "U32": "uint32", "U64": "uint64", "F8_E4M3": "float8_e4m3fn",
        "F8_E4M3FNUZ": "float8_e4m3fnuz", "F8_E5M2": "float8_e5m2",
        "F8_E5M2FNUZ": "float8_e5m2fnuz", "F8_E8M0": "float8_e8m0fnu",
    }.items()
}  # fmt: skip
_PARTS = {"complex64": "float32", "complex128": "float64"}
_LARGEST_DEFLATE = 1032  # bytes that one byte of deflate may stand for


def memory_of(array: Any) -> bytes:
    """The elements of an array as bytes, in row-major order."""
    return np.ascontiguousarray(array).tobytes()


def array_of(memory: bytearray, dtype: Any) -> Any:
    """The writable one-dimensional array on that memory."""
    return np.frombuffer(memory, np.uint8).view(dtype)


def reversed_bytes(array: Any) -> Any:
    """The numbers of a machine of the other byte order, turned around where they lie."""
    size = array.dtype.itemsize // (2 if array.dtype.kind == "c" else 1)
    array.view(f"u{size}").byteswap(inplace=True)
    return array


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


def check_total(total: int, max_bytes: int | None) -> None:
    """Refuse a file whose contents take more than the caller allows.

    Raises:
        ValueError: they do.
    """
    if max_bytes is not None and total > max_bytes:
        raise ValueError(f"its contents take {total} bytes, max_bytes={max_bytes} are allowed")


def check_size(stream: BinaryIO, max_bytes: int | None) -> None:
    """`check_total` of a stream, whose rest is all its contents."""
    check_total(_bytes_to_end(stream), max_bytes)


def read_exactly(stream: Any, length: int) -> bytearray:
    """The next ``length`` bytes.

    Raises:
        ValueError: the stream ends before.
    """
    memory = bytearray()
    while len(memory) < length:
        piece = stream.read(length - len(memory))
        if not piece:
            raise ValueError(f"it ends {length - len(memory)} bytes too early")
        memory += piece
    return memory


def _bytes_to_end(stream: BinaryIO) -> int:
    start = stream.tell()
    size = stream.seek(0, 2) - start
    stream.seek(start)
    return size


# safetensors


def write_safetensors(
    stream: BinaryIO, arrays: Mapping[str, Any], metadata: Mapping[str, str]
) -> None:
    """Write arrays under names, with notes."""
    from safetensors.numpy import save

    rows = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    stream.write(save(rows, dict(metadata)))


def read_safetensors(
    stream: BinaryIO, max_bytes: int | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays and the notes of a safetensors file, each array with memory of its own.

    Raises:
        ValueError: the file is damaged, or has a dtype that is not known here.
    """
    from safetensors import SafetensorError, deserialize

    check_size(stream, max_bytes)
    content = stream.read()
    try:
        entries = deserialize(content)
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    arrays = {}
    for name, entry in entries:
        dtype = _BY_NAME.get(entry["dtype"])
        if dtype is None:
            raise ValueError(f"{name!r:.80} has the unknown dtype {entry['dtype']}")
        if len(entry["shape"]) > MOST_DIMENSIONS:
            raise ValueError(f"{name!r:.80} has {len(entry['shape'])} dimensions")
        arrays[name] = array_of(bytearray(entry["data"]), dtype).reshape(entry["shape"])
    # The library gives the notes of a file on disk only: they stand in the JSON header.
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return arrays, header.get("__metadata__", {})


# zip

ZIP_HEADER = 30  # bytes before the name of a member


def map_member(path: Any, member: zipfile.ZipInfo, shared: bool) -> Any:
    """The bytes of a member of a zip archive, not compressed, mapped to memory: they are read when
    they are used, and what is written to them reaches the file where they are ``shared`` with it.

    Raises:
        ValueError: they do not lie in the file.
    """
    with open(path, "rb") as stream:
        size = _bytes_to_end(stream)
        stream.seek(member.header_offset)
        header = read_exactly(stream, ZIP_HEADER)
    lengths = (int.from_bytes(header[k : k + 2], "little") for k in (26, 28))  # of name and extra
    begin = member.header_offset + ZIP_HEADER + sum(lengths)
    if begin + member.file_size > size:
        raise ValueError(f"{member.filename!r:.80} ends behind the file")
    if not member.file_size:
        return np.empty(0, np.uint8)
    return np.memmap(path, np.uint8, "r+" if shared else "c", begin, (member.file_size,))


def open_zip(stream: BinaryIO, max_bytes: int | None = None) -> zipfile.ZipFile:
    """A zip archive whose members, as large as they say they are, fit into the file.

    Raises:
        ValueError: they do not, or are compressed in another way than by deflate.
    """
    size = _bytes_to_end(stream)
    archive = zipfile.ZipFile(stream)
    members = archive.infolist()
    # The sum: many members may say that they lie in the same place.
    if sum(member.compress_size for member in members) > size:
        raise ValueError(f"its members are larger than the file of {size} bytes")
    for member in members:
        most = member.compress_size
        if member.compress_type == zipfile.ZIP_DEFLATED:
            most *= _LARGEST_DEFLATE
        elif member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{member.filename!r:.80} is not compressed by deflate")
        if member.file_size > most:
            raise ValueError(f"{member.filename!r:.80} cannot have {member.file_size} bytes")
    check_total(sum(member.file_size for member in members), max_bytes)
    return archive


def write_npz(stream: BinaryIO, arrays: Mapping[str, Any]) -> None:
    """Write arrays under names, as ``numpy.savez`` does."""
    # float8_e5m2 calls itself a float of NumPy's, which knows none of one byte.
    np.savez(stream, **{n: a.view("V1") if a.dtype.str == "<f1" else a for n, a in arrays.items()})


def read_npz(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The arrays of an npz file.

    Raises:
        ValueError: the file is damaged, or an array holds Python objects.
    """
    return {
        member.filename.removesuffix(".npy"): _read_npy(archive, member)
        for member in archive.infolist()
    }


def _read_npy(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        read_header = _NPY_HEADERS.get(version)
        if read_header is None:
            raise ValueError(f"{member.filename!r:.80} is of the unknown version {version}")
        try:
            shape, by_columns, dtype = read_header(stream)
        except MemoryError:  # Python's word for an expression that is nested too deeply
            raise ValueError(f"the header of {member.filename!r:.80} is nested") from None
        if dtype.hasobject:
            raise ValueError(f"Object arrays such as {member.filename!r:.80} are not read")
        left = member.file_size - stream.tell()
        if min(shape, default=0) < 0 or left != math.prod(shape) * dtype.itemsize:
            raise ValueError(
                f"{member.filename!r:.80} of shape {shape} and dtype {dtype} cannot lie in "
                f"{left} bytes"
            )
        array = array_of(read_exactly(stream, left), dtype)
        return array.reshape(shape, order="F" if by_columns else "C")


_NPY_HEADERS: dict[Any, Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
