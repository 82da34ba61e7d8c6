"""torch.fx.graph_module: names that modules of traced programs are made with."""

from __future__ import annotations

from typing import Any

from nnkit.nn import Module

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _CodeOnlyModule(Module):
    """A module with the attributes of another, which keeps its code alone."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Give a module what another has under a dotted name."""
    *path, name = target.split(".")
    for part in path:
        inner = getattr(to_module, part, None)
        from_module = getattr(from_module, part)
        if inner is None:
            inner = Module()
            setattr(to_module, part, inner)
        to_module = inner
    setattr(to_module, name, getattr(from_module, name))
