"""`CodeGen`: how a graph becomes the text of a function, which programs may change."""

from __future__ import annotations

from typing import Any


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

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The head of the function, given the text of its parameters but for ``self``."""
        return f"def forward({', '.join(['self', *free_vars])}){maybe_return_annotation}:"

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
