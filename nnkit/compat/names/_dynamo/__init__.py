"""torch._dynamo: nothing is captured, so nothing has to be kept out of a capture."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from nnkit.compat.passing import false, nothing, unchanged


class _Config(SimpleNamespace):
    """Settings that a program may set; nobody reads them."""

    def patch(self, *args: Any, **kwargs: Any) -> Any:
        return unchanged


config = _Config()
disable = allow_in_graph = disallow_in_graph = nonstrict_trace = substitute_in_graph = unchanged
forbid_in_graph = graph_break = reset = mark_dynamic = mark_static = nothing
maybe_mark_dynamic = mark_static_address = graph_break
is_compiling = false


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that leaves functions as they are."""
    return unchanged


class OptimizedModule:
    """A compiled module, of which there are none."""
