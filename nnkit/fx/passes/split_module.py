"""`split_module`: a module whose operations lie in several modules, called one after the other."""

from __future__ import annotations

import operator
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from nnkit.fx.graph import Graph
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Node, map_arg
from nnkit.nn import Module

__all__ = ["Partition", "split_module"]

_OUTSIDE = ("placeholder", "get_attr", "output")  # they stay in the module that calls the others


@dataclass
class Partition:
    """The operations of one module, what they take from others, and what others take from them."""

    name: str
    submod_name: str
    nodes: list[Node] = field(default_factory=list)
    inputs: dict[Node, None] = field(default_factory=dict)
    outputs: dict[Node, None] = field(default_factory=dict)
    dependencies: set[str] = field(default_factory=set)
    dependents: dict[str, None] = field(default_factory=dict)


def split_module(
    m: GraphModule,
    root_m: Module,
    split_callback: Callable[[Node], Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool | None = False,
    keep_original_node_name: bool | None = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A module that does the same by modules ``submod_0``, ``submod_1`` and so on.

    Args:
        m: the program; it is not changed.
        root_m: accepted; the modules and parameters are those of ``m``.
        split_callback: gives the name or number of the part that an operation goes to.
        qualname_map: gets, for the path of each module in the result, that in ``m``.
        keep_original_order: read attributes right before the part that uses them, not at first.
        keep_original_node_name: let operations keep their names.
        keep_original_input_name: name the inputs of parts by what they are given, not ``arg_0``.
        partition_affix: a word in the names of the parts.
        tuple_return: let parts with one result return a tuple, too.

    Raises:
        RuntimeError: two parts need each other's results.

    Source: ``torch.fx.passes.split_module.split_module``.

    Example:
        >>> import nnkit
        >>> program = nnkit.fx.symbolic_trace(lambda x: x.sin().cos())
        >>> split = split_module(program, program, lambda node: int(node.target == "cos"))
        >>> print(split.code.strip())
        def forward(self, x):
            submod_0 = self.submod_0(x);  x = None
            submod_1 = self.submod_1(submod_0);  submod_0 = None
            return submod_1
    """
    affix = "" if partition_affix is None else f"{partition_affix}_"
    ordered = _sorted(_partitions(m.graph, split_callback, f"submod_{affix}"))
    graph, attributes = Graph(), {}
    values: dict[Node, Node] = {}

    def read(nodes: Any) -> None:
        for node in nodes:
            if node.op == "get_attr" and node not in values:
                attributes[str(node.target)] = attrgetter(str(node.target))(m)
                values[node] = graph.node_copy(node)

    for node in m.graph.find_nodes(op="placeholder"):
        values[node] = graph.node_copy(node)
    if not keep_original_order:
        read(m.graph.nodes)
    for part in ordered:
        read(part.inputs)
        attributes[part.submod_name] = module = _module(
            m, part, bool(keep_original_node_name), keep_original_input_name, tuple_return
        )
        if qualname_map is not None:
            calls = [node for node in part.nodes if node.op == "call_module"]
            qualname_map |= {f"{part.submod_name}.{_flat(n)}": str(n.target) for n in calls}
        call = graph.call_module(part.submod_name, tuple([values[n] for n in part.inputs]))
        if isinstance(module.graph.output_node().args[0], tuple):
            for index, node in enumerate(part.outputs):
                values[node] = graph.call_function(operator.getitem, (call, index))
        else:
            values.update(dict.fromkeys(part.outputs, call))
    read(m.graph.nodes)
    for node in m.graph.find_nodes(op="output"):
        graph.output(map_arg(node.args[0], lambda n: values[n])).meta = copy(node.meta)
    return GraphModule(attributes, graph)


def _partitions(
    graph: Graph, split_callback: Callable[[Node], Any], prefix: str
) -> dict[str, Partition]:
    found: dict[str, Partition] = {}
    part_of: dict[Node, Partition] = {}
    for node in graph.nodes:
        if node.op not in _OUTSIDE:
            name = str(split_callback(node))
            part_of[node] = found.setdefault(name, Partition(name, prefix + name))
            part_of[node].nodes.append(node)
    for node in graph.nodes:
        here = part_of.get(node)
        for used in node.all_input_nodes:
            there = part_of.get(used)
            if there is here:
                continue
            if there is not None:
                there.outputs[used] = None
            if here is not None:
                here.inputs[used] = None
            if there is not None and here is not None:
                here.dependencies.add(there.name)
                there.dependents[here.name] = None
    return found


def _sorted(parts: dict[str, Partition]) -> list[Partition]:
    """The parts, each after those whose results it needs."""
    ready = [part for part in parts.values() if not part.dependencies]
    for part in ready:  # which grows
        for name in part.dependents:
            parts[name].dependencies.discard(part.name)
            if not parts[name].dependencies:
                ready.append(parts[name])
    if len(ready) < len(parts):
        raise RuntimeError("split_module: a cycle exists between partitions!")
    return ready


def _flat(call: Node) -> str:
    return str(call.target).replace(".", "_")


def _module(
    m: GraphModule, part: Partition, keeps_names: bool, keeps_inputs: bool, as_tuple: bool
) -> GraphModule:
    graph, attributes = Graph(), {}
    values: dict[Node, Node] = {}
    for index, node in enumerate(part.inputs):
        name = node.name if keeps_inputs else f"arg_{index}"
        values[node] = graph.placeholder(name, type_expr=node.type)
        values[node].meta = copy(node.meta)
    for node in part.nodes:
        args, kwargs = map_arg((node.args, node.kwargs), lambda n: values[n])
        target = node.target
        if node.op == "call_module":
            target = _flat(node)
            attributes[target] = m.get_submodule(str(node.target))
        name = node.name if keeps_names else None
        values[node] = graph.create_node(node.op, target, args, kwargs, name, node.type)
        values[node].meta = copy(node.meta)
    results = tuple([values[node] for node in part.outputs])
    graph.output(results if as_tuple or len(results) != 1 else results[0])
    return GraphModule(attributes, graph)
