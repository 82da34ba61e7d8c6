"""The leaves of trees that have at least the structure of a given one."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

from nnkit.utils._pytree import tree_flatten

Children = Callable[[Any, Any], list]


def _items(tree: Any, spec: Any) -> list:
    return [tree[key] for key in spec.context]


def _parts(tree: Any, spec: Any) -> list:
    return [tree[index] for index in range(spec.num_children)]


_CHILDREN: dict[Any, Children] = {
    dict: _items, OrderedDict: _items, list: _parts, tuple: _parts, namedtuple: _parts,
}  # fmt: skip


def register_pytree_flatten_spec(
    cls: type, flatten_fn_spec: Children, flatten_fn_exact_match_spec: Any = None
) -> None:
    """Say what the children of an object are, given the structure that is looked for.

    Source: ``torch.fx._pytree.register_pytree_flatten_spec``.
    """
    _CHILDREN[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: Any, spec: Any) -> list:
    """The leaves of a tree where a structure has its leaves; what else it has is left out.

    Raises:
        RuntimeError: a class within the structure has not said what its children are, see
            `register_pytree_flatten_spec`, and the tree has another structure.

    Source: ``torch.fx._pytree.tree_flatten_spec``.

    Example:
        >>> from nnkit.utils._pytree import tree_structure
        >>> tree_flatten_spec({"b": 1, "a": 2, "c": 3}, tree_structure({"a": 0, "b": 0}))
        [2, 1]
    """
    if spec.is_leaf():
        return [pytree]
    if spec.type in _CHILDREN:
        pairs = zip(_CHILDREN[spec.type](pytree, spec), spec.children(), strict=False)
        return [leaf for child, inner in pairs for leaf in tree_flatten_spec(child, inner)]
    leaves, found = tree_flatten(pytree)
    if found != spec:
        raise RuntimeError(f"tree_flatten_spec: expected a tree of {spec}, got one of {found}")
    return leaves
