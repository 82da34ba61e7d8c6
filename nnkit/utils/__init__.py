"""Tools on top of the four floors: data, checkpoints, pictures of graphs, handles."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    # Imported when first used, as in `nnkit` itself.
    if name in ("checkpoint", "data", "deterministic", "dlpack", "graph", "hooks"):
        return import_module(f"nnkit.utils.{name}")
    raise AttributeError(f"module 'nnkit.utils' has no attribute {name!r}")
