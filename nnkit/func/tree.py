"""Nested dicts, lists and tuples of tensors as flat lists, and back."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any


def flatten(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves of ``tree``, and the function that puts other leaves in their places."""
    if isinstance(tree, dict):
        keys, parts = list(tree), [flatten(v) for v in tree.values()]
    elif isinstance(tree, (list, tuple)):
        keys, parts = None, [flatten(v) for v in tree]
    else:
        return [tree], lambda leaves: leaves[0]
    sizes = [len(leaves) for leaves, _ in parts]

    def rebuild(leaves: list[Any]) -> Any:
        values, start = [], 0
        for size, (_, inner) in zip(sizes, parts, strict=True):
            values.append(inner(leaves[start : start + size]))
            start += size
        if keys is not None:
            made: Any = copy(tree)  # a defaultdict keeps its factory
            made.update(zip(keys, values, strict=True))
            return made
        return type(tree)(*values) if hasattr(tree, "_fields") else type(tree)(values)

    return [leaf for leaves, _ in parts for leaf in leaves], rebuild


def structure(tree: Any) -> Any:
    """The tree with ``"*"`` for each leaf: equal for trees of one structure."""
    leaves, rebuild = flatten(tree)
    return rebuild(["*"] * len(leaves))
