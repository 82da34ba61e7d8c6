"""torch.utils._pytree: what libraries take from its private half."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from nnkit.utils._pytree.nodes import is_namedtuple_class


def _get_node_type(tree: Any) -> Any:
    """The class by which a tree's root is known: one for all named tuples."""
    return namedtuple if is_namedtuple_class(type(tree)) else type(tree)
