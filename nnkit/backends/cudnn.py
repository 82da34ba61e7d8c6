"""cuDNN's switches, as ``torch.backends.cudnn``; they are read by the CUDA backend alone.

Convolution and attention go to cuDNN where ``enabled`` holds and nvidia-cudnn-frontend and cuDNN
are installed (``pip install 'nnkit[cudnn]' nvidia-cudnn-cu12``). ``benchmark`` times cuDNN's plans,
at most ``benchmark_limit`` of them (0: all), for each new layout and takes the fastest;
``deterministic`` leaves out those whose bits may differ from run to run; ``allow_tf32`` admits
factors of 10 bits in float32 convolutions, as in torch, and where cuDNN is not installed in nnkit's
own convolutions on tensor cores too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from nnkit.backend import switches
from nnkit.backend.switches import cudnn as _switches

enabled: bool
benchmark: bool
benchmark_limit: int
deterministic: bool
allow_tf32: bool


class _Module(ModuleType):
    """The module itself: its attributes with a switch's name are that switch."""

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(_switches, name)
        except AttributeError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if not hasattr(_switches, name):
            super().__setattr__(name, value)
            return
        if switches.frozen:
            raise RuntimeError(
                f"cudnn.{name}: not allowed to set {self.__name__} flags after "
                "disable_global_flags; please use flags() context manager instead"
            )
        _set(name, value)


def _set(name: str, value: Any) -> None:
    kind = type(getattr(_switches, name))
    if type(value) is not kind:
        raise RuntimeError(f"cudnn.{name}: expected {kind.__name__}, got {type(value).__name__}")
    setattr(_switches, name, value)


sys.modules[__name__].__class__ = _Module


def is_available() -> bool:
    """Whether convolution and attention can go to cuDNN: there is a GPU, and cuDNN is installed."""
    from nnkit.cuda.device import is_available as has_gpu

    return has_gpu() and version() is not None


def version() -> int | None:
    """The version of cuDNN, such as 92800; None where it is not installed."""
    from nnkit.backend.cuda.cudnn import frontend

    found = frontend()
    return None if found is None else found.backend_version()


def set_flags(
    _enabled: bool | None = None, _benchmark: bool | None = None,
    _benchmark_limit: int | None = None, _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
) -> tuple[bool, bool, int, bool, bool]:  # fmt: skip
    """Set the switches that are given, and return what all of them were."""
    given = {
        "enabled": _enabled, "benchmark": _benchmark, "benchmark_limit": _benchmark_limit,
        "deterministic": _deterministic, "allow_tf32": _allow_tf32,
    }  # fmt: skip
    before = tuple(getattr(_switches, name) for name in given)
    for name, value in given.items():
        if value is not None:
            _set(name, value)
    return before


@contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10,
    deterministic: bool = False, allow_tf32: bool = True,
) -> Iterator[None]:  # fmt: skip
    """Run a block with these switches.

    Example:
        >>> import nnkit
        >>> with nnkit.backends.cudnn.flags(enabled=False):
        ...     nnkit.backends.cudnn.enabled
        False
        >>> nnkit.backends.cudnn.enabled
        True
    """
    before = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*before)
