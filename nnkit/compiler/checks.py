"""The places that a step depends on, asked again before each replay: by compiled code where it
knows how to look there, else by the functions that stand here."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

from nnkit.backend.cpu.native import MODULE
from nnkit.backend.device import device
from nnkit.backend.dtype import dtype

PLAIN = (bool, int, float, complex, str, bytes, range, device, dtype, type(None), type(...))
MISSING = object()  # what an optional place has where there is nothing
GONE = object()
IDENTITY, EQUALITY, SAMENESS = range(3)  # as in checks.cpp
ITEMS = (dict, OrderedDict, defaultdict, list)  # which give their items without code of their own
Look = Callable[[Any, Any], Any]


# What may be looked at in an object, the place, by a name or a key.


def attribute(place: Any, name: str) -> Any:
    return getattr(place, name)


def absence(place: Any, name: str) -> bool:
    return getattr(place, name) is None


def item(place: Any, key: Any) -> Any:
    return place[key]


def truth(place: Any, key: Any) -> bool:
    return bool(place[key])


def length(place: Any, _: Any) -> int:
    return len(place)


def optional_item(place: Any, key: Any) -> Any:
    return place.get(key, MISSING)


def of_class(place: type, name: str) -> Any:
    return place.__dict__[name]


def optional_attribute(place: Any, name: str) -> Any:
    return getattr(place, name, MISSING)


def equality(place: Any, value: Any) -> bool:
    return place == value


def sequence(place: Any, values: tuple) -> bool:
    return tuple(place) == values


def outcome(place: Callable[[], Any], _: Any) -> Any:
    return place()


# In the order of checks.cpp.
COMPILED = attribute, absence, item, truth, length, optional_item, of_class


def now(check: tuple) -> Any:
    """The value that is there; `GONE` where there is none."""
    look, key, place, _, _ = check
    try:
        return look(place, key)
    except (LookupError, AttributeError, ValueError):  # a ValueError: of an empty cell
        return GONE


def holds(check: tuple) -> bool:
    """Whether all is as it was in a place."""
    found, value = check[3], now(check)
    means = _means(found)
    if value is found or means == IDENTITY:
        return value is found
    return value == found if means == EQUALITY else same(value, found)


def _means(found: Any) -> int:
    """How what is there must be what was found."""
    if found is None or isinstance(found, bool):
        return IDENTITY
    if type(found) is int:
        return EQUALITY
    return SAMENESS if type(found) in PLAIN else IDENTITY


def same(now: Any, found: Any) -> bool:
    """Whether two plain values are the same to every program."""
    if now is found:
        return True
    if type(now) is not type(found) or now != found:
        return False
    return bool(now) or str(now) == str(found)  # of zeros the sign counts


def all_hold(checks: list[tuple]) -> Callable[[], bool]:
    """The function that tells whether all is as it was.

    Args:
        checks: where to look: (one of the functions above, its argument, a name or key; the place;
            what was found there; how the user would call it).
    """
    if MODULE is None:
        return lambda: all(map(holds, checks))
    compiled = MODULE.Checks(checks, COMPILED, ITEMS, PLAIN, same, MISSING)
    rest = compiled.rest
    return compiled if not rest else lambda: compiled() and all(map(holds, rest))
