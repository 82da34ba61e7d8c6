"""An array without memory."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from nnkit.backend.array import GEOMETRY
from nnkit.backend.memory import order_of_result, strides_of

# Each allocation gets addresses of its own, so that overlaps are found as among others. Nobody
# reads or writes there.
_addresses = itertools.count(1 << 46, 1 << 20)


class _Nowhere:
    """An object that NumPy takes for memory."""

    def __init__(self, size: int) -> None:
        self.__array_interface__ = {
            "data": (next(_addresses), False), "shape": (size,), "typestr": "|u1", "version": 3,
        }  # fmt: skip


class Meta:
    """The geometry of an array whose memory is not there.

    ``geometry`` is an array of NumPy's on addresses that stand for nothing: views are taken of it,
    and no kernel sees it.
    """

    __slots__ = ("base", "geometry")

    def __init__(self, geometry: np.ndarray, base: Meta | None) -> None:
        self.geometry = geometry
        self.base = base

    def __getattr__(self, name: str) -> Any:
        if name in GEOMETRY:
            return getattr(self.geometry, name)
        raise AttributeError(f"an array without memory has no attribute {name!r}")

    def __len__(self) -> int:
        return len(self.geometry)

    def __getitem__(self, index: Any) -> Meta:
        """A view: the index holds integers, slices, None and an Ellipsis."""
        return Meta(self.geometry[index], self.storage)

    def transpose(self, axes: Any) -> Meta:
        """The array with its axes in another order."""
        return self.seen(self.geometry.transpose(axes))

    @property
    def storage(self) -> Meta:
        """The array of bytes that the memory would have been made for."""
        return self if self.base is None else self.base

    def seen(self, geometry: np.ndarray) -> Meta:
        """A view of the same memory."""
        return Meta(geometry, self.storage)


def strided(shape: tuple, strides: Sequence[int], dtype: np.dtype) -> Meta:
    """A new array with these strides, in elements."""
    size = dtype.itemsize
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else -1
    memory = np.asarray(_Nowhere((last + 1) * size))
    geometry = np.ndarray(shape, dtype, memory, strides=[s * size for s in strides])
    return Meta(geometry, Meta(memory, None))


def empty(shape: tuple, dtype: np.dtype) -> Meta:
    """A new array by rows."""
    return strided(shape, strides_of(shape), dtype)


def in_order(shape: tuple, dtype: np.dtype, axes: tuple[int, ...] | None) -> Meta:
    """A new array whose dimension ``axes[0]`` is the slowest in memory, and so on."""
    if axes is None:
        return empty(shape, dtype)
    back = [axes.index(axis) for axis in range(len(axes))]
    return empty(tuple([shape[axis] for axis in axes]), dtype).transpose(back)


def of_operands(shape: tuple, dtype: np.dtype, operands: Sequence[Any]) -> Meta:
    """The result of an element-wise function of some arrays."""
    return in_order(shape, dtype, order_of_result(shape, operands))


def sized_by_data(x: Meta, *rest: Any) -> NoReturn:
    """The kernel of a primitive whose result has a size that depends on values."""
    raise NotImplementedError("the elements decide the size of the result, and there are none")
