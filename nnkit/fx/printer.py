"""The text of a program: a graph printed as a function in Python."""

from __future__ import annotations

import builtins
import json
import keyword
import operator
import re
import sys
from collections.abc import Callable
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
from nnkit.fx.code_gen import Shown
from nnkit.fx.node import Node, found_at, qualified_name, type_name
from nnkit.fx.readable import Remarks

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


_TAKEN = {*keyword.kwlist, *dir(builtins), "device", "inf", "nan", "NoneType"}


class Names:
    """Names of values, each used once."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self._last: dict[str, int] = {}  # the number that a name had when it was last given

    def create(self, wanted: str) -> str:
        """The name wanted, with the next number where it is taken."""
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", wanted) or "_unnamed"
        name = f"_{name}" if name[0].isdigit() else name
        found = re.match(r"(.+)_(\d+)$", name)
        base = found[1] if found else name
        number = self._last.get(base, 0)
        if name not in self.used and name not in _TAKEN:
            number = int(found[2]) if found else number
        while name in self.used or name in _TAKEN:
            number += 1
            name = f"{base}_{number}"
        self.used.add(name)
        self._last[base] = number
        return name


@dataclass
class PythonCode:
    """A program as text, and the values that its text names.

    Attributes:
        _lineno_map: for each line, counted from the head of the function, the number of the
            operation in the graph.
        _prologue_start: the line of the head in the text.
    """

    src: str
    globals: dict[str, Any] = field(default_factory=dict)
    _lineno_map: dict[int, int | None] = field(default_factory=dict)
    _prologue_start: int = 4


_MARK = "  # operation "  # at the end of a statement while the text is made


def _unmarked(body: str) -> tuple[list[str], list[int | None]]:
    """The lines of a text without marks, and the number of the operation that each belongs to."""
    lines: list[str] = []
    numbers: list[int | None] = []
    for line in body.split("\n"):
        text, mark, number = line.rpartition(_MARK)
        lines.append(text if mark else line)
        numbers.append(int(number) if mark else numbers[-1] if numbers else None)
    return lines, numbers


def _package() -> ModuleType:
    return sys.modules["nnkit"]


class Printer:
    """Prints a graph as a function; what has no text of its own becomes a global."""

    def __init__(self, graph: Any, root: str, remarks: Remarks | None = None) -> None:
        self.remarks = remarks
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
        header, statements, result, said = [], [], "", ""
        for number, node in enumerate(graph.nodes):
            if node.op == "placeholder":
                default = f" = {self.text(node.args[0])}" if node.args else ""
                header.append(f"{node.target}{self.annotation(node)}{default}")
                name = str(node.target).lstrip("*")
                if node.name != name:
                    statements.append(f"{node.name} = {name}{_MARK}{number}\n")
                continue
            if remarks is not None and node.op != "output" and said != remarks.before(node):
                said = remarks.before(node)
                statements.append(f"\n{said}\n")
            if node.op == "output" and node.type is not None:
                result = f" -> {self.type_text(node.type)}"
            done = [used.name for used, user in last_use.items() if user is node]
            done += [] if node.users else [node.name]
            free = f";  {' = '.join([*done, 'None'])}" if done and node.op != "output" else ""
            statements.append(f"{self.statement(node, root)}{free}{_MARK}{number}\n")
        if self.codegen._body_transformer is not None:
            statements = self.codegen._body_transformer(statements)
        head = self.codegen.gen_fn_def(header, result)
        lines, numbers = _unmarked("".join(statements or ["pass\n"]))
        first = head.count("\n") + 1
        body = indent("\n".join(lines).lstrip("\n"), "    ")
        text = f"\n\n\n{head}\n{body}    "
        self.code = PythonCode(text, self.globals, dict(enumerate(numbers, first)))

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
        found = self.remarks.annotation(node) if self.remarks is not None else ""
        if found:
            return found
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
