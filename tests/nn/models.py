"""Small models that several tests share."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def layer(lib: ModuleType) -> Any:
    """A module with one parameter "p", one buffer "b" and one child "m"."""
    module = lib.nn.Module()
    module.p = lib.nn.Parameter(lib.ones(2))
    module.register_buffer("b", lib.zeros(1))
    module.m = lib.nn.Identity()
    return module


def tree(lib: ModuleType) -> Any:
    """0: Linear, 1: (0: Linear, 1: the first one again), 2: None."""
    first = lib.nn.Linear(2, 2)
    return lib.nn.Sequential(first, lib.nn.Sequential(lib.nn.Linear(2, 2), first), None)
