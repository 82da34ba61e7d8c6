"""`SubgraphMatcher`: the places where a pattern occurs in a graph."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from nnkit.autograd import Tensor
from nnkit.fx.graph import Graph
from nnkit.fx.node import Node, found_at
from nnkit.fx.passes.utils.fuser_utils import validate_partition

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """A place where a pattern occurs, for filters and callbacks.

    Attributes:
        anchors: the pattern's results that nothing else in it uses.
        nodes_map: the node, or the constant, for each node of the pattern.
        placeholder_nodes: those for its inputs.
        returning_nodes: those for its results.
        name_node_map: nodes by names that a pattern gives them.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)


class SubgraphMatcher:
    """Finds a pattern in graphs.

    Args:
        pattern: the graph; all that it computes must be used in it.
        match_output: whether its results are to be the results of the whole graph.
        match_placeholder: whether its inputs are to be inputs of the whole graph, not any values.
        remove_overlapping_matches: of places that overlap give only the earliest.
        ignore_literals: whether constants in the pattern stand for any constants.

    Raises:
        ValueError: the pattern is empty.
        AssertionError: it has something that nothing uses.

    Source: ``torch.fx.passes.utils.matcher_utils.SubgraphMatcher``.

    Example:
        >>> import nnkit
        >>> pattern = nnkit.fx.symbolic_trace(lambda x: x.sin() + 1).graph
        >>> program = nnkit.fx.symbolic_trace(lambda x: ((x.sin() + 1).sin() + 1).sin())
        >>> [match.returning_nodes for match in SubgraphMatcher(pattern).match(program.graph)]
        [[add], [add_1]]
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher: the pattern is empty")
        for node in pattern.nodes:
            if not (node.users or node.is_impure()):
                raise AssertionError(f"SubgraphMatcher: nothing in the pattern uses {node}")
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        output = pattern.output_node()
        self.pattern_placeholder_nodes = pattern.find_nodes(op="placeholder")
        self.pattern_returning_nodes = output.all_input_nodes
        last = [node for node in self.pattern_returning_nodes if len(node.users) == 1]
        self.pattern_anchors = [output] if match_output else last

    def match(self, graph: Graph) -> list[InternalMatch]:
        """The places, in the graph's order."""
        candidates = [
            [node for node in graph.nodes if self._are_alike(anchor, node)]
            for anchor in self.pattern_anchors
        ]
        taken: set[Node] = set()
        found = []
        for chosen in itertools.product(*candidates):
            nodes = _Comparison(self).of(chosen)
            own = {nodes[n] for n in nodes if n.op not in ("placeholder", "output")}
            if not (own and self._is_inside(nodes, own) and validate_partition(own)):
                continue
            if not (self.remove_overlapping_matches and own & taken):
                taken |= own
                given = [nodes.get(node) for node in self.pattern_placeholder_nodes]
                made = [nodes[node] for node in self.pattern_returning_nodes]
                found.append(InternalMatch(self.pattern_anchors, nodes, given, made))
        return found

    def _is_inside(self, nodes: dict[Node, Any], own: set[Any]) -> bool:
        """Whether nothing else uses what the pattern computes, but for its results."""
        inner = (n for n in nodes if n.op not in ("placeholder", "output"))
        return all(
            user in own
            for node in inner if node not in self.pattern_returning_nodes
            for user in nodes[node].users
        )  # fmt: skip

    def _are_alike(self, wanted: Node, node: Node) -> bool:
        """Whether two nodes do the same, whatever their arguments."""
        if wanted.op == "placeholder" and not self.match_placeholder:
            return True
        if wanted.op != node.op:
            return False
        if wanted.op in ("placeholder", "output"):
            return True
        if wanted.op == "get_attr":
            pair = (wanted, node)
            return all(
                isinstance(found_at(each.graph.owning_module, str(each.target)), Tensor)
                for each in pair
            )
        return wanted.target == node.target


class _Comparison:
    """A pattern beside a graph, from its results on; ``nodes`` says what stands for its nodes."""

    def __init__(self, matcher: SubgraphMatcher) -> None:
        self.nodes: dict[Node, Any] = {}
        self._are_alike, self._ignores_literals = matcher._are_alike, matcher.ignore_literals
        self._anchors = matcher.pattern_anchors

    def of(self, chosen: tuple[Node, ...]) -> dict[Node, Any]:
        """What stands for the pattern's nodes if these are its last ones; none if they are not."""
        return self.nodes if all(map(self.matches, self._anchors, chosen)) else {}

    def matches(self, wanted: Any, value: Any) -> bool:
        if not isinstance(wanted, Node):
            return self._are_equal(wanted, value)
        if wanted in self.nodes:
            return self.nodes[wanted] is value or self.nodes[wanted] == value
        if not isinstance(value, Node):
            if wanted.op == "placeholder":
                self.nodes[wanted] = value
            return wanted.op == "placeholder"
        if any(known is value for known in self.nodes.values()) or not self._are_alike(
            wanted, value
        ):
            return False
        before = dict(self.nodes)
        self.nodes[wanted] = value
        if wanted.op == "placeholder" or self._have_equal_arguments(wanted, value):
            return True
        self.nodes = before
        return False

    def _have_equal_arguments(self, wanted: Node, node: Node) -> bool:
        if wanted.kwargs.keys() != node.kwargs.keys():
            return False
        named = ((wanted.kwargs[key], node.kwargs[key]) for key in wanted.kwargs)
        return self._are_equal(wanted.args, node.args) and all(
            self.matches(*pair) for pair in named
        )

    def _are_equal(self, wanted: Any, value: Any) -> bool:
        if isinstance(wanted, (tuple, list)) and isinstance(value, (tuple, list)):
            return len(wanted) == len(value) and all(map(self.matches, wanted, value))
        if isinstance(wanted, dict) and isinstance(value, dict):
            return wanted.keys() == value.keys() and all(
                self.matches(wanted[key], value[key]) for key in wanted
            )
        if isinstance(value, Node):
            return False
        return self._ignores_literals or (type(wanted) is type(value) and wanted == value)
