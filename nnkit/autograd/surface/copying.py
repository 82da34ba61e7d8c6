"""Copies of tensors: what `copy`, `copy.deepcopy` and `pickle` make of one."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from nnkit.autograd.op.public import attach
from nnkit.autograd.ops.shape.strided import geometry
from nnkit.autograd.surface.metadata import check_has_memory, is_conj, is_neg
from nnkit.autograd.surface.storage import storage
from nnkit.autograd.tensor import Tensor, blank, fill
from nnkit.backend.device import cpu
from nnkit.backend.lazy import LazyPlace, alike, memory_of, plain, put_off
from nnkit.backend.memory import extent
from nnkit.backend.warning import warn


def shallow_copy(self: Tensor) -> Tensor:
    """A leaf of the same class on the same memory, which requires a gradient if this one does."""
    check_has_memory("__copy__", self, NotImplementedError)
    copy = blank(type(self))
    fill(copy, self._array, self._device)
    _count_set(copy)
    copy._requires_grad = self.requires_grad
    copy.__dict__.update(self.__dict__)
    _fill_slots(copy, slots_of(self))
    return copy


def slots_of(tensor: Tensor) -> dict[str, Any]:
    """The attributes of a tensor of a subclass that lie in slots of that."""
    kinds = type(tensor).__mro__
    names = [n for kind in kinds[: kinds.index(Tensor)] for n in _slot_names(kind)]
    return {name: getattr(tensor, name) for name in names if hasattr(tensor, name)}


def state_of(tensor: Tensor) -> Any:
    """The attributes of a tensor as pickles have them: what its class says, a dictionary, or that
    and another one of those in slots."""
    if getattr(type(tensor), "__getstate__", None) is not getattr(Tensor, "__getstate__", None):
        return tensor.__getstate__()  # type: ignore[attr-defined]
    slots = slots_of(tensor)
    return (dict(tensor.__dict__), slots) if slots else dict(tensor.__dict__)


def _slot_names(kind: type) -> list[str]:
    slots = kind.__dict__.get("__slots__", ())
    return [n for n in ([slots] if isinstance(slots, str) else slots) if n[:2] != "__"]


def _fill_slots(tensor: Tensor, slots: dict[str, Any]) -> None:
    for name, value in slots.items():
        setattr(tensor, name, value)


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
    copy = blank(type(self))
    memory: Any = storage(self)._elements
    place = ("memory", self._device, memory.data_ptr(), memory.nbytes)
    if place not in memo:
        memo[place] = memory.clone()
    elements = memo[place].view(self.dtype)
    window = elements.as_strided(self.shape, self.stride(), self.storage_offset())
    fill(copy, plain(alike(self._array, window._array)), self._device.home)
    _count_set(copy)
    memo[id(self)] = copy
    copy._requires_grad = self._requires_grad
    if self._grad is not None:
        copy.grad = deep_copy(self._grad, memo)
    if self.__dict__:
        copy.__dict__.update(deepcopy(self.__dict__, memo))
    _fill_slots(copy, deepcopy(slots_of(self), memo))
    return copy


def _count_set(tensor: Tensor) -> None:
    """Count a write, as torch does, which sets the memory of an empty tensor."""
    if not tensor._is_inference():
        tensor._writes[:2] = 1, "set_"


def rebuild(
    cls: type, elements: Any, place: Any, requires_grad: bool, attributes: dict,
    shape: tuple[int, ...], strides: tuple[int, ...],
    conjugate: bool = False, negative: bool = False,
) -> Any:  # fmt: skip
    """Make the tensor that was pickled from the piece of memory that it lay in; of one without
    memory its size and its dtype."""
    tensor = blank(cls)
    B = place.backend
    if isinstance(elements, tuple):
        memory = B.empty(elements[0], elements[1].array)
    else:
        memory = B.array(cpu.backend.from_numpy(elements), None)
    source = (memory.shape, (1,), 0)
    array = B.as_strided(memory, shape, strides, 0, source)
    if conjugate or negative:
        array = put_off(array, place, conjugate, negative)
        place = LazyPlace.before(place)
    fill(tensor, array, place)
    _count_set(tensor)
    tensor._requires_grad = requires_grad
    tensor.__dict__.update(attributes)
    return tensor


def unserializable_hook(f: Callable) -> Callable:
    """Mark a hook of tensors as one that pickling may leave out without a warning."""
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn of each hook of a tensor that is not marked by `unserializable_hook`."""
    hooks = tensor._hooks and tensor._hooks.place
    for hook in (hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized: decorate it with "
                "utils.hooks.unserializable_hook if that is meant"
            )


def reduce(self: Tensor, protocol: int) -> tuple:
    """Pickle it as a leaf: its memory from the first to the last element, with the gaps that its
    strides leave; its device, ``requires_grad`` and attributes."""
    check_has_memory("__reduce_ex__", self, NotImplementedError)
    warn_if_has_hooks(self)
    shape, strides, offset = source = geometry(self)
    place = self._device.home
    B, memory = place.backend, memory_of(self._array)
    length = (extent(shape, strides, 0),)
    if self.is_meta:
        elements: Any = (length, self.dtype)
    else:
        elements = B.to_numpy(B.as_strided(memory, length, (1,), offset, source))
    state = state_of(self)
    plain = type(state) is dict and not hasattr(self, "__setstate__")
    return rebuild, (
        type(self), elements, place, self.requires_grad, state if plain else {}, shape, strides,
        is_conj(self), is_neg(self),
    ), *(() if plain else (state,))  # fmt: skip


attach("__copy__", shallow_copy)
attach("__deepcopy__", deep_copy)
attach("__reduce_ex__", reduce)
