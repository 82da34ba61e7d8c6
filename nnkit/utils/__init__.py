"""What stands on top of the four floors: data loading, graph pictures, handles of hooks."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    # Imported when first used, as in `nnkit` itself.
    if name in ("data", "graph", "hooks"):
        return import_module(f"nnkit.utils.{name}")
    raise AttributeError(f"module 'nnkit.utils' has no attribute {name!r}")
