"""torch.serialization: see `nnkit.serialization`."""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import nnkit
from nnkit import serialization, torch_checkpoint
from nnkit.backend.device import located
from nnkit.backend.warning import warn
from nnkit.compat.archives import PyTorchFileReader, PyTorchFileWriter
from nnkit.serialization import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL
from nnkit.torch_options import restored
from nnkit.torch_rebuild import _layout as _get_layout

__all__ = ["_get_layout"]

MAP_LOCATION = Any


def save(obj: Any, f: Any, *arguments: Any, **options: Any) -> None:
    """`nnkit.save` in torch's format, also for plain states: torch may have to read the files."""
    serialization.save(obj, f, *arguments, **options, format="torch")


def default_restore_location(storage: Any, location: str) -> Any:
    """A storage on the device of this name, as `nnkit.load` places those of a file.

    Raises:
        RuntimeError: there is no such device.
    """
    found = restored(storage, location)
    if found is not None:
        return found
    place = located(location)
    return storage if storage.device == place else storage.to(device=place)


def normalize_storage_type(storage_type: type) -> type:
    """The class of storages in ``torch`` with the name of another class."""
    return getattr(nnkit, storage_type.__name__)


@contextmanager
def _open_file_like(name_or_buffer: Any, mode: str) -> Iterator[Any]:
    """A file opened by its path, or one that is open already."""
    if isinstance(name_or_buffer, (str, os.PathLike)):
        with open(name_or_buffer, mode) as file:
            yield file
    else:
        yield name_or_buffer
        if "w" in mode:
            name_or_buffer.flush()


@contextmanager
def _open_zipfile_reader(name_or_buffer: Any) -> Iterator[PyTorchFileReader]:
    """The records of an archive."""
    yield PyTorchFileReader(name_or_buffer)


@contextmanager
def _open_zipfile_writer(name_or_buffer: Any) -> Iterator[PyTorchFileWriter]:
    """An archive to which records are added, whole at the end of the block."""
    writer = PyTorchFileWriter(name_or_buffer)
    yield writer
    writer.write_end_of_file()
    if hasattr(name_or_buffer, "flush"):
        name_or_buffer.flush()


def _is_zipfile(f: Any) -> bool:
    """Whether a zip archive, such as a file of `torch.save`, begins at the file's position."""
    place = f.tell()
    begins = f.read(4) == b"PK\x03\x04"
    f.seek(place)
    return begins


class SourceChangeWarning(Warning):
    """The warning that the code of a module has changed since the module was saved."""


def check_module_version_greater_or_equal(
    module: Any, req_version_tuple: tuple, error_if_malformed: bool = True
) -> bool:
    """Whether the version of a module is at least that of a tuple of numbers.

    Raises:
        RuntimeError: the two cannot be compared; a warning and True without
            ``error_if_malformed``.
    """
    version = module.__version__.split(".")
    try:
        return tuple(type(n)(part) for n, part in zip(req_version_tuple, version, strict=True)) >= (
            req_version_tuple
        )
    except ValueError:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and "
            f"cannot be compared with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from None
        warn(f"{message}, but continuing assuming that requirement is met")
        return True


class LoadEndianness(enum.Enum):
    """The byte orders for files that do not name theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_order: list[LoadEndianness | None] = [None]


def get_default_load_endianness() -> LoadEndianness | None:
    """The byte order for files that do not name theirs, None if none was chosen."""
    return _order[0]


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Choose the byte order of files that do not name theirs.

    Raises:
        TypeError: it is no `LoadEndianness`.
    """
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            "set_default_load_endianness(): endianness must be a LoadEndianness or None, got "
            f"{type(endianness).__name__}"
        )
    _order[0] = endianness
    orders = {None: "little", LoadEndianness.LITTLE: "little", LoadEndianness.BIG: "big"}
    torch_checkpoint.DEFAULT_BYTE_ORDER = orders.get(endianness, sys.byteorder).encode()
