"""The array protocol: all that is known of an array above the door."""

from __future__ import annotations

from typing import Any, Protocol

# The attributes of NumPy's arrays that depend neither on elements nor on where these lie.
GEOMETRY = frozenset("dtype flags itemsize nbytes ndim shape size strides".split())


class Array(Protocol):
    """The attributes that the arrays of every backend have, for whoever holds one.

    All else goes through the door: what is computed of an array, where it lies in memory
    (`nnkit.backend.memory`), and what its elements are (``B.item``, ``B.to_numpy``).
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its dimensions."""
        ...

    @property
    def dtype(self) -> Any:
        """The type of its elements, as the backend calls it."""
        ...

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        ...

    @property
    def size(self) -> int:
        """The number of elements."""
        ...
