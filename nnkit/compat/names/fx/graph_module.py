"""torch.fx.graph_module: what libraries copy their own traced modules with."""

from __future__ import annotations

from typing import Any

from nnkit.nn import Module

_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"


class _CodeOnlyModule(Module):
    """A module with the attributes of another, which keeps its code alone."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body
