"""The files of ``torch.save``: zip archives, and the bare pickles of torch before 1.6.

In an archive ``data.pkl`` is a pickle of the object tree, ``data/0``, ``data/1``, ... are the
memory of the tensors. The older files are pickles one after the other, then the memory.
"""

from __future__ import annotations

import io
import pickle
import sys
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO

from nnkit import torch_options
from nnkit.autograd import Tensor
from nnkit.autograd.surface.storage import (
    Storage,
    StorageType,
    TypedStorage,
    UntypedStorage,
    storage_name,
)
from nnkit.autograd.tensor import wrap
from nnkit.backend import files
from nnkit.backend.dtype import dtype, uint8
from nnkit.torch_rebuild import checked_when_read

__all__ = ["is_legacy", "pickle_name", "read", "read_legacy", "write", "write_legacy"]

DEFAULT_BYTE_ORDER = b"little"  # of archives that do not name theirs
_LONGEST_BYTE_ORDER = 16
_ALIGNMENT = 64  # of the memory of tensors in a file, as torch has it
VERSION = b"3\n"
_PADDING = b"FB"  # the extra field of a zip member that torch fills up with
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_LEGACY_VERSION = 1001
_LEGACY_BEGIN = _LEGACY_MAGIC.to_bytes(10, "little") + b"."
_SYSTEM = {
    "protocol_version": _LEGACY_VERSION,
    "little_endian": True,
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}

Make = Callable[[Any, str], Tensor]  # from an array and the name of its device to the tensor
Load = Callable[[BinaryIO, Callable[[Any], Any]], Any]  # unpickles, given objects by persistent id
Dump = Callable[[Any, BinaryIO, Callable[[Any], Any]], None]  # pickles, given persistent ids


def pickle_name(archive: zipfile.ZipFile) -> str | None:
    """The name of the pickle in a zip archive of ``torch.save``; None if it is another one."""
    return next((n for n in archive.namelist() if n.endswith("data.pkl")), None)


def is_legacy(start: bytes) -> bool:
    """Whether a file that begins so is one of torch before 1.6."""
    return _LEGACY_BEGIN in start


def read(archive: zipfile.ZipFile, name: str, make: Make, load: Load, path: Any = None) -> Any:
    """The object tree of an archive; given its ``path``, its memory is mapped.

    Raises:
        UnpicklingError: it refers to a class or function that ``load`` refuses.
        ValueError: it is damaged, or a tensor exceeds its memory.
    """
    members = Members(archive, name.removesuffix("data.pkl"))
    order = DEFAULT_BYTE_ORDER
    if "byteorder" in members:
        order = bytes(members.read("byteorder", _LONGEST_BYTE_ORDER))
    if order not in (b"little", b"big"):
        raise ValueError(f"Unknown endianness type: the byte order of the file is {order!r}")

    def memory(key: Any, size: int, kind: dtype) -> Any:
        array = files.array_of(content(key, size, kind), kind.array)
        return array if order.decode() == sys.byteorder else files.reversed_bytes(array)

    def content(key: Any, size: int, kind: dtype) -> Any:
        length = members.size(f"data/{key:.80}")
        if length != size * kind.itemsize:
            raise ValueError(
                f"storage {key} has {length} bytes, {size} elements of {kind} are expected"
            )
        if torch_options.THREAD.skips_data:
            return bytearray(length)
        if path is not None:
            return members.mapped(f"data/{key}", path)
        return members.read(f"data/{key}", length)

    return load(io.BytesIO(members.read("data.pkl")), _Storages(memory, make))


def read_legacy(stream: BinaryIO, make: Make, load: Load) -> Any:
    """The object tree of a file in the format of torch before 1.6.

    Raises:
        UnpicklingError: it refers to a class or function that ``load`` refuses.
        ValueError: it is damaged, or a tensor exceeds its memory.
    """
    begin = stream.tell()
    content = io.BytesIO(stream.read())
    left = content.getbuffer().nbytes

    def memory(key: Any, size: int, kind: dtype) -> Any:
        nonlocal left
        left -= size * kind.itemsize
        if left < 0:
            raise ValueError("its tensors have more bytes than the file")
        return files.array_of(bytearray(size * kind.itemsize), kind.array)

    storages = _Storages(memory, make)
    if load(content, storages) != _LEGACY_MAGIC or load(content, storages) != _LEGACY_VERSION:
        raise ValueError("it does not begin as a file of torch.save")
    if not load(content, storages).get("little_endian", True):
        raise ValueError("the byte order of the file is big, not little")
    with checked_when_read():
        tree = load(content, storages)
        for key in load(content, storages):
            found = storages.known[_text(key)]._memory
            size = int.from_bytes(files.read_exactly(content, 8), "little")
            if size != found.shape[0]:
                raise ValueError(f"storage {key} has {size} elements, not {found.shape[0]}")
            read = files.read_exactly(content, size * found.dtype.itemsize)
            found.copy_(wrap(files.array_of(read, found.dtype.array)))
    stream.seek(begin + content.tell())  # other data may follow
    return tree


