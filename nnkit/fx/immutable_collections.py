"""The lists and dicts that operations hold: whoever changed one would pass by the graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from nnkit.utils._pytree import SUPPORTED_NODES, register_pytree_node


def _no_mutation(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation: the arguments of an operation "
        "are changed by giving it others, node.args = (...) or node.kwargs = {...}"
    )


class immutable_list(list):
    """A list that cannot be changed.

    Raises:
        TypeError: it is changed.

    Source: ``torch.fx.immutable_collections.immutable_list``.

    Example:
        >>> immutable_list([1, 2]) == [1, 2]
        True
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple:
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict that cannot be changed.

    Raises:
        TypeError: it is changed.

    Source: ``torch.fx.immutable_collections.immutable_dict``.

    Example:
        >>> immutable_dict(a=1) == {"a": 1}
        True
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple:
        return type(self), (tuple(self.items()),)


_CHANGES: dict[type, str] = {
    immutable_list: (
        "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse "
        "sort"
    ),
    immutable_dict: "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update",
}


def _register(kind: Any, plain: type) -> None:
    """Make the objects of a class nodes of trees, as those of its plain class are."""
    node = SUPPORTED_NODES[plain]

    def unflatten(values: Iterable, context: Any) -> Any:
        return kind(node.unflatten_fn(values, context))

    register_pytree_node(
        kind,
        node.flatten_fn,
        unflatten,
        serialized_type_name=f"torch.fx.immutable_collections.{kind.__name__}",
        flatten_with_keys_fn=node.flatten_with_keys_fn,
    )


for _kind, _names in _CHANGES.items():
    for _name in _names.split():
        setattr(_kind, _name, _no_mutation)
    _register(_kind, _kind.__base__)  # type: ignore[arg-type]
