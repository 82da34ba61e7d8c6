"""`Size`: the class of shapes."""

from __future__ import annotations

import operator
from typing import Any

from nnkit.backend.dtype import package_of

TRACED: set[type] = set()  # int-like classes that `nnkit.export` uses to trace sizes


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of ints that prints and slices as ``torch.Size`` does."""

    __slots__ = ()

    def __new__(cls, sizes: Any = ()) -> Size:
        numbers = []
        for position, n in enumerate(sizes):
            try:
                numbers.append(n if type(n) in TRACED else int(operator.index(n)))
            except TypeError:
                raise TypeError(
                    f"Size() takes an iterable of int, got {type(n).__name__} at {position}"
                ) from None
        return tuple.__new__(cls, numbers)

    def numel(self) -> int:
        """The number of elements of a tensor with this shape: the product of the sizes."""
        product = 1
        for n in self:
            product *= n
        return product

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return tuple.__new__(Size, found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Size:
        if isinstance(other, tuple):
            return Size(tuple.__add__(self, other))
        if hasattr(type(other), "__radd__"):
            return NotImplemented
        raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")

    def __radd__(self, other: Any) -> Size:
        return Size(other) + self if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"{package_of(self)}.Size({list(self)})"

    def __reduce__(self):
        return (Size, (tuple(self),))
