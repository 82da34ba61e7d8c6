"""The modules of torch and the names in them, and how they are found in nnkit."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib import resources
from types import ModuleType
from typing import Any

from nnkit.compat import foreign

ROOT = "torch"
# The packages that hold the namesakes of torch's modules: names that only torch has, and nnkit.
TREES = ("nnkit.compat.names", "nnkit")
_MISSING = object()


@functools.cache
def defined() -> dict[str, tuple[str, ...]]:
    """The modules of torch, and the classes and functions that each of them defines."""
    lines = resources.files("nnkit.compat").joinpath("layout.txt").read_text().splitlines()
    return {module: tuple(names) for module, *names in map(str.split, lines)}


@functools.cache
def packages() -> frozenset[str]:
    """The modules of torch that contain others."""
    return frozenset(module.rpartition(".")[0] for module in defined())


@functools.cache
def inside() -> dict[str, list[str]]:
    """The modules in each package."""
    found: dict[str, list[str]] = {}
    for module in defined():
        found.setdefault(module.rpartition(".")[0], []).append(module)
    return found


@functools.cache
def homes() -> dict[tuple[str, str], str]:
    """The module that defines a name, by the part of torch and the name: the deepest public one."""
    found: dict[tuple[str, str], str] = {}
    for module in sorted(defined(), key=lambda m: ("._" not in m, m.count("."))):
        found.update({(part(module), name): module for name in defined()[module]})
    return found


def part(module: str) -> str:
    """The part of torch that a module belongs to: ``torch.nn`` of ``torch.nn.modules.linear``."""
    strange = foreign.root(module)
    return ".".join(module.split(".")[:2]) if strange is None else strange


def namesake(module: str, tree: str) -> ModuleType | None:
    """The module of a tree at the place of one of torch, imported; None if there is none."""
    name = tree + module.removeprefix(ROOT)
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # of a parent
        return None
    return importlib.import_module(name) if found is not None else None


@functools.cache
def namesakes(module: str) -> tuple[ModuleType, ...]:
    """The modules of both trees at the place of one of torch."""
    return tuple(m for tree in TREES if (m := namesake(module, tree)) is not None)


@functools.cache
def answered(module: str) -> bool:
    """Whether nnkit has any name of a module of torch, or stand-ins for them."""
    if module == ROOT or namesakes(module) or foreign.subject(module) is not None:
        return True
    if any(map(answered, inside().get(module, ()))):
        return True
    return any(_inherited(module, name) is not _MISSING for name in defined().get(module, ()))


def find(
    module: str, name: str, load: Callable[[str], ModuleType] = importlib.import_module
) -> Any:
    """The object that a name of a module of torch stands for; ``load`` imports a module of torch.

    Raises:
        AttributeError: nnkit has nothing of that name.
    """
    own = namesakes(module)
    found = _first(own, name)
    if is_own(found) and name in getattr(own[0], "__all__", ()):  # an alias of a module
        return load(ROOT + found.__name__.removeprefix(TREES[1]))
    inner = f"{module}.{name}"
    if found is _MISSING or isinstance(found, ModuleType):
        if known(inner) and answered(inner):
            return load(inner)
        found = _MISSING if is_own(found) else found
    if found is _MISSING and (module not in packages() or name in defined().get(module, ())):
        found = _inherited(module, name)
    if found is _MISSING and foreign.subject(module):
        found = _stand_in(foreign.moved(module), name)
    if found is _MISSING and foreign.subject(module):
        found = _stand_in(module, name)
    if found is _MISSING:
        raise AttributeError(
            f"module {module!r} has no attribute {name!r}: nnkit has nothing of that name "
            "(docs/compat.md lists what it has)",
            name=name,
        )
    return found


def is_own(value: Any) -> bool:
    """Whether it is a module of nnkit."""
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] == TREES[1]


def known(module: str) -> bool:
    """Whether torch has a module of this name."""
    return module in defined() or namesake(module, TREES[0]) is not None


def _first(modules: tuple[ModuleType, ...], name: str) -> Any:
    for each in modules:
        found = getattr(each, name, _MISSING)
        if found is not _MISSING:
            return found
    return _MISSING


def _stand_in(module: str, name: str) -> Any:
    """The stand-in for a name of a module of a missing subject."""
    if name in defined().get(module, ()) or foreign.is_private_class(name):
        return foreign.stand_in(homes().get((part(module), name), module), name)
    return _MISSING


def _inherited(module: str, name: str) -> Any:
    """A name from the packages above a module, where nnkit has it in another file than torch.

    From ``torch`` itself, modules further down get only classes, and a module that nnkit has too
    gets no functions, as its own may differ. Missing subjects get nothing from above: a quantized
    Linear is no Linear.
    """
    above, top = module.rpartition(".")[0], foreign.root(module) or ROOT
    listed = name in defined().get(module, ()) or "._" in module or not namesakes(module)
    while above.startswith(top):
        found = _first(namesakes(above), name)
        near = above != ROOT or (part(module) == module and (listed or not callable(found)))
        if isinstance(found, type) or (near and not isinstance(found, ModuleType)):
            if found is not _MISSING:
                return found
        above = above.rpartition(".")[0]
    return _first(_beside(module), name) if name.startswith("_") else _MISSING


def _beside(module: str) -> tuple[ModuleType, ...]:
    """The other modules of the same package, which may hold private names of torch's module."""
    package = f"{TREES[1]}{module.removeprefix(ROOT).rpartition('.')[0]}."
    return tuple([m for n, m in list(sys.modules.items()) if n.startswith(package)])


def holder_of(module: str, name: str) -> ModuleType | None:
    """The module of nnkit that holds a name of a module of torch, if one does."""
    places = namesakes(module) + (_beside(module) if name.startswith("_") else ())
    holders = [place for place in places if hasattr(place, name)]
    first = getattr(holders[0], name) if holders else None
    if callable(first):  # a module of names may import a function that nnkit calls elsewhere
        holders = [place for place in holders if getattr(place, name) is first][-1:]
    return holders[0] if holders else None
