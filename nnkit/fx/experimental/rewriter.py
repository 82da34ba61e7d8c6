"""`RewritingTracer`: a tracer that keeps assertions and the types of values."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from nnkit.fx.graph import Graph
from nnkit.fx.proxy import Proxy
from nnkit.fx.tracer import Tracer
from nnkit.nn import Module
from nnkit.overrides import _assert


def _typed(value: Any, kind: Any) -> Any:
    if isinstance(value, Proxy):
        value.node.type = kind
    return value


_CALLED = {"_nnkit_assert": CellType(_assert), "_nnkit_typed": CellType(_typed)}


class _Rewriter(ast.NodeTransformer):
    """Makes a call of each ``assert`` and of each assignment with a type."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        message = node.msg or ast.Constant("")
        call = ast.Call(ast.Name("_nnkit_assert", ast.Load()), [node.test, message], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return node
        name = ast.Name("_nnkit_typed", ast.Load())
        call = ast.Call(name, [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


def _rewritten(function: Callable) -> Callable:
    """A function whose assertions are calls; one whose text is not known stays as it is."""
    inner: Any = inspect.unwrap(function)
    try:
        text = inspect.getsource(inner)
        # What is indented needs a head: texts within it may begin further to the left.
        whole: Any = ast.parse(f"if True:\n{text}" if text[0].isspace() else text).body[0]
    except (OSError, TypeError, SyntaxError):
        return function
    whole = whole.body[0] if isinstance(whole, ast.If) else whole
    if not isinstance(whole, ast.FunctionDef):
        return function
    # Its defaults and types are those of the function itself.
    given = whole.args
    whole.decorator_list, whole.returns, given.defaults = [], None, []
    given.kw_defaults = [None] * len(given.kwonlyargs)
    for each in ast.walk(given):
        if isinstance(each, ast.arg):
            each.annotation = None
    free = inner.__code__.co_freevars
    cells = {**dict(zip(free, inner.__closure__ or (), strict=True)), **_CALLED}
    # What the function takes from outside stays so where it lies within another of those names.
    outer: Any = ast.parse(f"def outer({', '.join(cells)}):\n    pass").body[0]
    outer.body = [_Rewriter().visit(whole), ast.Return(ast.Name(whole.name, ast.Load()))]
    tree = ast.Module([outer], [])
    names: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(tree), inner.__code__.co_filename, "exec"), names)
    code = names["outer"](*cells).__code__
    closure = tuple([cells[name] for name in code.co_freevars])
    result = FunctionType(code, inner.__globals__, inner.__name__, inner.__defaults__, closure)
    result.__kwdefaults__, result.__annotations__ = inner.__kwdefaults__, inner.__annotations__
    return result


class RewritingTracer(Tracer):
    """A tracer for which assertions of a program become operations, as do its types of values.

    Source: ``torch.fx.experimental.rewriter.RewritingTracer``.

    Example:
        >>> from nnkit import nn
        >>> class Model(nn.Module):
        ...     def forward(self, x):
        ...         return x + 1
        >>> [node.name for node in RewritingTracer().trace(Model()).nodes]
        ['x', 'add', 'output']
    """

    def trace(self, root: Module | Callable, concrete_args: dict[str, Any] | None = None) -> Graph:
        """See `Tracer.trace`; what the modules in a module assert is not kept."""
        if isinstance(root, Module):
            kind = type(root)
            own: Any = type(kind.__name__, (kind,), {"forward": _rewritten(kind.forward)})
            own.__module__ = kind.__module__
            root = copy.copy(root)
            root.__class__ = own
            return super().trace(root, concrete_args)
        return super().trace(_rewritten(root), concrete_args)
