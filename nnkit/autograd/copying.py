"""Copies of tensors: what `copy`, `copy.deepcopy` and `pickle` make of one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from nnkit.autograd.public import attach
from nnkit.autograd.storage import storage
from nnkit.autograd.tensor import Tensor, fill
from nnkit.backend.device import cpu


def shallow_copy(self: Tensor) -> Tensor:
    """A leaf of the same class on the same memory, which requires a gradient if this one does."""
    copy = object.__new__(type(self))
    fill(copy, self._data, self._device)
    copy._requires_grad = self.requires_grad
    copy.__dict__.update(self.__dict__)
    return copy


def deep_copy(self: Tensor, memo: dict) -> Tensor:
    """A leaf of the same class with its own memory, and a copy of its gradient.

    What shared its memory shares that of the copy, if it is copied by the same call.

    Raises:
        RuntimeError: it was made by a recorded operation.
    """
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            f"protocol at the moment: got one made by {self.grad_fn.name()}"
        )
    copy = object.__new__(type(self))
    memory: Any = storage(self)._elements
    place = ("memory", self._device, memory.data_ptr(), memory.nbytes)
    if place not in memo:
        memo[place] = memory.clone()
    elements = memo[place].view(self.dtype)
    window = elements.as_strided(self.shape, self.stride(), self.storage_offset())
    fill(copy, window._data, self._device)
    copy._writes = window._writes
    memo[id(self)] = copy
    copy._requires_grad = self._requires_grad
    if self._grad is not None:
        copy._grad = deep_copy(self._grad, memo)
    if self.__dict__:
        copy.__dict__.update(deepcopy(self.__dict__, memo))
    return copy


def rebuild(
    cls: type, array: Any, place: Any, requires_grad: bool, attributes: dict, order: tuple[int, ...]
) -> Any:
    """Make the tensor that was pickled, whose dimensions lay in memory in ``order``."""
    tensor = object.__new__(cls)
    B = place.backend
    data = B.array(cpu.backend.from_numpy(array), None)
    fill(tensor, B.permute(data, tuple(map(order.index, range(len(order))))), place)
    tensor._requires_grad = requires_grad
    tensor.__dict__.update(attributes)
    return tensor


def reduce(self: Tensor, protocol: int) -> tuple:
    """Pickle it as a leaf: its array, device, ``requires_grad`` and attributes."""
    order = tuple(sorted(range(self.ndim), key=self.stride().__getitem__, reverse=True))
    B = self._device.backend
    array = B.to_numpy(B.permute(self._data, order))
    attributes = dict(self.__dict__)
    return rebuild, (type(self), array, self._device, self.requires_grad, attributes, order)


attach("__copy__", shallow_copy)
attach("__deepcopy__", deep_copy)
attach("__reduce_ex__", reduce)
