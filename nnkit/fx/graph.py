"""`Graph`: a traced program, as operations in order; it is printed as Python."""

from __future__ import annotations

import builtins
import copy
import json
import keyword
import operator
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from textwrap import indent
from types import GenericAlias, ModuleType, NoneType, UnionType
from typing import (  # noqa: UP035
    Any,
    Dict,
    FrozenSet,
    List,
    Set,
    Tuple,
    cast,
    get_args,
    get_origin,
)

from nnkit.backend.device import device
from nnkit.backend.dtype import dtype
from nnkit.backend.warning import warn
from nnkit.fx.code_gen import CodeGen, Shown
from nnkit.fx.node import (
    Argument,
    Node,
    Nodes,
    Target,
    map_aggregate,
    map_arg,
    qualified_name,
    type_name,
)

_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.floordiv: "//",
    operator.truediv: "/", operator.mod: "%", operator.lshift: "<<", operator.rshift: ">>",
    operator.and_: "&", operator.or_: "|", operator.xor: "^", operator.matmul: "@",
    operator.pow: "**", operator.eq: "==", operator.ne: "!=", operator.lt: "<",
    operator.gt: ">", operator.le: "<=", operator.ge: ">=",
}  # fmt: skip
_IN_PLACE = {
    operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.ifloordiv: "//=",
    operator.itruediv: "/=", operator.imod: "%=", operator.ilshift: "<<=", operator.irshift: ">>=",
    operator.iand: "&=", operator.ior: "|=", operator.ixor: "^=", operator.imatmul: "@=",
    operator.ipow: "**=",
}  # fmt: skip
_OLDER = {list: List, dict: Dict, set: Set, frozenset: FrozenSet, tuple: Tuple}  # noqa: UP006
_KNOWN_HOMES = ("builtins", "nnkit", "torch")
_PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}


def snake_case(name: str) -> str:
    """A name in words divided by underscores: ``max_pool`` for ``MaxPool``."""
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


