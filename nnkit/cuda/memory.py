"""The memory of GPUs: how much is in use, how much is kept for reuse, and giving it back."""

from __future__ import annotations

from typing import Any

from nnkit.cuda.device import index_of, is_available, runtime


def empty_cache() -> None:
    """Give the GPU memory that is kept for reuse back to the system; without a GPU nothing."""
    if is_available():
        runtime().empty_cache()


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors occupy on a GPU; 0 without one."""
    return runtime().memory_allocated(_index(device)) if is_available() else 0


def memory_reserved(device: Any = None) -> int:
    """Bytes that tensors occupy or that are kept for reuse; 0 without a GPU."""
    return runtime().memory_reserved(_index(device)) if is_available() else 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors occupied since the first one, or since
    `reset_peak_memory_stats`; 0 without a GPU."""
    return runtime().counts(_index(device)).most_allocated if is_available() else 0


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that were occupied or kept for reuse; 0 without a GPU."""
    if not is_available():
        return 0
    index = _index(device)
    return max(runtime().counts(index).most_reserved, runtime().memory_reserved(index))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count the most bytes anew from now on.

    Raises:
        AssertionError: there is no GPU.
    """
    runtime().reset_peaks(index_of(device, "reset_peak_memory_stats"))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a GPU.

    Raises:
        AssertionError: there is no GPU.
    """
    index = index_of(device, "mem_get_info")
    return runtime().require().cuda.Device(index).mem_info


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """A table of the memory in use, kept for reuse, and free.

    Raises:
        AssertionError: there is no GPU.
    """
    index = index_of(device, "memory_summary")
    free, total = mem_get_info(index)
    rows = [
        ("in use by tensors", memory_allocated(index)),
        ("the most so far", max_memory_allocated(index)),
        ("in use or kept for reuse", memory_reserved(index)),
        ("the most so far", max_memory_reserved(index)),
        ("free on the GPU", free),
        ("total", total),
    ]
    lines = [f"GPU {index}", *(f"  {label:26} {size / 2**20:12.1f} MiB" for label, size in rows)]
    return "\n".join(lines)


def _index(device: Any) -> int:
    return index_of(device, "memory")
