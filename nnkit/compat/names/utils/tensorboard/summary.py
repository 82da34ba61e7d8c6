"""torch.utils.tensorboard.summary: what writers write, of the package tensorboardX."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_NAMES = frozenset(
    "audio custom_scalars histogram histogram_raw hparams image image_boxes mesh pr_curve"
    " pr_curve_raw scalar text video".split()
)


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(import_module("tensorboardX.summary"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