class Names:
    """Names of values, each used once."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def create(self, wanted: str) -> str:
        """The name wanted, with a number where it is taken."""
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", wanted) or "_unnamed"
        name = f"_{name}" if name[0].isdigit() else name
        found = re.match(r"(.*)_(\d+)$", name)
        base, number = (found[1], int(found[2])) if found else (name, 0)
        taken = {*keyword.kwlist, *dir(builtins), "device", "inf", "nan", "NoneType", "self"}
        while name in self.used or name in taken:
            number += 1
            name = f"{base}_{number}"
        self.used.add(name)
        return name


@dataclass
class PythonCode:
    """A program as text, and the values that its text names."""

    src: str
    globals: dict[str, Any] = field(default_factory=dict)


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
        """Add the call of a module that lies in the module, by its path."""
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
            if self.owning_module is not None and node.op in ("call_module", "get_attr"):
                operator.attrgetter(str(node.target))(self.owning_module)

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

    def python_code(self, root_module: str = "self", *args: Any, **kwargs: Any) -> PythonCode:
        """The program as the text of a function ``forward``, and the values that it names."""
        return _Printer(self, root_module).code

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


def found_at(module: Any, path: str) -> Any:
    """What a module has at a path, None if it has nothing there."""
    for part in path.split("."):
        module = getattr(module, part, None)
    return module


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


def _package() -> ModuleType:
    return sys.modules["nnkit"]


class _Printer:
    """Prints a graph as a function; what has no text of its own becomes a global."""

    def __init__(self, graph: Graph, root: str) -> None:
        self.codegen = graph._codegen
        # What a program's own printer writes down may name the package.
        self.globals: dict[str, Any] = dict.fromkeys(("nnkit", "torch"), _package())
        self.globals |= dict(self.codegen.additional_globals())
        self.names = Names()
        self.names.used |= graph._names.used
        self.given = {str(node.target) for node in graph.nodes if node.op == "placeholder"}
        last_use: dict[Node, Node] = {}
        for node in graph.nodes:
            for used in node.all_input_nodes:
                last_use.pop(used, None)  # those that end here stand in its order
                last_use[used] = node
        header, lines, result = [], [], ""
        for node in graph.nodes:
            if node.op == "placeholder":
                default = f" = {self.text(node.args[0])}" if node.args else ""
                header.append(f"{node.target}{self.annotation(node)}{default}")
                name = str(node.target).lstrip("*")
                lines += [f"{node.name} = {name}"] if node.name != name else []
                continue
            if node.op == "output" and node.type is not None:
                result = f" -> {self.type_text(node.type)}"
            done = [used.name for used, user in last_use.items() if user is node]
            done += [] if node.users else [node.name]
            free = f";  {' = '.join([*done, 'None'])}" if done and node.op != "output" else ""
            lines.append(f"{self.statement(node, root)}{free}")
        statements = [f"{line}\n" for line in lines or ["pass"]]
        if self.codegen._body_transformer is not None:
            statements = self.codegen._body_transformer(statements)
        body = indent("".join(statements), "    ")
        text = f"\n\n\n{self.codegen.gen_fn_def(header, result)}\n{body}    "
        self.code = PythonCode(text, self.globals)

    def statement(self, node: Node, root: str) -> str:
        if node.op == "output":
            given, text = node.args[0], self.text(node.args[0])
            return self.codegen.generate_output(given if repr(given) == text else Shown(text))
        written = _IN_PLACE.get(cast(Any, node.target))
        if written is not None and len(node.args) == 2:
            first, second = map(self.text, node.args)
            return f"{first} {written} {second};  {node.name} = {first}"
        return f"{node.name}{self.annotation(node)} = {self.expression(node, root)}"

    def annotation(self, node: Node) -> str:
        """The type of a value after its name."""
        return "" if node.type is None else f" : {self.type_text(node.type)}"

    def type_text(self, kind: Any) -> str:
        """A type as an expression."""
        if kind == ():
            return "()"
        if isinstance(kind, UnionType):
            return "|".join(map(self.type_text, get_args(kind)))
        origin = get_origin(kind)
        if origin is not None:
            older = type(kind) is not GenericAlias  # ``List[int]``, not ``list[int]``
            name = self.class_text(_OLDER.get(origin, origin) if older else origin)
            inner = ",".join(map(self.type_text, get_args(kind)))
            return f"{name}[{inner}]" if inner else name
        return self.class_text(kind)

    def class_text(self, kind: Any) -> str:
        """A type that is made of no others."""
        if kind is NoneType or kind is device:
            return self.named(kind.__name__, kind)
        if isinstance(kind, type) and kind.__module__.partition(".")[0] in _KNOWN_HOMES:
            return self.callee(kind)
        return self.constant(type_name(kind), kind)

    def expression(self, node: Node, root: str) -> str:
        args, target = node.args, cast(Any, node.target)
        if node.op == "get_attr":
            return self.path(root, str(target))
        if node.op == "call_method":
            return f"{self.text(args[0])}.{target}({self.arguments(args[1:], node.kwargs)})"
        if node.op == "call_module":
            return f"{self.path(root, str(target))}({self.arguments(args, node.kwargs)})"
        if target in _INFIX and len(args) == 2 and not node.kwargs:
            return f"{self.text(args[0])} {_INFIX[target]} {self.text(args[1])}"
        if target in _PREFIX and len(args) == 1:
            return f"{_PREFIX[target]}{self.text(args[0])}"
        if target is operator.getitem:
            return f"{self.text(args[0])}[{self.text(args[1])}]"
        if target is builtins.getattr and isinstance(args[1], str) and args[1].isidentifier():
            if len(args) == 2:
                return f"{self.text(args[0])}.{args[1]}"
        return f"{self.callee(target)}({self.arguments(args, node.kwargs)})"

    def arguments(self, args: tuple, kwargs: dict[str, Any]) -> str:
        named = [f"{key} = {self.text(value)}" for key, value in kwargs.items()]
        return ", ".join([*map(self.text, args), *named])

    @staticmethod
    def path(root: str, target: str) -> str:
        text = root
        for part in target.split("."):
            plain = part.isidentifier() and not keyword.iskeyword(part)
            text = f"{text}.{part}" if plain else f"getattr({text}, {json.dumps(part)})"
        return text

    def callee(self, function: Callable) -> str:
        name = qualified_name(function)
        package, *rest = name.split(".")
        if package in ("nnkit", "torch") and rest:
            home = sys.modules.get(package, _package())
            if found_at(home, ".".join(rest)) is function:
                self.globals[package] = home
                return name
        if getattr(builtins, name, None) is function:
            return name
        return self.constant(name.replace(".", "_"), function)

    def constant(self, wanted: str, value: Any) -> str:
        for name, known in self.globals.items():
            if known is value:
                return name
        name = self.names.create(wanted)
        self.globals[name] = value
        return name

    def named(self, name: str, value: Any) -> str:
        """A value by this name, if no parameter of the program has it."""
        if name in self.given:
            return self.constant(name, value)
        self.globals[name] = value
        return name

    def text(self, value: Any) -> str:
        """A value as an expression."""
        kind = type(value)
        if isinstance(value, Node):
            return value.name
        if kind in (int, bool, str, bytes, type(None)) or value is ...:
            return repr(value)
        if kind in (float, complex):
            if value - value == 0:
                return repr(value)
            if kind is complex:
                return self.constant("number", value)
            return ("-" if value < 0 else "") + self.named(repr(abs(value)), abs(value))
        if kind is device:
            if "device" in self.given:
                return self.constant("_device", value)
            return self.named("device", device) + repr(value).removeprefix("device")
        if kind is tuple:
            return f"({', '.join(map(self.text, value))}{',' * (len(value) == 1)})"
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, dict):
            pairs = (f"{self.text(key)}: {self.text(each)}" for key, each in value.items())
            return f"{{{', '.join(pairs)}}}"
        if kind is slice:
            return f"slice({', '.join(map(self.text, (value.start, value.stop, value.step)))})"
        if kind is dtype:  # its name, such as ``nnkit.float32``
            self.globals[str(value).partition(".")[0]] = _package()
            return str(value)
        if isinstance(value, ModuleType):
            return self.constant(value.__name__.replace(".", "_"), value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self.constant(kind.__name__, kind)}({', '.join(map(self.text, value))})"
        return self.constant(f"_{snake_case(kind.__name__)}", value)
