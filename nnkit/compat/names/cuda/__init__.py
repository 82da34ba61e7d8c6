"""torch.cuda: older names of functions about memory, and initialization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit import cuda
from nnkit.backend.warning import warn
from nnkit.compat.passing import false, nothing

init = _lazy_init = ipc_collect = nothing  # a GPU is started by what is first done on it
_is_in_bad_fork = is_tf32_supported = false
_initialized = cuda.is_available()


has_half, has_magma = True, False


def _lazy_call(callable: Callable[[], Any], **options: Any) -> None:
    """Call a function if there are GPUs."""
    if cuda.is_available():
        callable()


def get_arch_list() -> list[str]:
    """An empty list: kernels are compiled for an architecture when they are needed."""
    return []


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
    warn(f"torch.cuda.{old} is now torch.cuda.{new}", FutureWarning)
    return getattr(cuda, new)(device)
