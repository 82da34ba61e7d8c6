"""`replacing`: replaces a file in one step, by a new one that was written beside it."""

from __future__ import annotations

import contextlib
import glob
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = ["replacing"]


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose content becomes the file ``path`` when the block ends without an error.

    Whatever happens, also to the process or the power, ``path`` is the old file or the new one.
    Symbolic links are followed; the file keeps its mode, and its owner where that is allowed. A
    device or a pipe has no content to keep, and is written directly. Files that killed saves have
    left are removed by the next save to the same path (not on Windows).

    Raises:
        OSError: the old file may not be written, or the new one cannot be.
    """
    target = os.path.realpath(path)
    try:
        # Opened for writing first, so that a protected file is not replaced.
        existing = os.open(target, os.O_WRONLY)
    except FileNotFoundError:
        old = None
    else:
        with os.fdopen(existing, "wb") as stream:
            old = os.fstat(existing)
            if not stat.S_ISREG(old.st_mode):
                yield stream
                return
    _remove_abandoned(target)
    temporary, descriptor = _create(target, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if old is not None and fcntl is not None:
                with contextlib.suppress(PermissionError):
                    os.chown(descriptor, old.st_uid, old.st_gid)
                os.chmod(descriptor, stat.S_IMODE(old.st_mode))
            yield stream
            stream.flush()
            os.fsync(descriptor)
            if fcntl is not None:
                os.replace(temporary, target)  # before it is unlocked
        if fcntl is None:
            os.replace(temporary, target)  # Windows renames no open file
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        raise
    if fcntl is not None:
        _sync_folder(os.path.dirname(target))


def _create(target: str, mode: int) -> tuple[str, int]:
    """A new file beside the target, locked until it is closed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        name = f"{target}.{os.urandom(6).hex()}.tmp"
        descriptor = os.open(name, flags, mode)
        if fcntl is None:
            return name, descriptor
        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return name, descriptor
        os.close(descriptor)  # another process took it for abandoned before it was locked


def _remove_abandoned(target: str) -> None:
    """Remove the unlocked temporary files beside the target, which killed saves have left."""
    if fcntl is None:
        return
    for name in glob.glob(glob.escape(target) + "." + "[0-9a-f]" * 12 + ".tmp"):
        with contextlib.suppress(OSError):
            descriptor = os.open(name, os.O_WRONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.remove(name)
            finally:
                os.close(descriptor)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
