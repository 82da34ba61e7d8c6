"""torch.cuda: older names of the functions that tell of memory."""

from __future__ import annotations

import warnings
from typing import Any

from nnkit import cuda


def memory_cached(device: Any = None) -> int:
    """`memory_reserved`."""
    return _renamed("memory_cached", "memory_reserved", device)


def max_memory_cached(device: Any = None) -> int:
    """`max_memory_reserved`."""
    return _renamed("max_memory_cached", "max_memory_reserved", device)


def reset_max_memory_allocated(device: Any = None) -> None:
    """`reset_peak_memory_stats`."""
    _renamed("reset_max_memory_allocated", "reset_peak_memory_stats", device)


def reset_max_memory_cached(device: Any = None) -> None:
    """`reset_peak_memory_stats`."""
    _renamed("reset_max_memory_cached", "reset_peak_memory_stats", device)


def _renamed(old: str, new: str, device: Any) -> Any:
    warnings.warn(f"torch.cuda.{old} is now torch.cuda.{new}", FutureWarning, stacklevel=3)
    return getattr(cuda, new)(device)
