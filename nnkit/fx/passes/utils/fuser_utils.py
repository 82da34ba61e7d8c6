"""Operations of a program made one call of a module that does them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from copy import copy

from nnkit.fx.graph import Graph
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Node
from nnkit.fx.passes.tools_common import in_order, stable_topological_sort


def topo_sort(nodes: Sequence[Node]) -> list[Node]:
    """The operations, each after those of them that it uses.

    Raises:
        AssertionError: two of them need each other.

    Source: ``torch.fx.passes.utils.fuser_utils.topo_sort``.
    """
    ordered = in_order(nodes)
    if len(ordered) < len(nodes):
        raise AssertionError("topo_sort: the operations need each other")
    return ordered


def validate_partition(partition: Collection[Node]) -> bool:
    """Whether operations can be one: none of them needs something outside that needs one of them.

    Source: ``torch.fx.passes.utils.fuser_utils.validate_partition``.
    """
    own, seen = set(partition), set()
    waiting = [user for node in partition for user in node.users if user not in own]
    while waiting:
        node = waiting.pop()
        if node in own:
            return False
        if node not in seen:
            seen.add(node)
            waiting += node.users
    return True


def fuse_as_graphmodule(
    gm: GraphModule,
    nodes: Sequence[Node],
    module_name: str,
    partition_lookup_table: Collection[Node] | None = None,
    *,
    always_return_tuple: bool = False,
) -> tuple[GraphModule, tuple[Node, ...], tuple[Node, ...]]:
    """The module that does what some operations do, its inputs, and the results others use.

    Raises:
        AssertionError: an operation is not of ``gm``, or they cannot be one.

    Source: ``torch.fx.passes.utils.fuser_utils.fuse_as_graphmodule``.
    """
    for node in nodes:
        if node.graph is not gm.graph or node._erased:
            raise AssertionError(f"fuse_as_graphmodule: {node} is no operation of the module")
    if not validate_partition(nodes):
        raise AssertionError("Invalid partition, found dependency cycles")
    own = set(nodes)
    outputs = [node for node in nodes if any(user not in own for user in node.users)]
    graph, inputs = part_of(nodes, outputs, always_return_tuple)
    graph.lint()
    return GraphModule(gm, graph, module_name), tuple(inputs), tuple(outputs)


def part_of(
    nodes: Sequence[Node],
    results: Sequence[Node],
    as_tuple: bool,
    comes_along: Callable[[Node], bool] = lambda node: False,
) -> tuple[Graph, list[Node]]:
    """The graph of some operations that gives ``results``, and what it is given.

    Args:
        as_tuple: give one result in a tuple, as several are.
        comes_along: whether what an operation needs is copied, and not given.
    """
    graph = Graph()
    values: dict[Node, Node] = {}
    inputs: list[Node] = []

    def value(node: Node) -> Node:
        if node not in values and comes_along(node):
            values[node] = graph.node_copy(node)
        elif node not in values:
            inputs.append(node)
            values[node] = graph.placeholder(node.name, type_expr=node.type)
            values[node].meta = copy(node.meta)
        return values[node]

    for node in nodes:
        values[node] = graph.node_copy(node, value)
    made = tuple([values[node] for node in results])
    graph.output(made if as_tuple or len(made) != 1 else made[0])
    return graph, inputs


def insert_subgm(
    gm: GraphModule,
    sub_gm: GraphModule,
    orig_inputs: tuple[Node, ...],
    orig_outputs: tuple[Node, ...],
    insertion_point: Node | None = None,
) -> GraphModule:
    """The module, with a call of another whose results are used in the place of some of its own.

    Args:
        orig_inputs, orig_outputs: as `fuse_as_graphmodule` gives them.
        insertion_point: the operation after which the call stands, else the last of the outputs.

    Source: ``torch.fx.passes.utils.fuser_utils.insert_subgm``.
    """
    name = type(sub_gm).__name__
    gm.add_submodule(name, sub_gm)
    if insertion_point is None:
        insertion_point = next((n for n in reversed(gm.graph.nodes) if n in orig_outputs), None)
    if insertion_point is None:
        raise AssertionError("insert_subgm: without outputs, insertion_point must be given")
    with gm.graph.inserting_after(insertion_point):
        call = gm.graph.call_module(name, orig_inputs)
    if isinstance(sub_gm.graph.output_node().args[0], tuple):
        with gm.graph.inserting_before(call.next):
            for index, node in enumerate(orig_outputs):
                part = gm.graph.call_function(operator.getitem, (call, index))
                node.replace_all_uses_with(part, propagate_meta=True)
    else:
        orig_outputs[0].replace_all_uses_with(call, propagate_meta=True)
    return gm


def erase_nodes(gm: GraphModule, nodes: Sequence[Node]) -> None:
    """Take operations away, the last first.

    Source: ``torch.fx.passes.utils.fuser_utils.erase_nodes``.
    """
    for node in reversed(nodes):
        gm.graph.erase_node(node)


def fuse_by_partitions(
    gm: GraphModule,
    partitions: Sequence[Collection[Node]],
    prefix: str = "fused_",
    always_return_tuple: bool = False,
) -> GraphModule:
    """The module, in which each of these groups of operations is one call, ``fused_0`` and so on.

    Raises:
        AssertionError: a group cannot be one.

    Source: ``torch.fx.passes.utils.fuser_utils.fuse_by_partitions``.

    Example:
        >>> import nnkit
        >>> program = nnkit.fx.symbolic_trace(lambda x: x.sin().cos().exp())
        >>> _, sin, cos, *_ = program.graph.nodes
        >>> _ = fuse_by_partitions(program, [[sin, cos]]).recompile()
        >>> print(program.code.strip())
        def forward(self, x):
            fused_0 = self.fused_0(x);  x = None
            exp = fused_0.exp();  fused_0 = None
            return exp
    """
    for index, partition in enumerate(partitions):
        nodes = topo_sort([*partition])
        module, inputs, outputs = fuse_as_graphmodule(
            gm, nodes, f"{prefix}{index}", always_return_tuple=always_return_tuple
        )
        insert_subgm(gm, module, inputs, outputs, nodes[-1])
        erase_nodes(gm, nodes)
    stable_topological_sort(gm)
    gm.graph.lint()
    return gm
