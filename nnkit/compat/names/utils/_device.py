"""torch.utils._device: blocks and functions whose tensors are made on a device."""

from __future__ import annotations

from typing import Any

from nnkit import device as DeviceContext
from nnkit.autograd.grad_mode import Context

__all__ = ["DeviceContext"]


class set_device(Context):
    """A decorator of functions whose tensors are made on a device, unless a call names another."""

    def __init__(self, device: Any) -> None:
        self.device = DeviceContext(device)

    def _clone(self) -> set_device:
        return self

    def __enter__(self) -> None:
        self.device.__enter__()

    def __exit__(self, *exception: Any) -> None:
        self.device.__exit__(*exception)
