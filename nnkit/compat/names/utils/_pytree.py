"""torch.utils._pytree: what libraries take from its private half."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from nnkit.utils._pytree.nodes import MappingKey, is_namedtuple_class


def _get_node_type(tree: Any) -> Any:
    """The class by which a tree's root is known: one for all named tuples."""
    return namedtuple if is_namedtuple_class(type(tree)) else type(tree)


def _dict_flatten(d: dict) -> tuple[list, list]:
    """The values of a dictionary, and its keys."""
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d: dict) -> tuple[list, list]:
    """The values of a dictionary with where they are in it, and its keys."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _dict_unflatten(values: Any, context: list) -> dict:
    """The dictionary of these values and keys."""
    return dict(zip(context, values))
