"""Writes the stubs that tell editors and type checkers what importing nnkit makes at run time.

The public functions attach themselves to `Tensor` and to ``nnkit`` when they are imported, which
no type checker can see. ``python -m tools.stubs`` writes their signatures into two ``.pyi`` files;
``tests/test_stubs.py`` fails while those are out of date.
"""

from __future__ import annotations

import collections.abc
import inspect
import textwrap
import types
import typing
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nnkit
from nnkit.autograd import tensor
from nnkit.autograd.op.public import PUBLIC
from nnkit.backend.dtype import dtype

ROOT = Path(__file__).parent.parent
HEAD = '"""{subject}\n\nGenerated from the running package: ``python -m tools.stubs``.\n"""\n\n'
PYTHONS = ("__dict__", "__weakref__", "__firstlineno__", "__static_attributes__")  # in any class
FUNCTION = (
    types.FunctionType,
    type(nnkit.sum),
    type(nnkit.Tensor.sum),
    type(tensor.Tensor.__add__),
)
OWN = (*FUNCTION, type, staticmethod, classmethod, property)


class Stub:
    """One stub file: its lines, and the imports that their types need.

    A method called ``float`` hides the type of that name in the rest of its class, so types are
    never named by what a member could be called: ``builtins.int``, ``_dtype``.
    """

    def __init__(self, module: str, subject: str) -> None:
        self.module = module
        self.subject = subject
        self.imports = {"import builtins"}
        self.lines: list[str] = []

    def text(self) -> str:
        """The whole file."""
        body = "\n".join(self.lines)
        return HEAD.format(subject=self.subject) + "\n".join(sorted(self.imports)) + "\n\n" + body

    def name(self, found: type) -> str:
        """The name of a class in the stub."""
        if found.__module__ == "builtins":
            return f"builtins.{found.__name__}"
        if found.__module__ == self.module:
            return found.__qualname__
        if getattr(import_module(found.__module__), found.__name__, None) is not found:
            return self.type(Any)
        alias = found.__name__ if found is nnkit.Tensor else f"_{found.__name__}"
        self.imports.add(f"from {found.__module__} import {found.__name__} as {alias}")
        return alias

    def type(self, annotation: Any) -> str:
        """An evaluated annotation as text; what has no plain spelling is ``Any``."""
        arguments = typing.get_args(annotation)
        origin = typing.get_origin(annotation)
        if annotation is None or annotation is type(None):
            return "None"
        if annotation is ...:
            return "..."
        if origin in (types.UnionType, typing.Union):
            return " | ".join(dict.fromkeys(self.type(a) for a in arguments))
        if origin is typing.Literal:
            self.imports.add("from typing import Literal as _Literal")
            return f"_Literal[{', '.join(map(repr, arguments))}]"
        if origin is collections.abc.Callable:
            self.imports.add("from collections.abc import Callable as _Callable")
            *_, parameters, result = arguments
            texts = "..." if parameters is ... else f"[{', '.join(map(self.type, parameters))}]"
            return f"_Callable[{texts}, {self.type(result)}]"
        if isinstance(origin, type):
            return f"{self.name(origin)}[{', '.join(self.type(a) for a in arguments)}]"
        if isinstance(annotation, type):
            return self.name(annotation)
        self.imports.add("from typing import Any as _Any")
        return "_Any"

    def parameter(self, parameter: inspect.Parameter, function: Any) -> str:
        text = parameter.name
        if parameter.annotation is not parameter.empty:
            text += f": {self.type(_evaluated(parameter.annotation, function))}"
        if parameter.default is parameter.empty:
            return text
        default = parameter.default
        plain = default is None or type(default) in (bool, int, str)
        return text + (" = " if ":" in text else "=") + (repr(default) if plain else "...")

    def signature(self, function: Any, first: str | None) -> tuple[list[str], str]:
        """The parameters and the result; ``first`` renames the first parameter of a method."""
        signature = inspect.signature(function)
        parameters: list[str] = []
        positional_only = keyword_only = False
        for i, p in enumerate(signature.parameters.values()):
            if positional_only and p.kind is not p.POSITIONAL_ONLY:
                parameters.append("/")
                positional_only = False
            if p.kind is p.POSITIONAL_ONLY:
                positional_only = True
            if p.kind is p.KEYWORD_ONLY and not keyword_only:
                parameters.append("*")
            keyword_only = keyword_only or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
            if i == 0 and first is not None:
                parameters.append(f"*{p.name}" if p.kind is p.VAR_POSITIONAL else first)
                continue
            if p.kind is p.VAR_POSITIONAL and hasattr(function, "apply"):
                # A formula's function takes its numbers as they come.
                parameters += function.apply.op.primitive.statics
                keyword_only = False
                continue
            stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
            parameters.append(stars + self.parameter(p, function))
        if positional_only:
            parameters.append("/")
        return parameters, self.type(_evaluated(signature.return_annotation, function))

    def function(
        self, name: str, function: Any, first: str | None = None, takes_out: bool = False
    ) -> None:
        """``def name(...)`` with the first line of its documentation."""
        indent = "    " if first is not None else ""
        parameters, result = self.signature(function, first)
        if takes_out:
            stars = any(p.startswith("*") for p in parameters)
            parameters += [] if stars else ["*"]
            parameters.append(f"out: {self.type(Any)} = None")
        line = f"{indent}def {name}({', '.join(parameters)}) -> {result}:"
        if len(line) > 100:
            self.lines.append(f"{indent}def {name}(")
            self.lines += [f"{indent}    {p}," for p in parameters]
            line = f"{indent}) -> {result}:"
        self.lines.append(line)
        self.lines += _documentation(_summary(function), indent + "    ")

    def property(self, name: str, made: property) -> None:
        for decorator, function in (
            ("property", made.fget), (f"{name}.setter", made.fset), (f"{name}.deleter", made.fdel)
        ):  # fmt: skip
            if function is not None:
                prefix = "builtins." if decorator == "property" else ""
                self.lines.append(f"    @{prefix}{decorator}")
                self.function(name, function, "self")

    def klass(self, made: type) -> None:
        """A class with everything that is defined in it or was attached to it."""
        bases = [self.type(b) for b in vars(made).get("__orig_bases__", made.__bases__)]
        self.lines.append(f"class {made.__name__}({', '.join(bases)}):")
        self.lines += _documentation(_summary(made), "    ")
        members = [
            (name, member)
            for name, member in sorted(vars(made).items())
            if name not in PYTHONS
            and "nnkit.compat" not in str(getattr(member, "__module__", ""))  # torch's alone
        ]
        for name, annotation in inspect.get_annotations(made).items():
            self.lines.append(f"    {name}: {self.type(_evaluated(annotation, made))}")
        for name, member in members:
            if isinstance(member, types.MemberDescriptorType):
                self.lines.append(f"    {name}: {self.type(Any)}")
            elif isinstance(member, int):
                self.lines.append(f"    {name}: {self.type(type(member))}")
        for name, member in members:
            if isinstance(member, property):
                self.property(name, member)
            elif isinstance(member, staticmethod):
                self.lines.append("    @builtins.staticmethod")
                self.function(name, member.__func__, _first_with_type(self, member.__func__))
            elif isinstance(member, FUNCTION):
                self.function(name, member, "cls" if name == "__new__" else "self")
            elif name == "__hash__" and member is object.__hash__:  # which `__eq__` would take
                self.lines.append("    def __hash__(self) -> builtins.int: ...")
        self.lines.append("")


