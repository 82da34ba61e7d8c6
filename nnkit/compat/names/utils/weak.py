"""torch.utils.weak: references to objects by their identity, which do not keep them alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any


class WeakIdRef(weakref.ref):
    """A reference that is equal to another if both are to the same living object."""

    __slots__ = ("_id",)
    _id: int

    def __new__(cls, key: Any, callback: Any = None) -> Any:
        self = super().__new__(cls, key, callback)
        self._id = id(key)
        return self

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine, theirs = self(), other() if isinstance(other, weakref.ref) else None
        return self is other if mine is None or theirs is None else mine is theirs


class _WeakHashRef(WeakIdRef):
    """The same, that hashes as the object does."""

    __slots__ = ()

    def __new__(cls, key: Any, callback: Any = None) -> Any:
        self = super().__new__(cls, key, callback)
        self._id = hash(key)
        return self


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary by the identity of its keys, which leave it when nothing else keeps them.

    Example:
        >>> import nnkit
        >>> x, seen = nnkit.ones(1), WeakIdKeyDictionary()
        >>> seen[x] = "once"
        >>> x in seen, nnkit.ones(1) in seen
        (True, False)
        >>> del x
        >>> len(seen)
        0
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.ref_type = ref_type
        self.data: Any = {}
        if dict is not None:
            self.update(dict)

    def _reference(self, key: Any) -> Any:
        return self.ref_type(key, lambda dead: self.data.pop(dead, None))

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self._reference(key)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: Any) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # of what has no weak references
            return False

    def __iter__(self) -> Iterator[Any]:
        return (key for reference in list(self.data) if (key := reference()) is not None)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def __or__(self, other: Any) -> Any:
        return self._joined(self, other) if isinstance(other, Mapping) else NotImplemented

    def __ror__(self, other: Any) -> Any:
        return self._joined(other, self) if isinstance(other, Mapping) else NotImplemented

    def __ior__(self, other: Any) -> WeakIdKeyDictionary:
        self.update(other)
        return self

    def _joined(self, *parts: Mapping) -> WeakIdKeyDictionary:
        joined = type(self)(ref_type=self.ref_type)
        for part in parts:
            joined.update(part)
        return joined

    def keyrefs(self) -> list[Any]:
        """The references to the keys, some of which may be gone by now."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary with the same keys and values."""
        return self._joined(self)

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> WeakIdKeyDictionary:
        """The same keys with copies of the values."""
        return self._joined({key: deepcopy(value, memo) for key, value in self.items()})


WeakTensorKeyDictionary = WeakIdKeyDictionary
TensorWeakRef = WeakIdRef
