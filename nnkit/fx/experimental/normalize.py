"""Calls of a program in one form: arguments by name, operators in the place of functions."""

from __future__ import annotations

import operator
from typing import Any

import nnkit
from nnkit.fx.interpreter import Transformer
from nnkit.fx.node import Node, map_aggregate
from nnkit.fx.operator_schemas import normalize_function, normalize_module
from nnkit.fx.proxy import Proxy
from nnkit.nn import Module

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Makes of a program one whose calls give their arguments by name, with the defaults.

    Calls of functions without a signature stay as they are.

    Args:
        module: the program.
        normalize_to_only_use_kwargs: whether those given by position are given by name, too.

    Source: ``torch.fx.experimental.normalize.NormalizeArgs``.

    Example:
        >>> program = nnkit.fx.symbolic_trace(lambda x: nnkit.flatten(x, 1))
        >>> NormalizeArgs(program).transform().graph.find_nodes(op="call_function")[0].kwargs
        {'input': x, 'start_dim': 1, 'end_dim': -1}
    """

    def __init__(self, module: Module, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        """The result of an operation, whose notes and type are those that it had."""
        made = super().run_node(n)
        if n.op != "output" and isinstance(made, Proxy):
            made.node.meta, made.node.type = dict(n.meta), n.type
        return made

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        by_name = self.normalize_to_only_use_kwargs
        try:
            found = normalize_function(target, args, kwargs, None, None, by_name)
        except TypeError:
            found = None
        return super().call_function(target, *(found or (args, kwargs)))

    def call_module(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        by_name = self.normalize_to_only_use_kwargs
        found = normalize_module(self.module, target, args, kwargs, by_name)
        return super().call_module(target, *(found or (args, kwargs)))


_OPERATORS: dict[Any, Any] = {
    nnkit.add: operator.add, nnkit.mul: operator.mul, nnkit.sub: operator.sub,
    nnkit.div: operator.truediv, nnkit.floor_divide: operator.floordiv,
    nnkit.remainder: operator.mod, nnkit.eq: operator.eq, nnkit.ne: operator.ne,
    nnkit.lt: operator.lt, nnkit.le: operator.le, nnkit.gt: operator.gt, nnkit.ge: operator.ge,
}  # fmt: skip


class NormalizeOperators(Transformer):
    """Makes of a program one that adds by ``operator.add``, and so on, not by nnkit's functions.

    Source: ``torch.fx.experimental.normalize.NormalizeOperators``.

    Example:
        >>> program = nnkit.fx.symbolic_trace(lambda x: nnkit.add(x, 1))
        >>> print(NormalizeOperators(program).transform().code.strip().splitlines()[1].strip())
        add = x + 1;  x = None
    """

    def call_function(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        found: list[Proxy] = []
        map_aggregate((args, kwargs), lambda x: found.append(x) if isinstance(x, Proxy) else None)
        if target in _OPERATORS and len(args) == 2 and not kwargs and found:
            target = _OPERATORS[target]
        return super().call_function(target, args, kwargs)