class _Storages:
    """The storages in a file, by persistent ids: tensors that share one get the same.

    Args:
        memory: the array of a storage, given its key, its size and the dtype of its elements.
        make: the tensor on an array.
    """

    def __init__(self, memory: Callable[[Any, int, dtype], Any], make: Make) -> None:
        self._memory = memory
        self._make = make
        self.known: dict[Any, Storage] = {}
        self._parts: dict[Any, Storage] = {}

    def __call__(self, pid: Any) -> Any:
        pid = [_text(part) for part in pid]
        if pid[0] == "module" and isinstance(pid[1], type):  # a class with its source, in old files
            return pid[1]
        kind, stored, key, location, size, *views = pid
        elements = stored.dtype if isinstance(stored, StorageType) else stored
        elements = uint8 if stored is UntypedStorage else elements
        if kind != "storage" or not isinstance(elements, dtype):
            raise pickle.UnpicklingError(f"the file refers to an unknown thing, {kind!r:.80}")
        if key not in self.known:
            if type(size) is not int or size < 0:
                raise ValueError(f"storage {key!r:.80} has {size!r:.80} elements")
            place = location if isinstance(location, str) else "cpu"
            made = self._make(self._memory(key, size, elements), place)
            self.known[key] = TypedStorage._of(made)
        found = self.known[key]
        if found._memory.dtype is not elements:
            raise ValueError(f"storage {key} is of {found._memory.dtype} and of {elements}")
        return self._part(key, found, *views[0]) if any(views) else found

    def _part(self, key: Any, whole: Storage, name: Any, offset: int, size: int) -> Storage:
        """A part of a storage, which files of torch before 0.4 may hold as a storage of its own."""
        memory = whole._memory
        if (
            any(type(n) is not int for n in (offset, size))
            or min(offset, size) < 0
            or offset + size > memory.shape[0]
        ):
            raise ValueError(f"a part of storage {key!r:.80} exceeds it")
        made = TypedStorage._of(memory[offset : offset + size], True)
        return self._parts.setdefault((key, name), made)


def _text(part: Any) -> Any:
    """A string, which is read as bytes if Python 2 has written it."""
    return part.decode("ascii") if isinstance(part, bytes) else part


class Members:
    """The members of a zip archive below a prefix; torch compresses none."""

    def __init__(self, archive: zipfile.ZipFile, prefix: str) -> None:
        self._archive = archive
        self._prefix = prefix

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._archive.NameToInfo

    def _find(self, name: str) -> zipfile.ZipInfo:
        if name not in self:
            raise ValueError(f"it has no member {name}")
        member = self._archive.getinfo(self._prefix + name)
        if member.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"its member {name} is compressed, which torch.save never does")
        return member

    def size(self, name: str) -> int:
        return self._find(name).file_size

    def read(self, name: str, most: int | None = None) -> bytearray:
        size = self.size(name)
        if most is not None and size > most:
            raise ValueError(f"its member {name} has {size} bytes, more than {most}")
        member: Any = self._find(name)
        if not member.CRC or not torch_options.get_crc32_options():
            member.CRC = None  # torch writes 0 for a checksum that it has not computed
        with self._archive.open(self._prefix + name) as stream:
            return files.read_exactly(stream, size)

    def mapped(self, name: str, path: Any) -> Any:
        return files.map_member(path, self._find(name), torch_options.are_shared())


# Writing


class _Written:
    """The persistent ids of the storages in an object tree, and the storages themselves."""

    def __init__(self, extra: tuple[Any, ...] = ()) -> None:
        self._extra = extra
        self.storages: dict[str, Storage] = {}
        self._keys: dict[Any, tuple[str, dtype]] = {}

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, Storage):
            return None
        import nnkit

        kind = value.dtype
        size = value.nbytes()
        # What has no bytes shares them with nothing.
        place = (str(value.device), value.data_ptr() if size else -1 - len(self._keys), size)
        key, before = self._keys.setdefault(place, (str(len(self.storages)), kind))
        if before is not kind:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different "
                f"types: {before} and {kind}"
            )
        self.storages.setdefault(key, value)
        untyped = isinstance(value, UntypedStorage)
        stored = UntypedStorage if untyped else getattr(nnkit, storage_name(kind))
        location = torch_options.location_tag(value)
        return ("storage", stored, key, location, value.size(), *self._extra)


def memory_of(storage: Storage) -> Any:
    elements = storage._elements.detach().cpu()
    return files.memory_of(elements._array)


def write(stream: BinaryIO, value: Any, dump: Dump, stem: str) -> None:
    """Write an object tree as an archive; ``stem`` begins the names of the members."""
    written = _Written()
    pickled = io.BytesIO()
    dump(value, pickled, written)
    with zipfile.ZipFile(stream, "w") as archive:
        add_member(archive, f"{stem}/data.pkl", pickled.getvalue())
        add_member(archive, f"{stem}/byteorder", b"little")
        for key, storage in written.storages.items():
            skips = torch_options.THREAD.skips_data
            content = bytes(storage.nbytes()) if skips else memory_of(storage)
            add_member(archive, f"{stem}/data/{key}", content)
        add_member(archive, f"{stem}/version", VERSION)


def add_member(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    """Write a member whose bytes begin at a multiple of the alignment."""
    member = zipfile.ZipInfo(name)
    stream: Any = archive.fp
    begin = stream.tell() + files.ZIP_HEADER + len(name.encode()) + 4
    gap = -begin % _ALIGNMENT
    member.extra = _PADDING + gap.to_bytes(2, "little") + b"Z" * gap
    archive.writestr(member, content)


def write_legacy(stream: BinaryIO, value: Any, dump: Dump) -> None:
    """Write an object tree as torch before 1.6 did.

    Raises:
        RuntimeError: it is called within `skip_data`, which such files have no place for.
    """
    if torch_options.THREAD.skips_data:
        raise RuntimeError("Cannot use skip_data=True with _use_new_zipfile_serialization=False")
    written = _Written(extra=(None,))
    for part in (_LEGACY_MAGIC, _LEGACY_VERSION, _SYSTEM, value):
        dump(part, stream, written)
    keys = sorted(written.storages)
    dump(keys, stream, written)
    for key in keys:
        storage = written.storages[key]
        stream.write(storage.size().to_bytes(8, "little"))
        stream.write(memory_of(storage))
