"""torch.utils._device: blocks and functions whose tensors are made on a device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit import device as DeviceContext

__all__ = ["DeviceContext"]


def set_device(device: Any) -> Callable[[Callable], Callable]:
    """A decorator of functions whose tensors are made on a device, unless they are told where."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with DeviceContext(device):
                return function(*args, **kwargs)

        return call

    return decorate
