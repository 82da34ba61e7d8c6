"""torch.accelerator: the GPU, by whatever name; without one there is none."""

from __future__ import annotations

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


def empty_cache() -> None:
    """Give unused memory of the GPU back."""
    if is_available():
        cuda.empty_cache()
