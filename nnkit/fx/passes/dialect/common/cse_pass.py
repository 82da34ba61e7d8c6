"""`CSEPass`: what a program computes twice is computed once."""

from __future__ import annotations

from typing import Any

from nnkit.fx.graph import Graph
from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Node, _side_effectful_functions, map_arg
from nnkit.fx.passes.infra.pass_base import PassBase, PassResult
from nnkit.utils._pytree import tree_flatten

_RANDOM = (
    "rand", "randn", "randint", "randperm", "bernoulli", "multinomial", "normal", "poisson",
    "dropout", "rrelu",
)  # fmt: skip


def get_CSE_banned_ops() -> set[Any]:
    """The functions that give another result, or do something else, each time.

    Source: ``torch.fx.passes.dialect.common.cse_pass.get_CSE_banned_ops``.
    """
    return set(_side_effectful_functions)


def _name(target: Any) -> str:
    return getattr(target, "__name__", str(target)).partition(".")[0]


def _writes(target: Any) -> bool:
    """Whether a function or method writes into its argument, as its name says."""
    name = _name(target)
    return name.endswith("_") and not name.endswith("__")


class CSEPass(PassBase):
    """Makes of a program one that calls a function once where it did so twice with equal arguments.

    Args:
        banned_ops: functions whose calls stay; those that draw numbers or write into their
            arguments, as their names say, do so anyway.

    Source: ``torch.fx.passes.dialect.common.cse_pass.CSEPass``.

    Example:
        >>> import nnkit
        >>> program = nnkit.fx.symbolic_trace(lambda x: nnkit.exp(x) + nnkit.exp(x))
        >>> print(CSEPass()(program).graph_module.code.strip())
        def forward(self, x):
            exp = nnkit.exp(x);  x = None
            add = exp + exp;  exp = None
            return add
    """

    def __init__(self, banned_ops: set[Any] | None = None) -> None:
        self.banned_ops = get_CSE_banned_ops() if banned_ops is None else banned_ops

    def call(self, graph_module: GraphModule) -> PassResult:
        """A new program, and whether it has fewer operations."""
        graph = Graph(tracer_cls=graph_module.graph._tracer_cls)
        values: dict[Node, Node] = {}
        known: dict[Any, Node] = {}
        changed = False
        for node in graph_module.graph.nodes:
            if node.op == "output":
                graph.output(map_arg(node.args[0], lambda n: values[n])).meta = dict(node.meta)
                continue
            call = None if self._stays(node) else _as_key(node, values)
            if call in known:
                changed, values[node] = True, known[call]
                continue
            values[node] = graph.node_copy(node, lambda n: values[n])
            if call is not None:
                known[call] = values[node]
        return PassResult(GraphModule(graph_module, graph), changed)

    def _stays(self, node: Node) -> bool:
        """Whether it is no function, differs each time, or has a result that is written into."""
        target: Any = node.target
        return (
            node.op != "call_function"
            or getattr(target, "overloadpacket", target) in self.banned_ops
            or target in self.banned_ops
            or _writes(target)
            or _name(target).removesuffix("_like") in _RANDOM
            or any(_writes(user.target) for user in node.users)
        )


def _as_key(node: Node, values: dict[Node, Node]) -> Any:
    """What a call computes, as a key; None where its arguments cannot be one."""
    leaves, spec = tree_flatten(map_arg((node.args, node.kwargs), lambda n: values[n]))
    # 1, 1.0 and True are equal, and so are 0.0 and -0.0.
    told = [repr(leaf) if isinstance(leaf, (float, complex)) else leaf for leaf in leaves]
    key = (node.target, tuple(told), tuple(map(type, leaves)), str(spec))
    try:
        hash(key)
    except TypeError:
        return None
    return key
