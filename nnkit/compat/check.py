"""`check`: finds the names of torch that a program uses and nnkit lacks, without running it."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nnkit.compat.layout import ROOT, answered, find, known


@dataclass
class Need:
    """A name of torch that a program uses, and where."""

    name: str
    places: list[str] = field(default_factory=list)


class _Names(ast.NodeVisitor):
    """Collects the names of torch that one file uses."""

    def __init__(self) -> None:
        self.bound: dict[str, str] = {}  # names of the file, and what of torch they mean
        self.used: list[tuple[str, int]] = []

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] == ROOT:
                self.used.append((alias.name, node.lineno))
                self.bound[alias.asname or ROOT] = alias.name if alias.asname else ROOT

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or (node.module or "").partition(".")[0] != ROOT:
            return
        for alias in node.names:
            name = node.module if alias.name == "*" else f"{node.module}.{alias.name}"
            self.used.append((str(name), node.lineno))
            if alias.name != "*":
                self.bound[alias.asname or alias.name] = str(name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        parts: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            parts.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in self.bound:
            self.used.append((".".join([self.bound[inner.id], *reversed(parts)]), node.lineno))
        else:
            self.generic_visit(node)


def _missing(name: str) -> str | None:
    """The shortest part of a dotted name that nnkit lacks, None if it has all."""
    module, rest = ROOT, name.split(".")[1:]
    while rest:
        inner = f"{module}.{rest[0]}"
        if not (known(inner) and answered(inner)):
            break
        module, rest = inner, rest[1:]
    if not rest:
        return None
    try:
        find(module, rest[0])  # what follows are attributes of classes and functions
    except (AttributeError, ImportError):  # an ImportError is of a dependency
        return f"{module}.{rest[0]}"
    return None


def _files(path: str) -> Iterator[Path]:
    place = Path(path)
    if not place.exists():
        spec = importlib.util.find_spec(path)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(f"check: {path} is no file, folder or installed package")
        origin = Path(spec.origin)
        place = origin.parent if origin.name == "__init__.py" else origin
    yield from sorted(place.rglob("*.py")) if place.is_dir() else [place]


def check(path: str) -> list[Need]:
    """The names of torch that a file, a folder or an installed package uses and nnkit lacks.

    Raises:
        FileNotFoundError: there is no such file, folder or package.
    """
    needs: dict[str, Need] = {}
    for file in _files(path):
        try:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):  # of a template, or of another Python
            continue
        names = _Names()
        names.visit(tree)
        for name, line in names.used:
            missing = _missing(name)
            if missing is not None:
                needs.setdefault(missing, Need(missing)).places.append(f"{file}:{line}")
    return sorted(needs.values(), key=lambda need: (-len(need.places), need.name))
