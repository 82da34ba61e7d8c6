"""torch.utils.tensorboard: writers of the files that TensorBoard shows.

The package tensorboard makes the files. Without it, the writers are those of tensorboardX.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("tensorboard") is None:
        return getattr(import_module("tensorboardX"), name)
    if name == "RecordWriter":
        return import_module("tensorboard.summary.writer.record_writer").RecordWriter
    return getattr(import_module(f"{__name__}.writer"), name)
