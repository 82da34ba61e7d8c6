"""The state of casting operations by themselves: off, for programs that ask or restore it."""

from __future__ import annotations

from typing import Any

from nnkit.backend.device import device
from nnkit.backend.dtype import bfloat16, dtype, float16

_TYPES = ("cpu", "cuda", "mps", "xpu")
_dtypes = {"cpu": bfloat16, "cuda": float16, "mps": float16, "xpu": float16}


def _checked(device_type: str) -> str:
    if device(device_type).type not in _TYPES:
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
    return device(device_type).type in _TYPES


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operations are cast by themselves on a kind of device: no.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import nnkit
        >>> nnkit.is_autocast_enabled("cpu")
        False
    """
    _checked(device_type)
    return False


def is_autocast_cpu_enabled() -> bool:
    """Whether operations are cast by themselves on the CPU: no."""
    return False


def set_autocast_enabled(device_type: Any, enabled: bool = False) -> None:
    """Switch casting off.

    Raises:
        NotImplementedError: it is to be switched on.
        RuntimeError: there is no such device.
    """
    if isinstance(device_type, str):
        _checked(device_type)
    if enabled or device_type is True:
        raise NotImplementedError("set_autocast_enabled(): casting by itself is not available")


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype that autocast is set to on a type of device.

    Raises:
        RuntimeError: there is no such device.

    Example:
        >>> import nnkit
        >>> nnkit.get_autocast_dtype("cpu")
        nnkit.bfloat16
    """
    return _dtypes[_checked(device_type)]


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Say what operations on a kind of device would be cast to."""
    _dtypes[_checked(device_type)] = dtype


def get_autocast_cpu_dtype() -> dtype:
    """The dtype that autocast is set to on the CPU."""
    return _dtypes["cpu"]


def get_autocast_gpu_dtype() -> dtype:
    """The dtype that autocast is set to on a GPU."""
    return _dtypes["cuda"]


_cache = [True]


def is_autocast_cache_enabled() -> bool:
    """The setting of `set_autocast_cache_enabled`; it is without effect."""
    return _cache[0]


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether weights that were cast are kept; it is without effect."""
    _cache[0] = bool(enabled)
