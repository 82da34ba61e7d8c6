"""Memory that processes share: files without a name, which travel as descriptors."""

from __future__ import annotations

import mmap
import os
import sys
import weakref

import numpy as np

from nnkit.backend.memory import owner

_OPTIONS: dict = {"trackfd": False} if sys.version_info >= (3, 13) else {}  # it is kept here


class SharedMemory(mmap.mmap):
    """A file without a name, mapped; the kernel frees it when the last process has let go.

    Args:
        descriptor: of the file, which is closed with the memory.
        size: its bytes.
    """

    descriptor: int

    def __new__(cls, descriptor: int, size: int) -> SharedMemory:
        self = super().__new__(cls, descriptor, size, **_OPTIONS)
        self.descriptor = descriptor
        return self

    def __del__(self) -> None:
        os.close(self.descriptor)


# By the file: what is received a second time, or comes back, is the memory that is here already.
_known: weakref.WeakValueDictionary[tuple[int, int], np.ndarray] = weakref.WeakValueDictionary()


def allocate(size: int) -> np.ndarray:
    """So many new bytes in shared memory."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("nnkit")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, max(size, 1))  # nothing cannot be mapped
    return received(descriptor, size)


def received(descriptor: int, size: int) -> np.ndarray:
    """The bytes of a file of shared memory, whose descriptor is taken over."""
    status = os.fstat(descriptor)
    key = status.st_dev, status.st_ino
    found = _known.get(key)
    if found is None:
        memory = SharedMemory(descriptor, max(size, 1))
        found = _known[key] = np.ndarray((size,), np.uint8, memory)
    elif descriptor != found.base.descriptor:  # type: ignore[union-attr]
        os.close(descriptor)
    return found


def descriptor_of(array: np.ndarray) -> int:
    """The descriptor of the file that an array in shared memory lies in."""
    memory = owner(array).base
    assert isinstance(memory, SharedMemory)
    return memory.descriptor
