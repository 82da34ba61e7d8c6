"""Which operations a backend has: the rules by which a `CapabilityBasedPartitioner` divides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nnkit.backend.dtype import dtype
from nnkit.fx.node import Node
from nnkit.fx.passes.shape_prop import TensorMetadata
from nnkit.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target
from nnkit.nn import Module

__all__ = [
    "OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain",
    "create_op_support",
]  # fmt: skip

Modules = Mapping[str, Module]
Dtypes = tuple[Sequence[Sequence[dtype]], dict[str, Sequence[dtype]]]


class OperatorSupportBase(ABC):
    """A rule which operations are supported.

    Source: ``torch.fx.passes.operator_support.OperatorSupportBase``.
    """

    @abstractmethod
    def is_node_supported(self, submodules: Modules, node: Node) -> bool:
        """Whether an operation is, of a program with these modules."""


class OperatorSupport(OperatorSupportBase):
    """The rule that operations are supported whose targets are in a table.

    Args:
        support_dict: for the name of a target, as `get_node_target` gives it, None, or the dtypes
            of the arguments by position and by name.

    Source: ``torch.fx.passes.operator_support.OperatorSupport``.

    Example:
        >>> import nnkit
        >>> program = nnkit.fx.symbolic_trace(lambda x: x.sin().cos())
        >>> rule = OperatorSupport({"sin": None})
        >>> calls = program.graph.find_nodes(op="call_method")
        >>> [rule.is_node_supported({}, node) for node in calls]
        [True, False]
    """

    def __init__(self, support_dict: Mapping[str, Dtypes | None] | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Modules, node: Node) -> bool:
        """Whether the table has its target, and its inputs are of these dtypes.

        What calls nothing is supported.
        """
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        dtypes = self._support_dict[target]
        if dtypes is None:
            return True
        given = [
            *zip(node.args, dtypes[0]),
            *((node.kwargs.get(k), v) for k, v in dtypes[1].items()),
        ]
        return all(_dtype(arg) in wanted for arg, wanted in given if isinstance(arg, Node))


def _dtype(node: Node) -> Any:
    meta = node.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else node.meta["type"]


class _Rule(OperatorSupportBase):
    def __init__(self, holds: Callable[[Modules, Node], bool]) -> None:
        self._holds = holds

    def is_node_supported(self, submodules: Modules, node: Node) -> bool:
        return self._holds(submodules, node)


def create_op_support(is_node_supported: Callable[[Modules, Node], bool]) -> OperatorSupportBase:
    """The rule of a function of the modules and an operation.

    Source: ``torch.fx.passes.operator_support.create_op_support``.
    """
    return _Rule(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """The rule that all rules hold.

    Source: ``torch.fx.passes.operator_support.chain``.
    """
    return _Rule(lambda modules, node: all(r.is_node_supported(modules, node) for r in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """The rule that one of these rules holds.

    Source: ``torch.fx.passes.operator_support.any_chain``.
    """
    return _Rule(lambda modules, node: any(r.is_node_supported(modules, node) for r in op_support))


class OpSupports:
    """Common rules.

    Source: ``torch.fx.passes.operator_support.OpSupports``.
    """

    @classmethod
    def decline_if_input_dtype(cls, dtype: dtype) -> OperatorSupportBase:
        """The rule that no input has this dtype."""
        return _Rule(lambda modules, node: all(_dtype(n) != dtype for n in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """The rule that an operation has none of these names."""
        return _Rule(lambda modules, node: node.name not in disallow_set)
