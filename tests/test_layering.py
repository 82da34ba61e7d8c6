"""Imports go down and never round, libraries stay behind the door, files stay readable."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import pytest

from nnkit.backend.array import Array
from nnkit.backend.catalogue import SIGNATURES

ROOT = Path(__file__).parent.parent
FLOORS = (  # from the ground up
    *("nnkit.backend", "nnkit.autograd", "nnkit.distributed", "nnkit.nn", "nnkit.optim"),
)
PACKAGE = sorted((ROOT / "nnkit").rglob("*.py"))
FOLDERS = ("nnkit", "tests", "examples", "benchmarks", "tools")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
ON_TOP = tuple(  # torch's names for what stands above its own package
    f"nnkit.distributed.{name}." for name in ("checkpoint", "fsdp", "optim")
)

LIBRARIES = {"numpy": "nnkit.backend", "cupy": "nnkit.backend.cuda", "mpi4py": "nnkit.backend"}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imports(path: Path) -> tuple[str, ...]:
    """The full names of the modules, or of the names in them, that a file imports."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += [f"{module}.{alias.name}" for alias in node.names]
    return tuple(found)


def floor(name: str) -> int:
    """Which floor a module is on; what stands on top of all four is one above them."""
    if f"{name}.".startswith(ON_TOP):
        return len(FLOORS)
    for number, prefix in enumerate(FLOORS):
        if name == prefix or name.startswith(prefix + "."):
            return number
    return len(FLOORS)


def test_imports_go_down() -> None:
    """No module imports from a floor above its own."""
    upward = [
        f"{module_name(path)} imports {name}"
        for path in PACKAGE
        for name in imports(path)
        if name.split(".")[0] == "nnkit" and floor(name) > floor(module_name(path))
    ]
    assert upward == []


def test_libraries_stay_behind_the_door() -> None:
    outside = [
        f"{module_name(path)} imports {name}"
        for path in PACKAGE
        for name in imports(path)
        if (home := LIBRARIES.get(name.split(".")[0]))
        and not f"{module_name(path)}.".startswith(f"{home}.")
    ]
    assert outside == []


def data_of(expression: ast.AST) -> bool:
    """Whether an expression is the array of a tensor."""
    return isinstance(expression, ast.Attribute) and expression.attr == "_array"


def bound_to_arrays(function: ast.AST) -> set[str]:
    """The names that a function gives to arrays of tensors, and to nothing else."""
    bound = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and _is_bound(n)]
    bound += [n.arg for n in ast.walk(function) if isinstance(n, ast.arg)]
    arrays = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs: list = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts))
                arrays += [t.id for t, v in pairs if isinstance(t, ast.Name) and data_of(v)]
    return {name for name in arrays if arrays.count(name) == bound.count(name)}


