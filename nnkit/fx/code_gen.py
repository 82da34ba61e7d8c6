"""`CodeGen`: how a graph becomes the text of a function, which programs may change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from nnkit.fx import _pytree as fx_pytree
from nnkit.utils import _pytree as pytree

Transform = Callable[[list[str]], list[str]]


class CodeGen:
    """The head and the end of a program's text, and what its arguments and its result go through.

    Derive from it, and give an instance to `Graph.set_codegen`.

    Source: ``torch.fx.graph.CodeGen``.

    Example:
        >>> import nnkit
        >>> class OfList(nnkit.fx.CodeGen):
        ...     def gen_fn_def(self, free_vars, maybe_return_annotation):
        ...         return f"def forward(self, given):\\n    {', '.join(free_vars)} = given"
        ...     def process_inputs(self, *inputs):
        ...         return inputs[0]
        >>> traced = nnkit.fx.symbolic_trace(lambda x, y: x + y)
        >>> traced.graph.set_codegen(OfList())
        >>> traced.recompile().src.splitlines()[3:5]
        ['def forward(self, given):', '    x, y = given']
        >>> traced([nnkit.ones(1), nnkit.ones(1)])
        tensor([2.])
    """

    _body_transformer: Transform | None = None

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The head of the function, given the text of its parameters but for ``self``."""
        own = [] if free_vars[:1] == ["self"] else ["self"]  # a function's that was traced
        return f"def forward({', '.join([*own, *free_vars])}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The statement that returns a result, of Nodes whose ``repr`` are their names."""
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the program as its placeholders take them."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """The result of the program as its caller gets it."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Names that the text uses, with their values."""
        return []


class Shown:
    """A value whose text in a program is not its own."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


class _PyTreeInfo(NamedTuple):
    """The parameters of a program, how trees of values lie in them, and how one is its result."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class _PyTreeCodeGen(CodeGen):
    """The text of a program whose arguments are trees, each leaf of them a placeholder."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        self.pytree_info = pytree_info

    def process_inputs(self, *args: Any) -> Any:
        return pytree.arg_tree_leaves(*args)

    def process_outputs(self, outputs: Any) -> Any:
        parts = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        return pytree.tree_unflatten(parts, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        names = self.pytree_info.orig_args
        of_module = names[:1] == ["self"]  # the module is the first of the leaves
        head = super().gen_fn_def(names[of_module:], maybe_return_annotation)
        leaves = ["self"] * of_module + [variable.split(" = ")[0] for variable in free_vars]
        if not leaves:
            return head
        given = f"fx_pytree.tree_flatten_spec([{', '.join(names)}], self._in_spec)"
        return f"{head}\n    {', '.join(leaves)}, = {given}"

    def generate_output(self, output_args: Any) -> str:
        return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"

    def additional_globals(self) -> list[tuple[str, Any]]:
        return [("fx_pytree", fx_pytree), ("pytree", pytree)]
