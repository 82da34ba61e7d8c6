"""The targets of operations replaced, and the memory that operations need."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from nnkit.autograd import Tensor
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Node
from nnkit.fx.passes.shape_prop import ShapeProp, TensorMetadata

__all__ = [
    "get_size_of_all_nodes", "get_size_of_node", "get_tensor_meta", "replace_target_nodes_with",
    "size_bytes",
]  # fmt: skip


class size_bytes(NamedTuple):
    """The bytes of an operation's result, and these with the parameters that it uses."""

    output_size: int
    total_size: int


def replace_target_nodes_with(
    fx_module: GraphModule,
    old_op: str,
    old_target: Callable | str,
    new_op: str,
    new_target: Callable | str,
) -> None:
    """Let operations of one kind and target be of another, with the same arguments.

    Source: ``torch.fx.passes.graph_manipulation.replace_target_nodes_with``.

    Example:
        >>> import operator
        >>> import nnkit
        >>> program = nnkit.fx.symbolic_trace(lambda x: x + 2)
        >>> call = "call_function"
        >>> replace_target_nodes_with(program, call, operator.add, call, operator.mul)
        >>> program(nnkit.ones(1))
        tensor([2.])
    """
    for node in fx_module.graph.find_nodes(op=old_op, target=old_target):
        node.op, node.target = new_op, new_target
    fx_module.recompile()


def get_tensor_meta(node: Node) -> TensorMetadata:
    """What `ShapeProp` has noted of an operation's result.

    Raises:
        RuntimeError: it has noted nothing.

    Source: ``torch.fx.passes.graph_manipulation.get_tensor_meta``.
    """
    if "tensor_meta" not in node.meta:
        raise RuntimeError(f"get_tensor_meta: nothing is noted of {node}, run ShapeProp first")
    return node.meta["tensor_meta"]


def get_size_of_all_nodes(fx_module: GraphModule, args: list[Tensor] | None = None) -> None:
    """Note with each operation, as ``size_bytes``, what `get_size_of_node` gives.

    Args:
        args: arguments with which the program is run by `ShapeProp` before.

    Source: ``torch.fx.passes.graph_manipulation.get_size_of_all_nodes``.
    """
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)  # type: ignore[attr-defined]


def get_size_of_node(fx_module: GraphModule, node: Node) -> size_bytes:
    """The bytes of an operation's result, and these with the parameters that it uses.

    Source: ``torch.fx.passes.graph_manipulation.get_size_of_node``.
    """
    meta = get_tensor_meta(node)
    parameters = 0
    if node.op == "call_module":
        for _, value in fx_module.get_submodule(str(node.target)).named_parameters():
            parameters += value.numel()
    output = meta.dtype.itemsize * math.prod(meta.shape)
    return size_bytes(output, meta.dtype.itemsize * parameters + output)
