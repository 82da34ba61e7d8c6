"""The places that a step depends on, asked again before each replay: by compiled code where it
knows how to look there, else by a printed expression."""

from __future__ import annotations

import ast
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from functools import cache
from types import CodeType, ModuleType
from typing import Any

from nnkit.backend.cpu.native import MODULE

# As in checks.cpp.
ATTRIBUTE, ABSENCE, ITEM, TRUTH, LENGTH = range(5)
IDENTITY, EQUALITY, SAMENESS = range(3)
ITEMS = (dict, OrderedDict, defaultdict, list)  # which give their items without code of their own


@cache
def look_of(text: str) -> tuple[int, Any] | None:
    """What a check's text looks at, and by which name or key; None where it is something else.

    ``{}`` stands in a text for the object that is looked into, a key that is a name for a value.
    """
    node: Any = ast.parse(text.replace("{}", "place", 1), mode="eval").body
    match node:
        case ast.Attribute(ast.Name("place"), name):
            return ATTRIBUTE, name
        case ast.Compare(ast.Attribute(ast.Name("place"), name), [ast.Is()], [ast.Constant(None)]):
            return ABSENCE, name
        case ast.Subscript(ast.Name("place"), (ast.Constant() | ast.Name()) as key):
            return ITEM, key
        case ast.Call(ast.Attribute(ast.Name("place"), "get"), [ast.Name() as key]):
            return ITEM, key
        case ast.Call(ast.Name("bool"), [ast.Subscript(ast.Name("place"), ast.Constant() as key)]):
            return TRUTH, key
        case ast.Call(ast.Name("len"), [ast.Name("place")]):
            return LENGTH, None
    return None


@cache
def code_of_look(text: str) -> CodeType:
    """The code of a check's text, in which the object looked into is ``place``."""
    return compile(text.replace("{}", "place", 1), "<effects>", "eval")


def compiled_check(text: str, place: Any, found: Any, means: int, scope: dict) -> tuple | None:
    """A check as compiled code takes it, with the values of names; None where it cannot look
    there."""
    if isinstance(place, ModuleType) and text.startswith("{}.__dict__["):
        text, place = "{}" + text.removeprefix("{}.__dict__"), place.__dict__
    look = look_of(text)
    if MODULE is None or look is None:
        return None
    kind, key = look
    if kind in (ITEM, TRUTH) and type(place) not in ITEMS:
        return None
    if isinstance(key, ast.Name):
        key = scope[key.id]
    elif isinstance(key, ast.Constant):
        key = key.value
    return kind, means, place, key, found


def both(compiled: list[tuple], same: Callable, rest: Callable | None) -> Callable[[], bool]:
    """The function that asks the compiled checks, and the printed ones if there are any."""
    if MODULE is None or not compiled:
        return rest or (lambda: True)
    first = MODULE.Checks(compiled, same)
    return first if rest is None else lambda: first() and rest()
