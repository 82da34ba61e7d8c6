"""Archives of ``torch.save``, record by record: ``torch.PyTorchFileReader`` and its writer."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import nnkit
from nnkit import Tensor
from nnkit.autograd.surface.storage import Storage, UntypedStorage
from nnkit.backend.files import ZIP_HEADER
from nnkit.torch_checkpoint import VERSION, Members, add_member, memory_of

File = str | Path | BinaryIO


class PyTorchFileReader:
    """The records of a file of ``torch.save``, each read when it is requested.

    Args:
        file: a path, or a binary file.

    Raises:
        RuntimeError: it cannot be opened, or is no zip archive; later, it has no such record.

    Example:
        >>> import nnkit, io
        >>> stream = io.BytesIO()
        >>> nnkit.save(nnkit.ones(3), stream, format="torch")
        >>> record = PyTorchFileReader(stream).get_storage_from_record("data/0", 3, nnkit.float32)
        >>> record.untyped_storage().nbytes()
        12
    """

    def __init__(self, file: File) -> None:
        try:
            self._archive = zipfile.ZipFile(file)
        except OSError as error:
            raise RuntimeError(f"PyTorchFileReader: {file} cannot be opened: {error}") from None
        except zipfile.BadZipFile as error:
            raise RuntimeError(f"PyTorchFileReader: {file} is no zip archive: {error}") from None
        names = self._archive.namelist()
        self._prefix = names[0].partition("/")[0] + "/" if names else ""
        self._members = Members(self._archive, self._prefix)

    def get_all_records(self) -> list[str]:
        """The names of all records, without the archive's name before them."""
        return [name.removeprefix(self._prefix) for name in self._archive.namelist()]

    def has_record(self, name: str) -> bool:
        """Whether there is a record of this name."""
        return name in self._members

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        self._find(name)
        return bytes(self._members.read(name))

    def get_record_size(self, name: str) -> int:
        """The number of its bytes."""
        return self._find(name).file_size

    def get_record_header_offset(self, name: str) -> int:
        """Where the header of a record begins in the file."""
        return self._find(name).header_offset

    def get_record_offset(self, name: str) -> int:
        """Where the bytes of a record begin in the file."""
        begin = self._find(name).header_offset
        stream: Any = self._archive.fp
        stream.seek(begin)
        header = stream.read(ZIP_HEADER)
        lengths = (header[26:28], header[28:30])  # of the name and of what is added to it
        return begin + ZIP_HEADER + sum(int.from_bytes(each, "little") for each in lengths)

    def get_storage_from_record(self, name: str, numel: int, dtype: Any) -> Tensor:
        """A tensor without elements, as in torch, on the memory that a record holds.

        Args:
            numel: how many elements there are, of an ``UntypedStorage`` bytes.
            dtype: their type, or the class ``UntypedStorage``.

        Raises:
            RuntimeError: the record has another size.
        """
        dtype = nnkit.uint8 if dtype is UntypedStorage else dtype
        size, wanted = self.get_record_size(name), numel * dtype.itemsize
        if size != wanted:
            raise RuntimeError(
                f"record size ({size} bytes) does not match expected size ({wanted} bytes = "
                f"{numel} elements * {dtype.itemsize} bytes/element) for dtype {dtype}"
            )
        if not size:
            return nnkit.empty(0, dtype=dtype)
        return nnkit.frombuffer(self._members.read(name), dtype=dtype)[:0]

    def serialization_id(self) -> str:
        """The identifier that the writer has given this file, empty if there is none."""
        name = ".data/serialization_id"
        return self.get_record(name).decode() if self.has_record(name) else ""

    def _find(self, name: str) -> zipfile.ZipInfo:
        if name not in self._members:
            raise RuntimeError(f"PyTorchFileReader: there is no record {name}")
        return self._archive.getinfo(self._prefix + name)


class PyTorchFileWriter:
    """An archive as ``torch.save`` writes it, to which records are added.

    Args:
        file: a path, or a binary file.

    Example:
        >>> import io
        >>> stream = io.BytesIO()
        >>> writer = PyTorchFileWriter(stream)
        >>> writer.write_record("note", b"text", 4)
        >>> writer.write_end_of_file()
        >>> PyTorchFileReader(stream).get_record("note")
        b'text'
    """

    def __init__(self, file: File, compute_crc32: bool = True, storage_alignment: int = 64) -> None:
        self._archive = zipfile.ZipFile(file, "w")
        self._stem = Path(file).stem if isinstance(file, (str, Path)) else "archive"
        self._records: list[str] = []

    def archive_name(self) -> str:
        """The name before those of all records."""
        return self._stem

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Add a record: the first ``size`` bytes of a string, of bytes or of a storage."""
        content = memory_of(data) if isinstance(data, Storage) else data
        content = content.encode() if isinstance(content, str) else content
        add_member(self._archive, f"{self._stem}/{name}", memoryview(content)[:size])
        self._records.append(name)

    def get_all_written_records(self) -> set[str]:
        """The names of the records written so far."""
        return set(self._records)

    def set_min_version(self, version: int) -> None:
        """Do nothing: there is only one version of the format."""

    def write_end_of_file(self) -> None:
        """Write the records at the end of every archive, and close it."""
        for name, content in (("byteorder", b"little"), ("version", VERSION)):
            if name not in self._records:
                self.write_record(name, content, len(content))
        self._archive.close()
