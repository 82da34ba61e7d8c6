"""Parts of programs as modules of their own, and whether two graphs do the same."""

from __future__ import annotations

from nnkit.fx.graph import Graph
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.passes.utils.matcher_utils import SubgraphMatcher
from nnkit.nn import Module

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


class HolderModule(Module):
    """A module that holds others.

    Source: ``torch.fx.passes.utils.common.HolderModule``.
    """

    def __init__(self, d: dict[str, Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """The module of a graph that uses the modules and parameters of ``gm``, and their new paths.

    Source: ``torch.fx.passes.utils.common.lift_subgraph_as_module``.
    """
    module = GraphModule(gm, subgraph, class_name)
    used = [str(n.target) for n in subgraph.nodes if n.op in ("call_module", "get_attr")]
    return module, {f"{comp_name}.{path}" if comp_name else path: path for path in used}


def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether two graphs do the same, operation by operation.

    Source: ``torch.fx.passes.utils.common.compare_graphs``.

    Example:
        >>> import nnkit
        >>> one, two = (nnkit.fx.symbolic_trace(lambda x: x.sin()).graph for _ in range(2))
        >>> compare_graphs(one, two)
        True
    """
    matcher = SubgraphMatcher(left, match_output=True, match_placeholder=True)
    return len(matcher.match(right)) > 0
