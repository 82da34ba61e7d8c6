"""How files of ``torch.save`` are written and read: the settings of `nnkit.serialization`."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Callable
from typing import Any

from nnkit.autograd.surface.storage import UntypedStorage

__all__ = [
    "get_crc32_options",
    "get_default_mmap_options",
    "location_tag",
    "register_package",
    "set_crc32_options",
    "set_default_mmap_options",
    "skip_data",
]

Tag = Callable[[UntypedStorage], "str | None"]
Restore = Callable[[UntypedStorage, str], Any]
_OWN = 10  # the priority of nnkit's own devices, as torch has it for the CPU
_packages: list[tuple[int, Tag, Restore]] = []
_checksums = True
_flags = getattr(mmap, "MAP_PRIVATE", 2)  # which there is not on Windows


class _Thread(threading.local):
    skips_data = False


THREAD = _Thread()


class skip_data:
    """A block in which `save` leaves the place of the tensors' bytes empty, and `load` does not
    read them: all are 0.

    Args:
        materialize_fake_tensors: changes nothing, since there are no fake tensors.

    Example:
        >>> import io
        >>> import nnkit
        >>> file = io.BytesIO()
        >>> with nnkit.serialization.skip_data():
        ...     nnkit.save([nnkit.ones(2)], file, format="torch")
        >>> nnkit.load(io.BytesIO(file.getvalue()))
        [tensor([0., 0.])]
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self) -> None:
        self._before = THREAD.skips_data
        THREAD.skips_data = True

    def __exit__(self, *exception: Any) -> None:
        THREAD.skips_data = self._before


class set_default_mmap_options:
    """Choose how ``load(mmap=True)`` maps files, from now on or in a block.

    Args:
        flags: ``mmap.MAP_PRIVATE``, where what is written into tensors stays out of the file, or
            ``mmap.MAP_SHARED``, where it goes there.

    Raises:
        ValueError: they are others.

    Example:
        >>> import mmap
        >>> import nnkit
        >>> with nnkit.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        ...     nnkit.serialization.get_default_mmap_options() == mmap.MAP_SHARED
        True
    """

    def __init__(self, flags: int) -> None:
        global _flags
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "set_default_mmap_options(): flags must be mmap.MAP_PRIVATE or mmap.MAP_SHARED, "
                f"got {flags}"
            )
        self._before, _flags = _flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        global _flags
        _flags = self._before


def get_default_mmap_options() -> int:
    """How files are mapped: see `set_default_mmap_options`."""
    return _flags


def are_shared() -> bool:
    """Whether what is written into mapped tensors goes into the file."""
    return _flags == getattr(mmap, "MAP_SHARED", None)


def set_crc32_options(compute_crc32: bool) -> None:
    """Say whether `load` holds files against their checksums. Those of `save` always have them,
    for whatever else unzips them; in torch's there may be none."""
    global _checksums
    _checksums = bool(compute_crc32)


def get_crc32_options() -> bool:
    """What `set_crc32_options` was told, at first True."""
    return _checksums


def register_package(priority: int, tagger: Tag, deserializer: Restore) -> None:
    """Let a package name the places of storages in files, and bring them back there.

    Args:
        priority: the lowest is asked first; that of nnkit's own devices is 10.
        tagger: gives the name of a storage's place, or None.
        deserializer: gives a storage of a file, and the name of its place, back where it was, or
            None.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The name of a storage's place as files have it, such as ``cpu``."""
    named = (tag(storage) for priority, tag, _ in _packages if priority < _OWN)
    return next((name for name in named if name is not None), str(storage.device))


def restored(storage: UntypedStorage, location: str) -> Any:
    """A storage where a package wants it; None if none does."""
    found = (back(storage, location) for priority, _, back in _packages if priority < _OWN)
    return next((each for each in found if each is not None), None)
