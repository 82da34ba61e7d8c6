"""Tools on top of the four floors: data, checkpoints, pictures of graphs, handles."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from nnkit.autograd.surface.swapping import swap_tensors as swap_tensors

_MODULES = frozenset(
    "benchmark checkpoint collect_env data deterministic dlpack graph hooks module_tracker".split()
)


def __getattr__(name: str) -> Any:
    # Imported when first used, as in `nnkit` itself.
    if name in _MODULES:
        return import_module(f"nnkit.utils.{name}")
    raise AttributeError(f"module 'nnkit.utils' has no attribute {name!r}")
