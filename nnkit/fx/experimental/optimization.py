"""Programs that only infer: layers that are merged or left out."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nnkit import nn
from nnkit.fx.graph import Graph
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Node
from nnkit.fx.tracer import symbolic_trace
from nnkit.nn import Module
from nnkit.nn.utils.fusion import fuse_conv_bn_eval

__all__ = [
    "extract_subgraph", "fuse", "matches_module_pattern", "remove_dropout", "replace_node_module",
]  # fmt: skip

_MERGED = (
    (nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d),
)  # fmt: skip


def matches_module_pattern(
    pattern: Iterable[type], node: Node, modules: Mapping[str, Module]
) -> bool:
    """Whether an operation, and what it is given first, call modules of exactly these classes.

    Args:
        pattern: two classes, that of the first call before the other.

    Source: ``torch.fx.experimental.optimization.matches_module_pattern``.
    """
    if not node.args:
        return False
    calls = (node.args[0], node)
    return all(
        isinstance(call, Node)
        and call.op == "call_module"
        and type(modules.get(str(call.target))) is kind
        for kind, call in zip(pattern, calls, strict=False)
    )


def replace_node_module(node: Node, modules: dict[str, Any], new_module: Module) -> None:
    """Let an operation call another module, which stands at the path of the old one.

    Args:
        modules: all modules by their paths; the root's is empty.

    Source: ``torch.fx.experimental.optimization.replace_node_module``.
    """
    path, _, name = str(node.target).rpartition(".")
    modules[str(node.target)] = new_module
    setattr(modules[path], name, new_module)


def fuse(model: Module, inplace: bool = False, no_trace: bool = False) -> GraphModule:
    """A model for inference in which convolutions do what batch normalizations after them did.

    Args:
        model: in ``eval`` mode.
        inplace: change it, not a copy.
        no_trace: it is a `GraphModule`, which is taken as it is.

    Source: ``torch.fx.experimental.optimization.fuse``.

    Example:
        >>> model = nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1), nn.ReLU()).eval()
        >>> [type(module).__name__ for module in fuse(model).children()]
        ['Conv2d', 'ReLU']
    """
    model = model if inplace else copy.deepcopy(model)
    program: Any = model if no_trace else symbolic_trace(model)
    modules = dict(program.named_modules())
    for pattern in _MERGED:
        for node in program.graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            before, norm = node.args[0], modules[node.target]
            if len(before.users) == 1 and norm.track_running_stats:
                merged = fuse_conv_bn_eval(modules[before.target], norm)
                replace_node_module(before, modules, merged)
                node.replace_all_uses_with(before)
                program.graph.erase_node(node)
    return GraphModule(program, program.graph)


def remove_dropout(model: Module) -> GraphModule:
    """A model for inference without its dropout layers.

    Source: ``torch.fx.experimental.optimization.remove_dropout``.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
        >>> [node.op for node in remove_dropout(model).graph.nodes]
        ['placeholder', 'call_module', 'output']
    """
    program = symbolic_trace(model)
    for node in program.graph.find_nodes(op="call_module"):
        if isinstance(program.get_submodule(str(node.target)), nn.Dropout):
            node.replace_all_uses_with(node.args[0])
            program.graph.erase_node(node)
    return GraphModule(program, program.graph)


def extract_subgraph(
    orig_module: Module, nodes: Sequence[Node], inputs: Sequence[Node], outputs: Sequence[Node]
) -> GraphModule:
    """The program of some operations of another.

    Args:
        nodes: the operations.
        inputs, outputs: those whose results it takes and returns.

    Source: ``torch.fx.experimental.optimization.extract_subgraph``.
    """
    graph = Graph()
    values = {node: graph.placeholder(node.name) for node in inputs}
    for node in nodes:
        values[node] = graph.node_copy(node, lambda n: values[n])
    graph.output([values[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)
