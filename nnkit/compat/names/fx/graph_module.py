"""torch.fx.graph_module: helpers for copying traced modules."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from nnkit.fx.graph import _has as _has_attr
from nnkit.fx.graph_module import _put
from nnkit.nn import Module

__all__ = ["_CodeOnlyModule", "_assign_attr", "_del_attr", "_get_attr", "_has_attr"]

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _CodeOnlyModule(Module):
    """A module with the attributes of another, of which only the code is pickled."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Set the value at a path of a module."""
    _put(to_module, target, from_obj)


def _get_attr(model: Module, attr_name: str) -> Any:
    """The value at a path of a module."""
    return attrgetter(attr_name)(model)


def _del_attr(model: Module, attr_name: str) -> None:
    """Delete the value at a path of a module."""
    path, _, name = attr_name.rpartition(".")
    delattr(model.get_submodule(path), name)
