"""The state of casting operations by themselves, each thread its own."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.casting import CASTING, DEVICES, enable
from nnkit.backend.device import device
from nnkit.backend.dtype import dtype


def checked(device_type: str) -> str:
    """A type of device that operations can be cast on.

    Raises:
        RuntimeError: it is none.
    """
    if device(device_type).type not in DEVICES:
        raise RuntimeError(f"unknown device type for autocast: {device_type}")
    return device_type


def is_autocast_available(device_type: str) -> bool:
    """Whether a kind of device has a dtype that operations could be cast to.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import nnkit
        >>> nnkit.amp.is_autocast_available("cpu")
        True
    """
    return device(device_type).type in DEVICES


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations are cast by themselves on a kind of device.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import nnkit
        >>> with nnkit.autocast("cpu"):
        ...     nnkit.is_autocast_enabled("cpu"), nnkit.is_autocast_enabled("cuda")
        (True, False)
    """
    return checked(device_type) in CASTING.enabled


def is_autocast_cpu_enabled() -> bool:
    """Whether operations are cast by themselves on the CPU."""
    return is_autocast_enabled("cpu")


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch casting on or off; ``set_autocast_enabled(enabled)`` does so on a GPU.

    Raises:
        RuntimeError: there is no such device.
    """
    kind, wanted = ("cuda", device_type) if enabled is None else (device_type, enabled)
    enable(checked(kind), bool(wanted))


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype that autocast is set to on a type of device.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import nnkit
        >>> nnkit.get_autocast_dtype("cpu")
        nnkit.bfloat16
    """
    return CASTING.dtypes[checked(device_type)]


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Say what operations on a kind of device are cast to."""
    CASTING.dtypes = CASTING.dtypes | {checked(device_type): dtype}


def get_autocast_cpu_dtype() -> dtype:
    """The dtype that autocast is set to on the CPU."""
    return CASTING.dtypes["cpu"]


def get_autocast_gpu_dtype() -> dtype:
    """The dtype that autocast is set to on a GPU."""
    return CASTING.dtypes["cuda"]


def is_autocast_cache_enabled() -> bool:
    """Whether casts of weights are kept until the outermost block of `nnkit.autocast` ends."""
    return CASTING.keeps


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether casts of weights are kept until the outermost block of `nnkit.autocast` ends."""
    CASTING.keeps = bool(enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of weights that are kept."""
    CASTING.kept.clear()


def autocast_increment_nesting() -> int:
    """Count one more block of `nnkit.autocast`; returns how many there are."""
    CASTING.nesting += 1
    return CASTING.nesting


def autocast_decrement_nesting() -> int:
    """Count one block of `nnkit.autocast` less; returns how many there are."""
    CASTING.nesting -= 1
    return CASTING.nesting
