"""torch.accelerator: the GPU, independent of its kind; without a GPU there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import nnkit
from nnkit import cuda


def is_available() -> bool:
    """Whether there is a GPU."""
    return cuda.is_available()


def device_count() -> int:
    """The number of GPUs."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Any:
    """The device ``cuda`` where there is one, else None."""
    return nnkit.device("cuda") if is_available() else None


def _there() -> Any:
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return cuda


def current_device_index() -> int:
    """The index of the GPU in use."""
    return _there().current_device()


current_device_idx = current_device_index


def synchronize(device: Any = None) -> None:
    """Wait for the GPU."""
    _there().synchronize(device)


def set_device_index(device: Any) -> None:
    """Use another GPU."""
    _there().set_device(device)


set_device_idx = set_device_index


@contextmanager
def device_index(device: int | None) -> Iterator[None]:
    """A context manager that switches to another GPU; without effect for None."""
    if device is None:
        yield
        return
    before = current_device_index()
    set_device_index(device)
    try:
        yield
    finally:
        set_device_index(before)


def empty_cache() -> None:
    """Give unused memory of the GPU back."""
    _there().empty_cache()


def _of_cuda(name: str, own: str = "") -> Callable[..., Any]:
    """The function of that name of `nnkit.cuda`, for the GPU in use."""

    def call(*arguments: Any, **named: Any) -> Any:
        return getattr(_there(), own or name)(*arguments, **named)

    call.__name__ = name
    return call


memory_allocated, max_memory_allocated, memory_reserved, max_memory_reserved = map(
    _of_cuda, ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
)
reset_peak_memory_stats, current_stream = map(
    _of_cuda, ("reset_peak_memory_stats", "current_stream")
)
get_device_capability = _of_cuda("get_device_capability")
get_memory_info = _of_cuda("get_memory_info", "mem_get_info")
