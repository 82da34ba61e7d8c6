"""`Graph`: a traced program, as operations in order; it is printed as Python."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nnkit.backend.warning import warn
from nnkit.fx.code_gen import CodeGen
from nnkit.fx.node import (
    Argument,
    Node,
    Nodes,
    Target,
    map_aggregate,
    map_arg,
)
from nnkit.fx.printer import Names, Printer, PythonCode, snake_case
from nnkit.fx.readable import Remarks


class Graph:
    """The operations of a program, in order.

    Args:
        owning_module: the `GraphModule` that runs it.
        tracer_cls: the class of what has traced it.

    Source: ``torch.fx.Graph``.

    Example:
        >>> import nnkit
        >>> graph = nnkit.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.output(graph.call_function(nnkit.relu, (x,)))
        >>> print(graph)
        graph():
            %x : [num_users=1] = placeholder[target=x]
            %relu : [num_users=1] = call_function[target=nnkit.relu](args = (%x,), kwargs = {})
            return relu
    """

    def __init__(
        self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: Any = None
    ) -> None:
        self.owning_module, self._tracer_cls, self._tracer_extras = (
            owning_module,
            tracer_cls,
            tracer_extras,
        )
        self._root = Node(self, "", "root", "", (), {})
        self._names = Names()
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}  # where the text of what was traced stands
        self._insert: Callable[[Node], None] = self._root.prepend

    @property
    def nodes(self) -> Nodes:
        """The operations in order."""
        return Nodes(self._root)

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The operations of a kind, and with a target."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self) -> Node:
        """The operation that returns."""
        return next(node for node in reversed(self.nodes) if node.op == "output")

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add an operation where the graph is being written, at its end if nothing else is said."""
        wanted = name if name is not None else self._name_of(target)
        made = self._names.create(wanted)
        node = Node(self, made, op, target, args or (), kwargs or {}, type_expr)
        self._insert(node)
        return node

    @staticmethod
    def _name_of(target: Target) -> str:
        name = target if isinstance(target, str) else getattr(target, "__name__", "value")
        if name[:2] == "__" and name[-2:] == "__" and len(name) > 4:
            name = name[2:-2]
        return snake_case(name)

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """Add an argument of the program."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add the reading of an attribute of the module, by its path.

        Warns:
            UserWarning: the module has no such attribute.
        """
        if self.owning_module is not None and not _has(self.owning_module, qualified_name):
            warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning "
                f"GraphModule: it has no {qualified_name}. Give it one with "
                "GraphModule.add_submodule, Module.register_parameter or Module.register_buffer"
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable,
        args: tuple | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add the call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add the call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, None, type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add the call of a module that lies in the module, by its path.

        Raises:
            AttributeError: the module has none there.
        """
        if self.owning_module is not None:
            self.owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, None, type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Add the return of a value."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """Add an operation of another graph, with its arguments changed by ``arg_transform``."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Any:
        """Add the operations of another graph; its output, as a value of this one."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    def __deepcopy__(self, memo: dict | None = None) -> Graph:
        made = Graph(tracer_cls=self._tracer_cls)
        made._codegen = copy.deepcopy(self._codegen)
        values: dict[Node, Node] = {}
        output = made.graph_copy(self, values, return_output_node=True)
        if output is not None:
            last = made.output(output[0], output[1].type)
            last.meta = copy.copy(output[1].meta)
            values[output[1]] = last
        if memo is not None:
            memo[id(self)] = made
            memo.update((id(old), new) for old, new in values.items())
        return made

    def __reduce__(self) -> Any:
        rows = [(n.name, n.op, n.target, n.args, n.kwargs, n.type) for n in self.nodes]
        named = [(*row[:3], *map_arg(row[3:5], lambda n: _Named(n.name)), row[5]) for row in rows]
        return _rebuilt, (named, kept(self._tracer_cls), self._codegen)

    def inserting_before(self, n: Node | None = None) -> Any:
        """A block whose new operations come before ``n``, or first of all.

        Without a block it holds from now on.
        """
        return _Place(self, self._root.append if n is None else n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """A block whose new operations come after ``n``, or last of all."""
        return _Place(self, self._root.prepend if n is None else n._next.prepend)

    def erase_node(self, to_erase: Node) -> None:
        """Take an operation away.

        Raises:
            RuntimeError: its result is used.
        """
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in "
                f"the graph: {to_erase.users}!"
            )
        if to_erase._erased:
            return
        to_erase._unlink()
        to_erase._erased = True
        to_erase._set((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take away the operations whose results nobody uses; whether there were any."""
        found = False
        for node in reversed(self.nodes):
            impure = is_impure_node(node) if is_impure_node else node.is_impure()
            if not impure and not node.users:
                self.erase_node(node)
                found = True
        return found

    def lint(self) -> None:
        """Check that names are unique, and that values are used after they were computed.

        Raises:
            RuntimeError: it is not so, or an attribute is not to be found in the module.
        """
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"lint: Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(
                        f"lint: Argument '{used}' of Node '{node}' does not belong to this Graph, "
                        "but was used as an argument!"
                    )
                if used not in seen:
                    raise RuntimeError(
                        f"lint: Argument '{used}' of Node '{node}' was used before it has been "
                        "defined!"
                    )
            if node.name in names:
                raise RuntimeError(f"lint: there are two operations called {node.name}")
            seen.add(node)
            names.add(node.name)
            reads = self.owning_module is not None and node.op in ("call_module", "get_attr")
            if reads and not _has(self.owning_module, str(node.target)):
                raise RuntimeError(
                    f"lint: Node {node} target {node.target} references nonexistent attribute"
                )

    def set_codegen(self, codegen: CodeGen) -> None:
        """Choose how the program's text is made, when its module is next compiled."""
        self._codegen = codegen

    def on_generate_code(self, make_transformer: Callable[[Any], Any]) -> Any:
        """Change the statements of the program's text, when its module is next compiled.

        Args:
            make_transformer: gets what changes them now, or None, and gives what shall: a function
                of the list of statements, each with its end of line, that gives such a list.

        Returns:
            A block after which the old one is there again.
        """
        old = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(old)

        @contextmanager
        def block() -> Iterator[None]:
            try:
                yield
            finally:
                self._codegen._body_transformer = old

        return block()

    def process_inputs(self, *args: Any) -> Any:
        """The arguments of the program as its placeholders take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """The result of the program as its caller gets it."""
        return self._codegen.process_outputs(out)

    def python_code(
        self,
        root_module: str = "self",
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        additional_meta: list[str] | None = None,
        **kwargs: Any,
    ) -> PythonCode:
        """The program as the text of a function ``forward``, and the values that it names.

        Args:
            verbose: whether it has remarks, see `GraphModule.print_readable`.
        """
        told = tuple(additional_meta or ())
        remarks = Remarks(told, include_stride, include_device) if verbose else None
        return Printer(self, root_module, remarks).code

    def print_tabular(self) -> None:
        """Print the operations as a table."""
        rows = [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        head = ("opcode", "name", "target", "args", "kwargs")
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        for row in (head, tuple("-" * width for width in widths), *rows):
            print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())

    def __str__(self) -> str:
        return "\n    ".join(["graph():", *(node.format_node() for node in self.nodes)])


def _has(module: Any, path: str) -> bool:
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


class _Place:
    """The place of new operations, from now on or, as a block, until its end."""

    def __init__(self, graph: Graph, insert: Callable[[Node], None]) -> None:
        self._graph, self._before = graph, graph._insert
        graph._insert = insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        self._graph._insert = self._before


@dataclass(frozen=True)
class _Named:
    """An operation by its name, in a pickle."""

    name: str


def kept(tracer_cls: Any) -> Any:
    """The class of a tracer for a pickle: none, where a function has made it."""
    return None if "<locals>" in getattr(tracer_cls, "__qualname__", "") else tracer_cls


def _rebuilt(rows: list[tuple], tracer_cls: Any, codegen: CodeGen) -> Graph:
    graph, nodes = Graph(tracer_cls=tracer_cls), {}
    graph._codegen = codegen

    def found(value: Any) -> Any:
        return nodes[value.name] if isinstance(value, _Named) else value

    for name, op, target, args, kwargs, kind in rows:
        args, kwargs = map_aggregate(args, found), map_aggregate(kwargs, found)
        nodes[name] = graph.create_node(op, target, args, kwargs, name, kind)
    return graph
