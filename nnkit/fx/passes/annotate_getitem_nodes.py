"""The types of parts of typed values: `annotate_getitem_nodes`."""

from __future__ import annotations

import operator
from typing import Any, get_args, get_origin

from nnkit.fx.graph import Graph

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """Give the parts ``x[0]`` of a value the types that the value's own type says of them.

    The value is a tuple, a list, or a named tuple.

    Source: ``torch.fx.passes.annotate_getitem_nodes.annotate_getitem_nodes``.

    Example:
        >>> import nnkit
        >>> program = nnkit.fx.symbolic_trace(lambda x: x[0])
        >>> program.graph.find_nodes(op="placeholder")[0].type = list[int]
        >>> annotate_getitem_nodes(program.graph)
        >>> program.graph.find_nodes(op="call_function")[0].type
        <class 'int'>
    """
    for node in graph.find_nodes(op="call_function", target=operator.getitem):
        whole, index = node.args
        kind: Any = getattr(whole, "type", None)
        origin, parts = get_origin(kind), get_args(kind)
        if origin is list and parts:
            node.type = parts[0]
        elif origin is tuple and isinstance(index, int):
            if len(parts) == 2 and parts[1] is ...:
                node.type = parts[0]
            elif -len(parts) <= index < len(parts):
                node.type = parts[index]
        elif hasattr(kind, "_fields") and isinstance(index, int):
            types = getattr(kind, "__annotations__", {})
            node.type = types.get(kind._fields[index])
