"""Nested states as one dictionary, by paths joined with dots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nnkit.autograd.tensor import Tensor

__all__ = [
    "flatten_state_dict", "get_element", "set_element", "traverse_state_dict",
    "unflatten_state_dict",
]  # fmt: skip

Path = tuple[str | int, ...]


def traverse_state_dict(
    state_dict: Mapping[str, Any],
    visitor: Callable[[Path, Any], None],
    keep_traversing: Callable[[Any], bool] = lambda value: isinstance(value, Tensor),
) -> None:
    """Call ``visitor(path, value)`` for the leaves of a state.

    Dictionaries are traversed, and so are lists that contain, at any depth, a dictionary or a value
    that ``keep_traversing`` is true for.
    """

    def goes_on(value: Any) -> bool:
        inner = isinstance(value, list) and any(goes_on(v) or keep_traversing(v) for v in value)
        return inner or isinstance(value, Mapping)

    def visit(path: Path, value: Any) -> None:
        if not goes_on(value):
            visitor(path, value)
        elif isinstance(value, Mapping):
            for key, each in value.items():
                visit((*path, str(key)), each)
        else:
            for number, each in enumerate(value):
                visit((*path, number), each)

    for key, value in state_dict.items():
        visit((str(key),), value)


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """The leaves of a state by their paths joined with dots, and these paths.

    Raises:
        ValueError: two paths are the same when joined.

    Example:
        >>> flatten_state_dict({"a": {"b": 1}, "c": [{"d": 2}]})
        ({'a.b': 1, 'c.0.d': 2}, {'a.b': ('a', 'b'), 'c.0.d': ('c', 0, 'd')})
    """
    flat: dict[str, Any] = {}
    paths: dict[str, Path] = {}

    def keep(path: Path, value: Any) -> None:
        name = ".".join(map(str, path))
        if name in flat:
            raise ValueError(f"duplicated flatten key {name}")
        flat[name], paths[name] = value, path

    traverse_state_dict(state_dict, keep)
    return flat, paths


def unflatten_state_dict(state_dict: Mapping[str, Any], mapping: Mapping[str, Path]) -> dict:
    """The nested state from the two results of `flatten_state_dict`."""
    nested: dict[str, Any] = {}
    for name, value in state_dict.items():
        set_element(nested, mapping[name], value)
    return nested


def set_element(root_dict: Any, path: Path, value: Any) -> None:
    """Set the value at a path; missing dictionaries and lists on the way are created."""
    place = root_dict
    for key, following in zip(path, path[1:]):
        key = _made(place, key)
        if isinstance(place, list):
            if place[key] is None:
                place[key] = {} if isinstance(following, str) else []
            place = place[key]
        else:
            place = place.setdefault(key, {} if isinstance(following, str) else [])
    place[_made(place, path[-1])] = value


def _made(place: Any, key: Any) -> Any:
    """The key in a container for one of a path, which has it as a string; lists are extended."""
    if isinstance(place, list):
        place += [None] * (key + 1 - len(place))
    elif key not in place:
        return next((own for own in place if str(own) == key), key)
    return key


def get_element(root_dict: Any, path: Path, default_value: Any = None) -> Any:
    """The value at a path, or a default if there is none."""
    place = root_dict
    for key in path:
        if not (isinstance(place, (Mapping, list))):
            return default_value
        try:
            place = place[key]  # pyright: ignore[reportArgumentType, reportCallIssue]
        except (KeyError, IndexError):
            return default_value
    return place
