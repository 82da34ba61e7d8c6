"""`PassBase`: a change of a program, with what it requires and what it ensures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from nnkit.fx.graph_module import GraphModule
from nnkit.nn import Module

__all__ = ["PassBase", "PassResult"]


class PassResult(NamedTuple):
    """The program after a pass, and whether the pass has changed it."""

    graph_module: Module
    modified: bool


class PassBase(ABC):
    """A pass: derive from it and define `call`.

    Source: ``torch.fx.passes.infra.pass_base.PassBase``.

    Example:
        >>> import nnkit
        >>> class CosForSin(PassBase):
        ...     def call(self, graph_module):
        ...         found = graph_module.graph.find_nodes(op="call_method", target="sin")
        ...         for node in found:
        ...             node.target = "cos"
        ...         graph_module.recompile()
        ...         return PassResult(graph_module, bool(found))
        >>> program = nnkit.fx.symbolic_trace(lambda x: x.sin())
        >>> CosForSin()(program).graph_module(nnkit.zeros(1))
        tensor([1.])
    """

    def __call__(self, graph_module: GraphModule) -> PassResult | None:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abstractmethod
    def call(self, graph_module: GraphModule) -> PassResult | None:
        """Change a program."""

    def requires(self, graph_module: GraphModule) -> None:  # noqa: B027  # may be left so
        """Check a program before the pass."""

    def ensures(self, graph_module: GraphModule) -> None:  # noqa: B027
        """Check a program after the pass."""
