"""The structure of a tree."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterable, Iterator
from typing import Any

from nnkit.utils._pytree.nodes import SUPPORTED_NODES, Context, kind_of

__all__ = [
    "BUILTIN_TYPES", "LeafSpec", "PyTreeSpec", "STANDARD_DICT_TYPES", "TreeSpec", "treespec_dict",
    "treespec_leaf", "treespec_tuple",
]  # fmt: skip

STANDARD_DICT_TYPES = frozenset((dict, OrderedDict, defaultdict))
BUILTIN_TYPES = frozenset((*STANDARD_DICT_TYPES, tuple, list, namedtuple, deque))


class TreeSpec:
    """The structure of a tree: the class and the context of each node, ``*`` for a leaf."""

    __slots__ = ("_children", "_context", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Context, children: list[TreeSpec]) -> None:
        self.type, self._context, self._children = type, context, children
        self.num_nodes = 1 + sum(child.num_nodes for child in children)
        self.num_leaves = 1 if type is None else sum(child.num_leaves for child in children)

    @property
    def context(self) -> Context:
        """The data that the node needs to be made again, beside its children."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures of the children."""
        return self._children

    @property
    def num_children(self) -> int:
        """The number of children of the node."""
        return len(self._children)

    def children(self) -> list[TreeSpec]:
        """The structures of the children, in a new list."""
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether there is no more than a leaf."""
        return self.type is None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        own, its = (self.type, self._context), (other.type, other._context)
        return own == its and self._children == other._children

    def __hash__(self) -> int:
        context = self._context
        hashable = tuple(context) if isinstance(context, list) else context
        return hash((self.type, repr(hashable), tuple(self._children)))

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        head = f"TreeSpec({self.type.__name__}, {self._context!r}, ["
        indent += 2
        parts = [child.__repr__(indent) for child in self._children]
        return head + f",\n{' ' * indent}".join(parts) + "])"

    __str__ = __repr__

    def unflatten(self, leaves: Iterable) -> Any:
        """The tree of this structure with these leaves.

        Raises:
            ValueError: there are more or fewer leaves than places.
        """
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec "
                f"refers to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._built(iter(leaves))

    def _built(self, leaves: Iterator) -> Any:
        if self.type is None:
            return next(leaves)
        children = [child._built(leaves) for child in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)

    def flatten_up_to(self, tree: Any) -> list:
        """The parts of another tree that lie where this structure has leaves.

        Raises:
            ValueError: the tree does not begin as this structure does.
        """
        found: list = []
        self._gather(tree, found)
        return found

    def _gather(self, tree: Any, found: list) -> None:
        if self.type is None:
            found.append(tree)
            return
        kind = kind_of(tree)
        if kind is not self.type and not {kind, self.type} <= STANDARD_DICT_TYPES:
            shown = type(tree) if kind is None else kind
            what = "Node type" if self.type in BUILTIN_TYPES else "Type"
            raise ValueError(f"{what} mismatch; expected {self.type!r}, but got {shown!r}.")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        if len(children) != self.num_children:
            raise ValueError(
                f"Node arity mismatch; expected {self.num_children}, but got {len(children)}."
            )
        if self.type in STANDARD_DICT_TYPES:
            keys = self._context[1] if self.type is defaultdict else self._context
            if set(keys) != set(tree):
                missing, extra = set(keys) - set(tree), set(tree) - set(keys)
                raise ValueError(
                    f"Node keys mismatch; missing key(s): {missing}; extra key(s): {extra}."
                )
            children = [tree[key] for key in keys]
        elif context != self._context and self.type is not deque:
            raise ValueError(
                f"Node context mismatch for custom node type {self.type!r}; expected "
                f"{self._context!r}, but got {context!r}."
            )
        for spec, child in zip(self._children, children):
            spec._gather(child, found)


PyTreeSpec = TreeSpec
LEAF = TreeSpec(None, None, [])


def treespec_leaf() -> TreeSpec:
    """The structure of a leaf."""
    return LEAF


def LeafSpec() -> TreeSpec:
    """The old name of `treespec_leaf`."""
    return LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """The structure of a tuple of these."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping: Any = (), /, **kwargs: TreeSpec) -> TreeSpec:
    """The structure of a dict of these."""
    specs = dict(mapping, **kwargs)
    return TreeSpec(dict, list(specs), list(specs.values()))
