"""torch._dynamo: `nnkit.compiler`, which records calls and needs no marks in functions."""

from __future__ import annotations

from typing import Any

from nnkit.compat.names._dynamo import config as config
from nnkit.compat.passing import nothing, unchanged
from nnkit.compiler import OptimizedModule as OptimizedModule
from nnkit.compiler import allow_in_graph as allow_in_graph
from nnkit.compiler import disable as disable
from nnkit.compiler import is_compiling as is_compiling
from nnkit.compiler import reset as reset

disallow_in_graph = nonstrict_trace = substitute_in_graph = unchanged
assume_constant_result = unchanged
forbid_in_graph = graph_break = mark_dynamic = mark_static = nothing
maybe_mark_dynamic = mark_static_address = graph_break


def list_backends(*args: Any, **kwargs: Any) -> list[str]:
    """The list of the only backend, nnkit's own compiler."""
    return ["inductor"]


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that leaves functions as they are."""
    return unchanged