def _is_bound(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def used_of_arrays(path: Path) -> list[str]:
    """Where a file uses attributes of arrays but those of `nnkit.backend.array.Array`."""
    public = {name for name in vars(Array) if not name.startswith("_")} | {"__class__"}
    text = path.read_text()
    if "._array" not in text:  # most files: to take them apart takes long
        return []
    tree, lines = ast.parse(text), text.splitlines()
    used = []
    for function in [tree, *(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))]:
        names: set[str] = set()
        if isinstance(function, ast.FunctionDef):
            if "._array" not in "".join(lines[function.lineno : function.end_lineno]):
                continue
            names = bound_to_arrays(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and node.attr not in public:
                named = isinstance(node.value, ast.Name) and node.value.id in names
                if named or data_of(node.value):
                    used.append(f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}")
    return used


def test_arrays_are_sealed_above_the_door() -> None:
    """What else there is to know of an array, the backend knows (tests/test_sealed.py)."""
    above = [path for path in PACKAGE if floor(module_name(path))]
    assert [used for path in above for used in used_of_arrays(path)] == []


# Imports inside functions that would close a circle if they stood above.
LATE = {
    ("nnkit.autograd.tensor", "nnkit.autograd.views.history"),
    ("nnkit.autograd.tensor", "nnkit.autograd.views.refusals"),
    ("nnkit.autograd.op.out", "nnkit.autograd.ops.shape.strided"),
    ("nnkit.autograd.ops.shape.strided", "nnkit.autograd.surface.storage"),
    ("nnkit.backend.cuda.complex", "nnkit.backend.cuda"),
    ("nnkit.backend.cuda.creation", "nnkit.backend.cuda.runtime"),
    ("nnkit.backend.cuda.creation", "nnkit.backend.cuda.source"),
    ("nnkit.backend.cuda.differences", "nnkit.backend.cuda.creation"),
    ("nnkit.backend.cuda.failures", "nnkit.backend.cuda.source"),
    ("nnkit.backend.cuda.philox", "nnkit.backend.cuda.runtime"),
    ("nnkit.backend.cuda.printer", "nnkit.backend.cuda.complex"),
    ("nnkit.backend.cuda.printer", "nnkit.backend.cuda.update"),
    ("nnkit.backend.cuda.source", "nnkit.backend.cuda.blas"),
    ("nnkit.backend.cuda.source", "nnkit.backend.cuda.cudnn"),
    ("nnkit.config", "nnkit"),
    ("nnkit.fx.node", "nnkit.fx.graph"),
}


def test_no_import_cycles() -> None:
    """No module needs one that needs it, while it is imported or, but for a few, later."""
    modules = {module_name(path): path for path in PACKAGE}

    def target(name: str) -> str:
        return name if name in modules else name.rpartition(".")[0]

    found = {
        name: {target(n) for n in imports(path)} & modules.keys() - {name}
        for name, path in modules.items()
    }
    assert {(name, other) for name, other in LATE if other not in found[name]} == set()
    graph = {name: sorted(o for o in found[name] if (name, o) not in LATE) for name in found}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join([*trail[trail.index(name) :], name])
        if name not in done:
            for other in graph[name]:
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


# What is not subject by subject: formulas, the loops that they are printed as, losses' alignments.
ASIDE = {"elementwise", "formula", "update"}
NO_OPS = {"collective"}  # whose functions are those of nnkit.distributed
# What the kernels of several subjects share.
SHARED = {
    "nnkit/backend/cpu": {
        *("accumulation", "box_muller", "build", "ctc", "elementary", "half", "memory", "native"),
        *("printer", "random_fill", "random_philox", "random_rejection", "rows", "special"),
        "summation",
    },
    "nnkit/backend/cuda": {
        *("accumulation", "blas", "checks", "compiled", "complex", "ctc", "cudnn", "differences"),
        *("failures", "geometry", "graph", "kernels", "launch", "nvrtc", "philox", "planning"),
        *("printer", "runtime", "source", "strided", "team"),
    },
}
ROOMS = (
    *("autograd/ops", "backend/reference", "backend/cpu", "backend/cpu/native/kernels"),
    "backend/cuda",
)


@pytest.mark.parametrize(
    "room", [*(f"nnkit/{r}" for r in ROOMS), "nnkit/backend/cuda", "tests/ops"]
)
def test_a_subject_has_one_name_on_every_floor(room: str) -> None:
    found = {path.stem for path in (ROOT / room).iterdir() if path.stem[0] not in "_."}
    assert found - SHARED.get(room, set()) <= {*SIGNATURES, *ASIDE}
    if room == "nnkit/autograd/ops":
        assert found >= {*SIGNATURES, "elementwise"} - NO_OPS


def test_every_folder_is_a_package() -> None:
    """A folder without ``__init__.py`` would be left out of the installed package."""
    folders = {path.parent for path in PACKAGE}
    assert sorted(folder for folder in folders if not (folder / "__init__.py").exists()) == []


def test_files_stay_readable() -> None:
    """At most 600 lines, none of more than 100 columns."""
    found = []
    for path in SOURCES:
        lines = path.read_text().splitlines()
        if len(lines) > 600:
            found.append(f"{path.relative_to(ROOT)}: {len(lines)} lines")
        long = [number for number, line in enumerate(lines, 1) if len(line) > 100]
        found += [f"{path.relative_to(ROOT)}:{number}" for number in long]
    assert found == []
