"""`FxGraphDrawer`: a program as a picture, by Graphviz."""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import Any

from nnkit.fx.graph_module import GraphModule
from nnkit.fx.node import Node, _format_arg, map_arg
from nnkit.fx.operator_schemas import normalize_function
from nnkit.fx.passes.shape_prop import TensorMetadata
from nnkit.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target
from nnkit.utils._pytree import tree_leaves

__all__ = ["FxGraphDrawer"]

_COLOURS = {"placeholder": "AliceBlue", "get_attr": "LightGrey", "output": "PowderBlue"}
_OF_CALLS = ("CadetBlue1", "Coral", "Khaki1", "LemonChiffon1", "MistyRose1", "Thistle1", "Wheat1")


class FxGraphDrawer:
    """Draws a program, and those of the programs that it calls.

    What `ShapeProp` has noted stands in the picture.

    Args:
        graph_module: the program.
        name: the name of the picture.
        ignore_getattr: leave the readings of attributes out.
        ignore_parameters_and_buffers: leave those of called modules out.
        skip_node_names_in_args: show constants among the arguments only.
        parse_stack_trace: show the line of the traced program, if it is known.
        dot_graph_shape: the shape of operations, ``"record"`` if nothing is said.
        normalize_args: show all arguments by name.

    Raises:
        RuntimeError: the package pydot is not there.

    Source: ``torch.fx.passes.graph_drawer.FxGraphDrawer``.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        name: str,
        ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False,
        skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False,
        dot_graph_shape: str | None = None,
        normalize_args: bool = False,
    ) -> None:
        try:
            import pydot
        except ImportError as error:
            raise RuntimeError(
                "FXGraphDrawer requires the pydot package to be installed, as it draws by it"
            ) from error
        self._pydot: Any = pydot
        self._name, self.dot_graph_shape = name, dot_graph_shape or "record"
        self.normalize_args, self._parse_stack_trace = normalize_args, parse_stack_trace
        self._ignores = (ignore_getattr, ignore_parameters_and_buffers, skip_node_names_in_args)
        self._dot_graphs = {name: self._drawn(graph_module, name)}
        for node in graph_module.graph.find_nodes(op="call_module"):
            inner = graph_module.get_submodule(str(node.target))
            if isinstance(inner, GraphModule):
                path = f"{name}_{node.target}"
                self._dot_graphs[path] = self._drawn(inner, path)

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The picture, a ``pydot.Dot``, of the program or of one that it calls."""
        return self._dot_graphs[f"{self._name}_{submod_name}" if submod_name else self._name]

    def get_main_dot_graph(self) -> Any:
        """The picture of the program."""
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The picture of a program that it calls, by its path."""
        return self.get_dot_graph(submod_name)

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """All pictures by their names."""
        return self._dot_graphs

    def _drawn(self, program: GraphModule, name: str) -> Any:
        without_attributes, without_parameters, _ = self._ignores
        drawing = self._pydot.Dot(name, rankdir="TB")
        modules = dict(program.named_modules())
        nodes = [n for n in program.graph.nodes if not (without_attributes and n.op == "get_attr")]
        for node in nodes:
            colour = _COLOURS.get(node.op) or _colour(get_node_target(modules, node))
            self._box(drawing, node.name, self._label(node, modules), colour)
            if node.op == "call_module" and not without_parameters:
                module = modules[str(node.target)]
                for path, value in (*module.named_parameters(), *module.named_buffers()):
                    whole = f"{node.target}.{path}"
                    text = f"{{{whole}|{value.dtype}{[*value.shape]}}}"
                    self._box(drawing, whole, text, "Salmon")
                    drawing.add_edge(self._pydot.Edge(whole, node.name))
        for node in nodes:
            for user in node.users:
                drawing.add_edge(self._pydot.Edge(node.name, user.name))
        return drawing

    def _box(self, drawing: Any, name: str, label: str, colour: str) -> None:
        style = {"shape": self.dot_graph_shape, "style": '"filled,rounded"', "fillcolor": colour}
        drawing.add_node(self._pydot.Node(name, label=f'"{label}"', **style))

    def _label(self, node: Node, modules: dict[str, Any]) -> str:
        rows = [f"name=%{node.name}", f"op_code={node.op}"]
        called = node.op in CALLABLE_NODE_OPS
        rows.append(f"target={get_node_target(modules, node) if called else node.target}")
        args, kwargs = self._arguments(node)
        rows += [f"args={_text(args)}"] * bool(args) + [f"kwargs={_text(kwargs)}"] * bool(kwargs)
        rows.append(f"num_users={len(node.users)}")
        for meta in tree_leaves(
            node.meta.get("tensor_meta"), lambda x: isinstance(x, TensorMetadata)
        ):
            if isinstance(meta, TensorMetadata):
                rows.append(f"{meta.dtype}{[*meta.shape]}")
        if self._parse_stack_trace and node.stack_trace:
            rows.append(_text(node.stack_trace.strip().splitlines()[-1].strip()))
        return f"{{{'|'.join(rows)}}}"

    def _arguments(self, node: Node) -> tuple[Any, Any]:
        args, kwargs = node.args, node.kwargs
        if self.normalize_args and node.op == "call_function":
            with suppress(TypeError):  # it has no signature, or these are not its arguments
                args, kwargs = normalize_function(  # type: ignore[misc]
                    node.target,  # type: ignore[arg-type]
                    args,
                    kwargs,
                    normalize_to_only_use_kwargs=True,
                )
        if node.op == "output" or self._ignores[2]:
            args = () if node.op == "output" else tuple(a for a in args if _is_constant(a))
            kwargs = {key: value for key, value in kwargs.items() if _is_constant(value)}
        return args, kwargs


def _is_constant(value: Any) -> bool:
    found: list[Node] = []
    map_arg(value, lambda node: found.append(node))
    return not found


def _colour(target: str) -> str:
    return _OF_CALLS[zlib.crc32(target.encode()) % len(_OF_CALLS)]


def _text(value: Any) -> str:
    """A value without what Graphviz reads as something else."""
    text = _format_arg(value)
    for mark in '\\{}|<>"':
        text = text.replace(mark, f"\\{mark}")
    return text
