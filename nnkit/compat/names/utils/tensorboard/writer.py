"""torch.utils.tensorboard.writer: that of the package tensorboardX, which is imported on use."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("tensorboardX.writer"), name)