def _first_with_type(stub: Stub, function: Any) -> str:
    first = next(iter(inspect.signature(function).parameters.values()))
    return stub.parameter(first, function)


def _documentation(summary: str, indent: str) -> list[str]:
    """A docstring of one sentence, or of a few lines; ``...`` where there is none."""
    if not summary:
        return [f"{indent}..."]
    raw = "r" if "\\" in summary else ""
    width = 97 - len(indent)
    lines = textwrap.wrap(summary, width - 6, break_long_words=False, break_on_hyphens=False)
    if len(lines) == 1:
        return [f'{indent}{raw}"""{lines[0]}"""']
    return [f'{indent}{raw}"""{lines[0]}', *(indent + each for each in lines[1:]), f'{indent}"""']


def _evaluated(annotation: Any, function: Any) -> Any:
    """An annotation as an object; Any where there is none, or none that can be evaluated."""
    if annotation is inspect.Signature.empty:
        return Any
    if not isinstance(annotation, str):
        return annotation
    try:
        where = getattr(inspect.unwrap(function), "__globals__", None)
        return eval(annotation, where or vars(import_module(function.__module__)))
    except (NameError, TypeError):
        return Any


def _summary(documented: Any) -> str:
    """The first sentence of a docstring of its own."""
    text = inspect.cleandoc(documented.__doc__ or "")
    return text.partition("\n\n")[0].replace("\n", " ")


