"""Tensors without memory whose class handles operators: ``Tensor._make_wrapper_subclass``.

Such a tensor holds a `Held` in place of an array, and lives on a place of its own before its
device. The backend of that place translates each primitive into operators of torch
(`nnkit.compat.operators`) and calls ``__torch_dispatch__`` of the tensor's class with them. History
is recorded outside: a result takes the place in the graph of the Tensor that stood for it.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.autograd.arguments.overriding import DisableTorchFunctionSubclass
from nnkit.autograd.forward.level import give_place
from nnkit.autograd.op.promotion import ASKING, moved
from nnkit.autograd.surface.copying import state_of
from nnkit.autograd.tensor import blank, fill, wrap
from nnkit.backend.algebra import CATALOGUE, Primitive
from nnkit.backend.array import GEOMETRY
from nnkit.backend.device import device
from nnkit.compat.dispatch import asked, without_modes
from nnkit.compat.operators import operator, translated
from nnkit.torch_rebuild import _rebuild_from_type


class Held:
    """The geometry of a tensor without memory, in place of its array.

    Tensor and Held keep each other: results of primitives are known by their Held alone.
    """

    __slots__ = ("__weakref__", "_geometry", "offset", "tensor")

    def __init__(self, tensor: Tensor, geometry: Any, offset: int = 0) -> None:
        self.tensor, self._geometry, self.offset = tensor, geometry, offset

    def __getattr__(self, name: str) -> Any:
        if name not in GEOMETRY:
            raise AttributeError(name)
        return getattr(self._geometry, name)

    base = None


class _Place(device):
    """The place of such tensors, before the device that they report."""

    __slots__ = ("before",)
    asks = True

    def __new__(cls, before: device) -> _Place:
        if before not in _PLACES:
            self = object.__new__(cls)
            self.type, self.index, self.before = before.type, before.index, before
            self.backend = _Asking(self)  # type: ignore[assignment]
            _PLACES[before] = self
            ASKING.append(self)
        return _PLACES[before]

    def place_of(self, array: Any) -> device:
        return self if array.__class__ is Held else self.before

    def claim(self, tensor: Tensor) -> None:
        held: Any = tensor._array
        held.tensor = tensor

    def detached(self, array: Held) -> Any:
        return _array(asked(operator("detach"), (array.tensor,), {}))

    def lift(self, value: Any) -> Any:
        """An ordinary tensor as one of this place, for calls together with tensors of it."""
        if not isinstance(value, Tensor) or value._device is self:
            return value
        return moved(value, Held(value.detach(), value._array), self)

    def shown(self, value: Tensor) -> Tensor:
        """The tensor that a result stands for, with its place in the graph."""
        held: Any = value._array
        if held.tensor is not value:
            give_place(value, held.tensor)
            held.tensor._base = value._base
        return held.tensor


_PLACES: dict[device, _Place] = {}


class _Asking:
    """The primitives, each handled by the class of the tensors."""

    def __init__(self, place: _Place) -> None:
        self.place = place

    def __getattr__(self, name: str) -> Callable[..., Any]:
        primitive = CATALOGUE.get(name)
        if primitive is None:
            raise AttributeError(name)
        bound = partial(self._call, primitive)
        setattr(self, name, bound)
        return bound

    def storage_offset(self, held: Held) -> int:
        return held.offset

    def _call(self, primitive: Primitive, *arguments: Any) -> Any:
        if not any(each.__class__ is Held for each in _each(arguments)):
            return getattr(self.place.before.backend, primitive.name)(*arguments)
        return translated(self._tensor, primitive, arguments, asked, _array)

    def _tensor(self, array: Any) -> Tensor:
        return array.tensor if array.__class__ is Held else wrap(array, self.place.before)


def _each(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _each(each)
    else:
        yield value


def _array(value: Any) -> Any:
    return value._array


_slot: Any = vars(Tensor)["_array"]


def _guarded(tensor: Tensor, value: Any) -> None:
    if isinstance(value, Tensor):
        raise AttributeError(
            f"{type(tensor).__name__}: the attribute _array is nnkit's own; a wrapper must have "
            "another name for the tensor in it"
        )
    _slot.__set__(tensor, value)


def _rebuild_wrapper_subclass(
    cls: type, dtype: Any, size: Any, stride: Any, storage_offset: int, layout: Any, device: Any,
    requires_grad: bool,
) -> Any:  # fmt: skip
    return make_wrapper_subclass(
        cls, size, stride, storage_offset, None, dtype, layout, device, False, requires_grad
    )


def _reduced(self: Any, protocol: Any) -> tuple:
    """How it is pickled: by its geometry and its attributes, which hold the tensors it wraps."""
    kind, place = type(self), nnkit.device(self.device.type, self.device.index)
    made = (
        kind, self.dtype, tuple(self.shape), self.stride(), self.storage_offset(), self.layout,
        place, self.requires_grad,
    )  # fmt: skip
    return _rebuild_from_type, (_rebuild_wrapper_subclass, kind, made, state_of(self))


def _deep_copied(self: Any, memo: dict[int, Any]) -> Any:
    """A clone, as its class makes it, with copies of the attributes.

    Raises:
        RuntimeError: it is no leaf, or its class makes clones of another class.
    """
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment"
        )
    with nnkit.no_grad():
        memo[id(self)] = made = self.clone()
    if type(made) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for "
            "subclass types that properly implement clone() and for which cloning returns another "
            f"instance of the same subclass: that of {type(self).__name__} gave "
            f"{type(made).__name__}"
        )
    made.__dict__.update(copy.deepcopy(self.__dict__, memo))
    made.requires_grad_(self.requires_grad)
    made.grad = copy.deepcopy(self.grad, memo)
    return made


def make_wrapper_subclass(
    cls: type, size: Any, strides: Any = None, storage_offset: int | None = None,
    memory_format: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None, **policies: Any,
) -> Any:  # fmt: skip
    """A tensor of a class with ``__torch_dispatch__`` that has a geometry and no memory.

    Raises:
        TypeError: the class has no ``__torch_dispatch__``.
        AttributeError: later, where an object is given an attribute ``_array``.
    """
    if not hasattr(cls, "__torch_dispatch__"):
        raise TypeError(
            f"{cls.__name__} must define __torch_dispatch__ to be a wrapper of other tensors"
        )
    if "_array" not in vars(cls):
        cls._array = property(_slot.__get__, _guarded)  # type: ignore[attr-defined]
        for name, own in (("__reduce_ex__", _reduced), ("__deepcopy__", _deep_copied)):
            if inspect.unwrap(getattr(cls, name)) is getattr(Tensor, name):
                setattr(cls, name, own)
    with without_modes():
        if strides is None:
            like = nnkit.empty(tuple(size), dtype=dtype, device="meta")
        else:
            like = nnkit.empty_strided(tuple(size), tuple(strides), dtype=dtype, device="meta")
    place = nnkit.device("cpu" if device is None else device)
    self: Any = blank(cls)
    held: Any = Held(self, like._array, storage_offset or 0)
    fill(self, held, _Place(place))
    with DisableTorchFunctionSubclass():  # it may read attributes that are not set yet
        return self.requires_grad_() if requires_grad else self
