"""The names of what operations call, and the order of operations."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from nnkit.autograd import Tensor
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Node, qualified_name
from nnkit.nn import Module

__all__ = [
    "CALLABLE_NODE_OPS", "get_node_target", "is_node_output_tensor", "legalize_graph",
    "stable_topological_sort",
]  # fmt: skip

CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


def get_node_target(submodules: Mapping[str, Module], node: Node) -> str:
    """The name of what an operation calls: of a module the path of its class.

    Raises:
        AssertionError: it calls nothing.

    Source: ``torch.fx.passes.tools_common.get_node_target``.

    Example:
        >>> import nnkit
        >>> program = nnkit.fx.symbolic_trace(lambda x: nnkit.relu(x))
        >>> get_node_target({}, program.graph.find_nodes(op="call_function")[0])
        'nnkit.relu'
    """
    if node.op not in CALLABLE_NODE_OPS:
        raise AssertionError(
            f"get_node_target: expected an operation of {sorted(CALLABLE_NODE_OPS)}, got {node.op}"
        )
    if node.op == "call_module":
        kind = type(submodules[str(node.target)])
        return f"{kind.__module__}.{kind.__name__}"
    return node.target if isinstance(node.target, str) else qualified_name(node.target)


def in_order(nodes: Sequence[Node]) -> list[Node]:
    """The operations, each after those of them that it uses, else as they were.

    Those of a cycle are left out.
    """
    place = {node: index for index, node in enumerate(nodes)}
    missing = {node: sum(used in place for used in node.all_input_nodes) for node in nodes}
    ready = [place[node] for node in nodes if not missing[node]]
    ordered: list[Node] = []
    while ready:
        node = nodes[heapq.heappop(ready)]
        ordered.append(node)
        for user in node.users:
            if user in place:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, place[user])
    return ordered


def is_node_output_tensor(node: Node) -> bool:
    """Whether the result of an operation is a tensor, as `ShapeProp` has noted.

    Source: ``torch.fx.passes.tools_common.is_node_output_tensor``.
    """
    kind = node.meta.get("type")
    return isinstance(kind, type) and issubclass(kind, Tensor)


def legalize_graph(gm: GraphModule) -> GraphModule:
    """The module, whose operations are put into an order in which each comes after its inputs.

    Raises:
        RuntimeError: there is none, as two operations need each other.

    Source: ``torch.fx.passes.tools_common.legalize_graph``.
    """
    return stable_topological_sort(gm)


def stable_topological_sort(gm: GraphModule) -> GraphModule:
    """`legalize_graph`: operations that are in order already keep their places.

    Source: ``torch.fx.passes.tools_common.stable_topological_sort``.

    Example:
        >>> import nnkit
        >>> program = nnkit.fx.symbolic_trace(lambda x: x.sin().cos())
        >>> x, sin, cos, out = program.graph.nodes
        >>> cos.append(sin)
        >>> [*stable_topological_sort(program).graph.nodes]
        [x, sin, cos, output]
    """
    nodes = [*gm.graph.nodes]
    ordered = in_order(nodes)
    if len(ordered) < len(nodes):
        raise RuntimeError("legalize_graph: the graph has a cycle")
    for node in ordered:
        gm.graph._root.prepend(node)
    return gm
