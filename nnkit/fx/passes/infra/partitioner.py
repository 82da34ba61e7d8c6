"""`CapabilityBasedPartitioner`: the parts of a program that a backend has all operations of."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Iterable, Sequence

from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Node
from nnkit.fx.passes.operator_support import OperatorSupportBase
from nnkit.fx.passes.tools_common import get_node_target
from nnkit.fx.passes.utils.fuser_utils import fuse_by_partitions


class Partition:
    """Operations that go together."""

    def __init__(self, id: int | None = None, nodes: Iterable[Node] | None = None) -> None:
        self.id = id
        self.nodes: dict[Node, None] = dict.fromkeys(nodes or ())

    def __repr__(self) -> str:
        return str([*self.nodes])

    def add_node(self, node: Node) -> None:
        """Add an operation."""
        self.nodes[node] = None

    def remove_node(self, node: Node) -> None:
        """Take an operation away."""
        del self.nodes[node]

    def size(self) -> int:
        """How many operations there are."""
        return len(self.nodes)


class _Group(Partition):
    """A partition while it grows: the uses outside of it, and since when it is there."""

    def __init__(self, id: int, node: Node) -> None:
        super().__init__(id, [node])
        self.since, self.users = id, set(node.users)


class CapabilityBasedPartitioner:
    """Finds the largest groups of supported operations that can be one call each.

    Args:
        graph_module: the program.
        operator_support: the rule which operations are supported.
        allows_single_node_partition: whether one operation is a group.
        non_compute_ops: names of functions that do not count as operations of a group.
        allowed_single_node_partition_ops: names of functions that are a group, anyway.
        skip_horizontal_fusion: group operations only with those that use their results.

    Source: ``torch.fx.passes.infra.partitioner.CapabilityBasedPartitioner``.

    Example:
        >>> import nnkit
        >>> from nnkit.fx.passes.operator_support import OperatorSupport
        >>> program = nnkit.fx.symbolic_trace(lambda x: x.sin().cos().exp())
        >>> rule = OperatorSupport({"sin": None, "cos": None})
        >>> finder = CapabilityBasedPartitioner(program, rule, allows_single_node_partition=True)
        >>> finder.propose_partitions()
        [[sin, cos]]
    """

    def __init__(
        self,
        graph_module: GraphModule,
        operator_support: OperatorSupportBase,
        allows_single_node_partition: bool = False,
        non_compute_ops: Sequence[str] | None = None,
        allowed_single_node_partition_ops: Sequence[str] | None = None,
        skip_horizontal_fusion: bool = False,
    ) -> None:
        self.graph_module, self.operator_support = graph_module, operator_support
        self.allows_single_node_partition = allows_single_node_partition
        self.non_compute_ops = non_compute_ops or ()
        self.allowed_single_node_partition_ops = allowed_single_node_partition_ops or ()
        self.skip_horizontal_fusion = skip_horizontal_fusion

    def propose_partitions(self) -> list[Partition]:
        """The groups, those at the end of the program first."""
        modules = dict(self.graph_module.named_modules())
        nodes = [*self.graph_module.graph.nodes]
        groups: dict[int, _Group] = {}
        group_of: dict[Node, _Group] = {}
        ids = itertools.count()
        for node in reversed(nodes):
            made: list[_Group] = []
            supported = self.operator_support.is_node_supported(modules, node)
            if supported and node.op not in ("placeholder", "output"):
                made = [_Group(next(ids), node)]
                groups[made[0].since] = group_of[node] = made[0]
            others = sorted(groups.values(), key=lambda each: each.since)
            if self.skip_horizontal_fusion:
                near = [group_of[user] for user in node.users if user in group_of]
                others = near if made else []
            candidates = [*dict.fromkeys([*made, *others])]
            for other in candidates[1:]:
                candidates[0] = _merged(candidates[0], other, groups, group_of)
        place = {node: index for index, node in enumerate(nodes)}
        for group in groups.values():
            group.nodes = dict.fromkeys(sorted(group.nodes, key=place.__getitem__))
        _keep_with_producers(nodes, group_of)
        found = [group for group in groups.values() if group.size()]
        if not self.allows_single_node_partition:
            found = [group for group in found if self._is_worth_it(group)]
        return [*found]

    def _is_worth_it(self, group: Partition) -> bool:
        idle = {"torch.ops.aten.view", "_operator.getitem", *self.non_compute_ops}
        calls = [node for node in group.nodes if node.op == "call_function"]
        names = [get_node_target({}, node) for node in calls]
        wanted = [name for name in names if name in self.allowed_single_node_partition_ops]
        return len([name for name in names if name not in idle]) + len(wanted) > 1

    def fuse_partitions(
        self, partitions: Sequence[Partition], prefix: str = "fused_"
    ) -> GraphModule:
        """The program, which calls a module for each group."""
        groups = [partition.nodes for partition in partitions]
        return fuse_by_partitions(self.graph_module, groups, prefix)

    def remove_bookend_non_compute_ops(self, partitions: Sequence[Partition]) -> None:
        """Take away, at both ends of groups, the functions that do not count."""
        for partition in partitions:
            for uses in ("all_input_nodes", "users"):
                forwards = uses == "all_input_nodes"
                for node in [*(partition.nodes if forwards else reversed(partition.nodes))]:
                    near: Collection[Node] = getattr(node, uses)
                    function = node.op == "call_function"
                    idle = function and get_node_target({}, node) in self.non_compute_ops
                    if idle and not any(each in partition.nodes for each in near):
                        partition.remove_node(node)

    def partition_and_fuse(self, prefix: str = "fused_") -> GraphModule:
        """The program, which calls a module for each of the groups that it has."""
        return self.fuse_partitions(self.propose_partitions(), prefix)


def _merged(
    one: _Group, other: _Group, groups: dict[int, _Group], group_of: dict[Node, _Group]
) -> _Group:
    """Both groups as one, or the first as it was if the one would need itself."""
    users = {n for n in one.users | other.users if n not in one.nodes and n not in other.nodes}
    if _reach(users, (one, other), group_of):
        return one
    kept, gone = (one, other) if one.size() >= other.size() else (other, one)
    kept.nodes |= gone.nodes
    kept.users, kept.since = users, min(kept.since, gone.since)
    group_of.update(dict.fromkeys(gone.nodes, kept))
    del groups[gone.id]  # type: ignore[arg-type]
    return kept


def _reach(nodes: Iterable[Node], goals: tuple[_Group, ...], group_of: dict[Node, _Group]) -> bool:
    """Whether a group depends on one of the operations; other groups are one operation each."""
    seen: set[Node | _Group] = set()
    waiting: list[Node] = [*nodes]
    while waiting:
        node = waiting.pop()
        group = group_of.get(node)
        if group in goals:
            return True
        whole: Node | _Group = node if group is None else group
        if whole not in seen:
            seen.add(whole)
            waiting += whole.users
    return False


def _keep_with_producers(nodes: Sequence[Node], group_of: dict[Node, _Group]) -> None:
    """Put the parts of a result into the group of what makes it, if nothing else uses it."""
    for node in nodes:
        if all(u.op == "call_function" and u.target is operator.getitem for u in node.users):
            group = group_of.get(node)
            for user in node.users:
                before = group_of.pop(user, None)
                if before is not None:
                    before.remove_node(user)
                if group is not None:
                    group.add_node(user)
                    group_of[user] = group
