"""Parts of a graph that are replaced wherever they occur: `replace_pattern`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from nnkit.fx.graph import Graph
from nnkit.fx.graph_module import GraphModule, _put
from nnkit.fx.node import Node, found_at
from nnkit.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher
from nnkit.fx.tracer import symbolic_trace
from nnkit.nn.modules.module import Module

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A place where a pattern occurs: the pattern's last node, and the node for each of its own."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A `Match`, and the nodes that stand there now."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(gm: GraphModule, pattern: Any, replacement: Any) -> list[Match]:
    """Replace a pattern by another graph wherever it occurs, and compile ``gm`` again.

    Args:
        gm: is changed.
        pattern: a function or GraphModule. Its inputs stand for any values; whatever else it does,
            but for its results, must be used within it alone. Places do not overlap: the earlier
            one wins.
        replacement: a function or GraphModule of as many inputs and results.

    Example:
        >>> import nnkit
        >>> from nnkit import fx
        >>> traced = fx.symbolic_trace(lambda x: nnkit.relu(x + 1) * 2)
        >>> matches = fx.replace_pattern(traced, lambda x: nnkit.relu(x), lambda x: x.exp())
        >>> len(matches), traced(nnkit.zeros(1))
        (1, tensor([5.4366]))
    """
    found = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(each.anchor, each.nodes_map) for each in found]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Any,
    replacement: Any = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
) -> list[ReplacedPatterns]:
    """`replace_pattern` where every filter wants it.

    Args:
        match_filters: called with a match, the graph of ``gm`` and that of the pattern.
        ignore_literals: whether constants in the pattern stand for any constants.
        replacement_callback: gives the graph for a match in place of ``replacement``.
    """
    graph, wanted = gm.graph, _graph_of(pattern)
    matches = SubgraphMatcher(wanted, ignore_literals=ignore_literals).match(graph)
    for accepted in match_filters or ():
        matches = [match for match in matches if accepted(match, graph, wanted)]
    if replacement is None and replacement_callback is None:
        raise AssertionError("replace_pattern: give replacement or replacement_callback")
    common = None if replacement_callback else _graph_of(replacement)
    replaced: dict[Node, Node] = {}  # results of earlier matches, by those that stand there now
    found = []
    for match in matches:
        new = common or replacement_callback(match, graph, wanted)  # type: ignore[misc]
        known = {id(node) for node in graph.nodes}
        _replace(graph, wanted, new, match, replaced)
        added = [node for node in graph.nodes if id(node) not in known]
        found.append(ReplacedPatterns(match.anchors[0], match.nodes_map, added))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_attributes(gm, replacement)
    return found


def _graph_of(program: Any) -> Graph:
    if isinstance(program, Graph):
        return program
    return (program if isinstance(program, GraphModule) else symbolic_trace(program)).graph


def _replace(
    graph: Graph, pattern: Graph, new: Graph, match: InternalMatch, replaced: dict[Node, Node]
) -> None:
    given = [replaced.get(v, v) if isinstance(v, Node) else v for v in match.placeholder_nodes]
    for wanted, value in [*match.nodes_map.items()]:
        if isinstance(value, Node) and wanted.op == "placeholder":
            match.nodes_map[wanted] = replaced.get(value, value)
    match.placeholder_nodes = given
    inputs = [node for node in new.nodes if node.op == "placeholder"]
    if len(inputs) != len(given):
        raise AssertionError(
            f"replace_pattern: the pattern has {len(given)} inputs, the replacement {len(inputs)}"
        )
    known: dict[Node, Any] = dict(zip(inputs, given))
    with graph.inserting_before(_first_after(graph, match.returning_nodes)):
        copied = graph.graph_copy(new, known)
    results: list[Any] = [*copied] if isinstance(copied, (tuple, list)) else [copied]
    if len(results) != len(match.returning_nodes):
        raise AssertionError(
            f"replace_pattern: the pattern has {len(match.returning_nodes)} results, the "
            f"replacement {len(results)}"
        )
    for old, result in zip(match.returning_nodes, results):
        old.replace_all_uses_with(result)
        replaced[old] = result
    for node in reversed([*pattern.nodes]):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])


def _first_after(graph: Graph, nodes: Iterable[Node]) -> Node:
    """The first node that uses one of them, or else the one behind the last of them."""
    listed = [*graph.nodes]
    users = {user for node in nodes for user in node.users}
    behind = 1 + max(listed.index(node) for node in nodes)
    return next((node for node in listed if node in users), listed[behind])


def _take_attributes(gm: GraphModule, replacement: Module) -> None:
    """Give a module what its graph asks for and the replacement has."""
    gm.delete_all_unused_submodules()
    for node in _readers(gm.graph):
        value = found_at(gm, str(node.target))
        if value is not None:
            continue
        value = found_at(replacement, str(node.target))
        if value is None:
            raise RuntimeError(
                f"replace_pattern: node {node} asks for {node.target!r}, which neither the module "
                "nor the replacement has"
            )
        _put(gm, str(node.target), copy.deepcopy(value))


def _readers(graph: Graph) -> Iterator[Node]:
    return (node for node in graph.nodes if node.op in ("call_module", "get_attr"))
