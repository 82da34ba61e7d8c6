"""torch.serialization: see `nnkit.serialization`."""

from __future__ import annotations

import enum
import sys
from typing import Any

import nnkit
from nnkit import serialization, torch_checkpoint
from nnkit.serialization import DEFAULT_PROTOCOL as DEFAULT_PROTOCOL
from nnkit.torch_rebuild import _layout as _get_layout

__all__ = ["_get_layout"]

MAP_LOCATION = Any


def save(obj: Any, f: Any, *arguments: Any, **options: Any) -> None:
    """`nnkit.save` in torch's format, also of plain states: programs give their files to others."""
    serialization.save(obj, f, *arguments, **options, format="torch")


def normalize_storage_type(storage_type: type) -> type:
    """The class of storages that ``torch`` has by the name of another."""
    return getattr(nnkit, storage_type.__name__)


def _is_zipfile(f: Any) -> bool:
    """Whether what is read next begins as an archive of zip does, as a file of `torch.save`."""
    place = f.tell()
    begins = f.read(4) == b"PK\x03\x04"
    f.seek(place)
    return begins


class LoadEndianness(enum.Enum):
    """The order of the bytes in a file that does not say it."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_order: list[LoadEndianness | None] = [None]


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes that was chosen, None if none was."""
    return _order[0]


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Choose the order of bytes of files that do not tell theirs.

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
    torch_checkpoint.ORDER_UNLESS_SAID = orders.get(endianness, sys.byteorder).encode()