def tensor_stub() -> str:
    """``nnkit/autograd/tensor.pyi``."""
    stub = Stub(tensor.__name__, "`Tensor` with all of its methods.")
    annotations = inspect.get_annotations(tensor, eval_str=True)
    for name, value in vars(tensor).items():
        if name in annotations:
            continue
        if getattr(value, "__module__", None) == tensor.__name__:
            if isinstance(value, type):
                stub.klass(value)
            else:
                stub.function(name, value)
        elif type(value) is int and name.islower():
            stub.lines += [f"{name}: {stub.type(int)}", ""]
    for name, annotation in annotations.items():
        stub.lines.append(f"{name}: {stub.type(annotation)}")
    return stub.text() + "\n"


def _public_names() -> Iterator[tuple[str, Any]]:
    for name, value in sorted(vars(nnkit).items()):
        if not name.startswith("_") or name == "__version__":
            yield name, value


def package_stub() -> str:
    """``nnkit/__init__.pyi``."""
    stub = Stub("nnkit", "Everything ``import nnkit`` offers.")
    exports = []
    for name, value in _public_names():
        if not getattr(value, "__module__", "nnkit").startswith("nnkit"):
            continue
        if isinstance(value, type):
            exports.append(f"from {value.__module__} import {value.__name__} as {name}")
        elif PUBLIC.get(name) is value and callable(value):
            takes_out = getattr(value, "takes_out", False)
            stub.function(name, inspect.unwrap(value), takes_out=takes_out)
        elif isinstance(value, dtype):
            stub.lines.append(f"{name}: {stub.name(dtype)}")
        elif isinstance(value, types.ModuleType):
            continue
        elif inspect.isroutine(value):
            exports.append(f"from {value.__module__} import {value.__name__} as {name}")
        elif name not in (
            "SUBMODULES",
            "TYPE_CHECKING",
            "ALIASES",
            "COMPILERS",
            "DTYPES",
            "PUBLIC",
        ):
            stub.lines.append(f"{name}: {stub.type(type(value))}")
    for lazy, module in vars(nnkit)["FOUND_IN"].items():
        exports.append(f"from nnkit.{module} import {lazy} as {lazy}")
    for module in ("autograd", *vars(nnkit)["SUBMODULES"]):
        if find_spec(f"nnkit.{module}"):
            exports.append(f"from nnkit import {module} as {module}")
    stub.imports |= set(exports)
    return stub.text() + "\n"


STUBS = {
    ROOT / "nnkit" / "autograd" / "tensor.pyi": tensor_stub,
    ROOT / "nnkit" / "__init__.pyi": package_stub,
}


def main() -> None:
    for path, make in STUBS.items():
        path.write_text(make())
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
