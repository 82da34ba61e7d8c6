"""The CPU as a device like any other, as ``torch.cpu``, and the memory it keeps."""

from __future__ import annotations

from typing import Any

from nnkit.backend.cpu import native

__all__ = ["device_count", "empty_cache", "is_available", "synchronize"]


def is_available() -> bool:
    """Whether tensors can live on the CPU: always.

    Example:
        >>> import nnkit
        >>> nnkit.cpu.is_available()
        True
    """
    return True


def device_count() -> int:
    """The number of CPU devices: one, however many cores it has.

    Example:
        >>> import nnkit
        >>> nnkit.cpu.device_count()
        1
    """
    return 1


def synchronize(device: Any = None) -> None:
    """Wait until the CPU has done all work given to it: it has, whenever a call returns.

    Example:
        >>> import nnkit
        >>> nnkit.cpu.synchronize()
    """


def empty_cache() -> None:
    """Give the memory that is kept for reuse back to the system.

    Memory of large tensors that are freed is kept for the next ones, up to ``NNKIT_CACHE_MB``
    megabytes (an environment variable, 256 unless set; 0 keeps none).

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(1000, 1000).exp()
        >>> del x
        >>> nnkit.cpu.empty_cache()
    """
    if native.MODULE is not None:
        native.MODULE.empty_cache()
