"""torch.serialization: see `nnkit.serialization`."""

from __future__ import annotations

from typing import Any

from nnkit.compat.passing import Inert, nothing

DEFAULT_PROTOCOL = 2  # of pickles; nnkit writes none
MAP_LOCATION = Any


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Do nothing: what a file may hold is fixed, and classes of programs are not among it."""


def get_safe_globals() -> list[Any]:
    """The classes that programs have allowed: none."""
    return []


clear_safe_globals = nothing
safe_globals = Inert
