"""The settings for reading and writing files of ``torch.save``, public in `nnkit.serialization`."""

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
_flags = getattr(mmap, "MAP_PRIVATE", 2)  # Windows lacks it


class _Thread(threading.local):
    skips_data = False


THREAD = _Thread()


class skip_data:
    """A context manager in which `save` writes zeros for the tensors' bytes, and `load` does not
    read them.

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
    """Choose how ``load(mmap=True)`` maps files, from now on or within a ``with``.

    Args:
        flags: ``mmap.MAP_PRIVATE``, which keeps values written into tensors out of the file, or
            ``mmap.MAP_SHARED``, which writes them to it.

    Raises:
        ValueError: the flags are others.

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
    """The flags by which files are mapped; see `set_default_mmap_options`."""
    return _flags


def are_shared() -> bool:
    """Whether values written into mapped tensors go into the file."""
    return _flags == getattr(mmap, "MAP_SHARED", None)


def set_crc32_options(compute_crc32: bool) -> None:
    """Choose whether `load` verifies checksums. `save` always writes them, for other programs that
    unzip its files; torch's files may have none."""
    global _checksums
    _checksums = bool(compute_crc32)


def get_crc32_options() -> bool:
    """Whether `load` verifies checksums, by default True."""
    return _checksums


def register_package(priority: int, tagger: Tag, deserializer: Restore) -> None:
    """Register functions that name the devices of storages in files, and restore them there.

    Args:
        priority: the lowest is asked first; that of nnkit's own devices is 10.
        tagger: returns the name of a storage's device, or None.
        deserializer: returns a storage of a file, given with the name of its device, on that
            device, or None.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """The name of a storage's device in files, such as ``cpu``."""
    named = (tag(storage) for priority, tag, _ in _packages if priority < _OWN)
    return next((name for name in named if name is not None), str(storage.device))


def restored(storage: UntypedStorage, location: str) -> Any:
    """A storage on the device that a registered package restores it to; None if none does."""
    found = (back(storage, location) for priority, _, back in _packages if priority < _OWN)
    return next((each for each in found if each is not None), None)
