"""The leaves of trees: as lists and back, and what is done with each."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nnkit.utils._pytree.nodes import SUPPORTED_NODES, Context, IsLeaf, KeyPath, kind_of
from nnkit.utils._pytree.structure import LEAF, TreeSpec

__all__ = [
    "_broadcast_to_and_flatten", "arg_tree_leaves", "key_get", "keystr", "map_only", "tree_all",
    "tree_all_only", "tree_any", "tree_any_only", "tree_flatten", "tree_flatten_with_path",
    "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map", "tree_map_",
    "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure", "tree_unflatten",
]  # fmt: skip


def _parts(tree: Any, is_leaf: IsLeaf) -> tuple[Any, list, Context] | None:
    """The class, the children and the context of a node; None of a leaf."""
    if is_leaf is not None and is_leaf(tree):
        return None
    kind = kind_of(tree)
    return None if kind is None else (kind, *SUPPORTED_NODES[kind].flatten_fn(tree))


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a tree is no more than a leaf."""
    return _parts(tree, is_leaf) is None


def _walk(tree: Any, leaves: list, is_leaf: IsLeaf) -> TreeSpec:
    parts = _parts(tree, is_leaf)
    if parts is None:
        leaves.append(tree)
        return LEAF
    kind, children, context = parts
    return TreeSpec(kind, context, [_walk(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list, TreeSpec]:
    """The leaves of a tree in a list, and its structure.

    Args:
        is_leaf: what it is true of is taken for a leaf, whatever it is.

    Example:
        >>> tree_flatten({"a": [1, 2], "b": None})
        ([1, 2, None], TreeSpec(dict, ['a', 'b'], [TreeSpec(list, None, [*,
            *]),
          *]))
    """
    leaves: list = []
    return leaves, _walk(tree, leaves, is_leaf)


def tree_unflatten(leaves: Iterable, treespec: TreeSpec) -> Any:
    """The tree of a structure with these leaves.

    Raises:
        TypeError: ``treespec`` is no structure.
        ValueError: there are more or fewer leaves than places.

    Example:
        >>> leaves, spec = tree_flatten({"a": [1, 2]})
        >>> tree_unflatten([x * 10 for x in leaves], spec)
        {'a': [10, 20]}
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"Expected `treespec` to be a TreeSpec, got item of type {type(treespec)} instead."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: IsLeaf = None) -> Iterator:
    """The leaves of a tree, one by one."""
    yield from tree_leaves(tree, is_leaf)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list:
    """The leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list:
    """The leaves of a call's arguments."""
    return tree_leaves(args) + [leaf for value in kwargs.values() for leaf in tree_leaves(value)]


def tree_map(func: Callable, tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """The tree of what ``func`` gives for each leaf, and for what lies there in the other trees.

    Raises:
        ValueError: another tree has not the structure of the first.

    Example:
        >>> tree_map(lambda x, y: x + y, {"a": [1, 2]}, {"a": [10, 20]})
        {'a': [11, 22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)))


def tree_map_(func: Callable, tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call ``func`` for each leaf; the tree itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(what: Any, /) -> Callable[[Callable], Callable]:
    """A decorator: the function is called for values of these types (or that a predicate is true
    of), others are given back."""
    types_ = (type, tuple, types.UnionType)
    chosen = (lambda x: isinstance(x, what)) if isinstance(what, types_) else what

    def decorate(func: Callable) -> Callable:
        return lambda x: func(x) if chosen(x) else x

    return decorate


def tree_map_only(what: Any, /, func: Callable, tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map` for leaves of some types alone.

    Example:
        >>> tree_map_only(int, lambda x: x + 1, [1, "a"])
        [2, 'a']
    """
    return tree_map(map_only(what)(func), tree, is_leaf=is_leaf)


def tree_map_only_(what: Any, /, func: Callable, tree: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map_` for leaves of some types alone."""
    return tree_map_(map_only(what)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable, tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate is true of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable, tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate is true of some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(what: Any, /, pred: Callable, tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate is true of all leaves of some types."""
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, what))


def tree_any_only(what: Any, /, pred: Callable, tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate is true of some leaf of some types."""
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if isinstance(x, what))


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: IsLeaf = None) -> Any:
    """The leaves of a tree, each as often as the structure has leaves there; None if it differs."""
    leaves, spec = tree_flatten(tree, is_leaf)
    whole = treespec.unflatten([None] * treespec.num_leaves)
    try:
        parts = spec.flatten_up_to(whole)
    except ValueError:
        return None
    counts = [tree_structure(part, is_leaf).num_leaves for part in parts]
    return [leaf for leaf, count in zip(leaves, counts) for _ in range(count)]


# Paths


def _walk_paths(tree: Any, path: tuple, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    parts = _parts(tree, is_leaf)
    if parts is None:
        yield path, tree
        return
    with_keys = SUPPORTED_NODES[parts[0]].flatten_with_keys_fn
    if with_keys is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {parts[0]}.")
    for key, child in with_keys(tree)[0]:
        yield from _walk_paths(child, (*path, key), is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a tree, each with the keys that lead to it.

    Example:
        >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [5]})]
        [("['a'][0]", 5)]
    """
    return list(_walk_paths(tree, (), is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list, TreeSpec]:
    """The leaves of a tree, each with the keys that lead to it, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable, tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """`tree_map` of a function that is given the keys that lead to the leaf, too."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in found], [leaf for _, leaf in found]
    return spec.unflatten(map(func, paths, leaves, *(spec.flatten_up_to(r) for r in rests)))


def keystr(kp: KeyPath) -> str:
    """A path as Python writes it."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """The value at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj
