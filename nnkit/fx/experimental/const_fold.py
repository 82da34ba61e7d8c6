"""What a program computes from constants alone, computed once: `split_const_subgraphs`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from nnkit.autograd import Tensor, no_grad
from nnkit.fx.graph import Graph
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Node, found_at
from nnkit.fx.tracer import symbolic_trace
from nnkit.nn import Module, Parameter, ParameterList

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]

_NAME = "_FX_CONST_FOLDED_ATTRS"


class FoldedGraphModule(GraphModule):
    """A program with a part that is computed once, when it is first called.

    Attributes:
        const_subgraph_module: the part; None if nothing is constant.

    Source: ``torch.fx.experimental.const_fold.FoldedGraphModule``.
    """

    def __init__(
        self,
        root: Any,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        constants = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.const_subgraph_module: Any = constants
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs
        self.has_folding_been_run = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constant part.

        Raises:
            AssertionError: it was computed already.
        """
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("FoldedGraphModule: the constants were computed already")
        self.has_folding_been_run = True
        with no_grad():
            found = self.const_subgraph_module()
        several = isinstance(found, tuple)
        kept = ParameterList(map(self._kept, found)) if several else self._kept(found)
        setattr(self, self.fx_const_folded_attrs_name, kept)

    def _kept(self, value: Tensor) -> Parameter:
        value = value.detach().to(self.device_for_folded_attrs, copy=True)
        learned = value.is_floating_point() and any(
            p.requires_grad
            for p in self.const_subgraph_module.parameters()  # type: ignore[union-attr]
        )
        return Parameter(value, requires_grad=learned)


def get_unique_attr_name_in_module(mod_traced: Module, name: str) -> str:
    """The name, with a number after it where a module has it already.

    Source: ``torch.fx.experimental.const_fold.get_unique_attr_name_in_module``.
    """
    number, found = 0, name
    while hasattr(mod_traced, found):
        number += 1
        found = f"{name}_{number}"
    return found


def split_const_subgraphs(
    module: Module,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """A program in which what depends on no argument is computed once.

    Args:
        module: a module, which is traced, or a `GraphModule`.
        skip_folding_node_fn: says of an operation that it is to be computed each time.
        device_for_folded_attrs: the device of what is computed once.

    Source: ``torch.fx.experimental.const_fold.split_const_subgraphs``.

    Example:
        >>> import nnkit
        >>> class Model(Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.weight = Parameter(nnkit.ones(1))
        ...     def forward(self, x):
        ...         return x * self.weight.exp()
        >>> folded = split_const_subgraphs(Model())
        >>> print(folded.code.strip())
        def forward(self, x):
            _fx_const_folded_attrs = self._FX_CONST_FOLDED_ATTRS
            mul = x * _fx_const_folded_attrs;  x = _fx_const_folded_attrs = None
            return mul
    """
    program = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constant(program.graph, skip_folding_node_fn)
    computed = [node for node in constant if node.op != "get_attr"]
    if not computed:
        return FoldedGraphModule(
            program, program.graph, device_for_folded_attrs=device_for_folded_attrs
        )
    once = Graph()
    values: dict[Node, Node] = {}
    for node in constant:
        values[node] = once.node_copy(node, lambda n: values[n])
    results = [node for node in computed if any(user not in constant for user in node.users)]
    made: Any = tuple([values[node] for node in results])
    once.output(made if len(made) > 1 else made[0])
    once.eliminate_dead_code()
    name = get_unique_attr_name_in_module(program, _NAME)
    graph = _with_results(program.graph, set(constant), results, name)
    used = [n for g in (graph, once) for n in g.nodes if n.op in ("get_attr", "call_module")]
    root = {str(node.target): found_at(program, str(node.target)) for node in used}
    folded = FoldedGraphModule(root, graph, once, name, device_for_folded_attrs)
    folded.meta.update(program.meta)
    return folded


def _constant(graph: Graph, skipped: Callable[[Node], bool] | None) -> dict[Node, None]:
    """The operations that depend on no argument, in order."""
    found: dict[Node, None] = {}
    for node in graph.nodes:
        depends = node.op in ("placeholder", "output") or node.is_impure()
        if depends or any(used not in found for used in node.all_input_nodes):
            continue
        if node.op == "get_attr" or not (skipped and skipped(node)):
            found[node] = None
    return found


def _with_results(graph: Graph, constant: set[Node], results: list[Node], name: str) -> Graph:
    """The rest of a graph, which reads the results of the constant part."""
    rest = Graph(tracer_cls=graph._tracer_cls)
    rest.set_codegen(graph._codegen)
    values: dict[Node, Node] = {}

    def read() -> None:
        whole = rest.get_attr(name)
        if len(results) == 1:
            values[results[0]] = whole
            whole.meta.update(results[0].meta)
            return
        for index, node in enumerate(results):
            values[node] = rest.call_function(operator.getitem, (whole, index))
            values[node].meta.update(node.meta)

    first = True
    for node in graph.nodes:
        if first and node.op not in ("placeholder", "get_attr") and node not in constant:
            read()
            first = False
        if node.op == "get_attr" or node not in constant:
            values[node] = rest.node_copy(node, lambda n: values[n])
    rest.eliminate_dead_code()
    return rest
