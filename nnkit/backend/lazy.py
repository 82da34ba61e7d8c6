"""Conjugation and negation that are put off: torch's conjugate and negative bits. And zeros that
nobody may write.

A `Lazy` stands for an array whose elements are the conjugates, the negatives, or both, of those in
another array's memory. No kernel ever sees one: it lives on a place of its own, before the device
of the memory, whose backend gives the device's primitives the array that it stands for. What such
a primitive writes, it writes back. So nothing is asked of what is not lazy.

Zeros are what torch has as a derivative where there is none (its ZeroTensors, without memory):
products with them are zeros again, whatever the other factor is, and so are their views.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nnkit.backend.algebra import CATALOGUE, Primitive
from nnkit.backend.array import GEOMETRY
from nnkit.backend.device import device
from nnkit.backend.memory import is_view, owner

# Primitives whose results may look into the same memory, with elements that are parts of numbers
# or made of them.
OF_PARTS = frozenset("imag real view_as_complex view_as_real".split())


# The operands by whose read-only zeros the result is read-only zeros.
OF_ZEROS: dict[str, Callable[[list[bool]], bool]] = {
    "add": all, "sub": all, "mul": any, "mul_grad_x": any, "mul_grad_y": any,
    "div": lambda zeros: zeros == [True, False],
}  # fmt: skip


class Lazy:
    """The array whose elements are the conjugates or the negatives of those in ``memory``, which
    is not to be written to if they are ``is_zero``.

    Its geometry is that of ``memory``; whatever else is asked of it, the array answers.
    """

    __slots__ = ("is_conj", "is_neg", "is_zero", "memory", "place")

    def __init__(
        self, memory: Any, place: LazyPlace, is_conj: bool = False, is_neg: bool = False,
        is_zero: bool = False,
    ) -> None:  # fmt: skip
        self.memory = memory
        self.place = place
        self.is_conj = is_conj
        self.is_neg = is_neg
        self.is_zero = is_zero

    def __getattr__(self, name: str) -> Any:
        return getattr(self.memory if name in GEOMETRY else self.resolved(), name)

    @property
    def base(self) -> Any:
        """The array that the memory was made for."""
        return self.memory.base if is_view(self.memory) else self.memory

    def __len__(self) -> int:
        return len(self.memory)

    def transpose(self, axes: Any) -> Lazy:
        """The array with its axes in another order."""
        return alike(self, self.memory.transpose(axes))

    def resolved(self) -> Any:
        """The array that it stands for, in memory of its own."""
        B, array = self.place.home.backend, self.memory
        if self.is_zero:
            return B.zeros_like(array)
        if self.is_conj:
            array = B.conj(array)
        return B.neg(array) if self.is_neg else array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.resolved()
        return array if dtype is None else array.astype(dtype)


def put_off(array: Any, place: Any, is_conj: bool = False, is_neg: bool = False) -> Any:
    """A view of ``array``, which lies on ``place``, that is to be conjugated or negated as well."""
    if array.__class__ is Lazy:
        if array.is_zero:
            return alike(array, array.memory)
        is_conj, is_neg = is_conj != array.is_conj, is_neg != array.is_neg
        array = array.memory
    if is_conj or is_neg:
        return Lazy(array, LazyPlace.before(place.home), is_conj, is_neg)
    return array[...]


def is_conj(array: Any) -> bool:
    """Whether conjugation is put off."""
    return getattr(array, "is_conj", False)


def is_neg(array: Any) -> bool:
    """Whether negation is put off."""
    return getattr(array, "is_neg", False)


def plain(array: Any) -> Any:
    """The array itself, or what a lazy one stands for."""
    return array.resolved() if array.__class__ is Lazy else array


def alike(array: Any, memory: Any) -> Any:
    """An array in ``memory`` whose conjugation or negation is put off if that of ``array`` is."""
    if array.__class__ is not Lazy:
        return memory
    if array.is_zero:
        return Lazy(memory, array.place, is_zero=True)
    return put_off(memory, array.place.home, array.is_conj, array.is_neg)


def memory_of(array: Any) -> Any:
    """The array itself, or the one whose memory a lazy one looks into."""
    return array.memory if array.__class__ is Lazy else array


def is_zero(array: Any) -> bool:
    """Whether an array is one of read-only zeros."""
    return array.__class__ is Lazy and array.is_zero


class LazyPlace(device):
    """The device of tensors on lazy arrays, before the device ``home`` of their memory."""

    __slots__ = ("home",)
    home: device

    @classmethod
    def before(cls, home: device) -> LazyPlace:
        """The place before a device; there is one for each."""
        if home not in _PLACES:
            self = object.__new__(cls)
            self.type, self.index, self.home = home.type, home.index, home
            backend: Any = Resolving(home)
            self.backend = backend
            _PLACES[home] = self
        return _PLACES[home]

    def zeros(self, shape: tuple, dtype: Any) -> Lazy:
        """Read-only zeros."""
        return Lazy(self.home.backend.zeros(shape, dtype), self, is_zero=True)

    def place_of(self, array: Any) -> device:
        """This place for a lazy array, else the device itself."""
        return self if array.__class__ is Lazy else self.home


_PLACES: dict[device, LazyPlace] = {}


class Resolving:
    """The primitives of a device's backend, on lazy arrays as well."""

    def __init__(self, home: device) -> None:
        self.home = home

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        primitive = CATALOGUE.get(name)
        if primitive is None:
            return getattr(self.home.backend, name)
        bound = partial(_way_of(primitive), self, primitive)
        setattr(self, name, bound)
        return bound

    def call(self, primitive: Primitive, arguments: tuple) -> Any:
        """The device's primitive, which another object may stand before."""
        return getattr(self.home.backend, primitive.name)(*arguments)


def _way_of(primitive: Primitive) -> Callable[..., Any]:
    """The way to call a primitive on lazy arrays."""
    if primitive.name in OF_ZEROS:
        return _combine
    if primitive.writes:
        return _write
    if primitive.tells and not primitive.reads:
        return _of_memory  # asked of the memory, whatever it stands for
    moves = primitive.subject in ("creation", "indexing", "shape")
    return _view if moves and any(primitive.shares.values()) else _compute


def _given(value: Any) -> Any:
    """An argument with plain arrays."""
    if value.__class__ is Lazy:
        return value.resolved()
    return list(map(plain, value)) if value.__class__ is list else value


def _compute(B: Resolving, primitive: Primitive, *arguments: Any) -> Any:
    return B.call(primitive, tuple(map(_given, arguments)))


def _combine(B: Resolving, primitive: Primitive, *arguments: Any) -> Any:
    """A sum, product or quotient: zeros, without memory, if torch gives zeros without. In an
    operation on Tensors all operands are lazy where one is of zeros; a gradient on arrays goes on
    to nodes that know of memory alone."""
    result = _compute(B, primitive, *arguments)
    zeros = list(map(is_zero, arguments))
    if not any(zeros) or not OF_ZEROS[primitive.name](zeros):
        return result
    if all(a.__class__ is Lazy for a in arguments if hasattr(a, "shape")):
        return LazyPlace.before(B.home).zeros(result.shape, result.dtype)
    return B.home.backend.zeros_like(result)


def _of_memory(B: Resolving, primitive: Primitive, *arguments: Any) -> Any:
    return B.call(primitive, tuple(map(memory_of, arguments)))


def _write(B: Resolving, primitive: Primitive, *arguments: Any) -> Any:
    given = tuple(map(_given, arguments))
    result = B.call(primitive, given)
    for name, target, written in zip(primitive.arrays, arguments, given):
        if name in primitive.writes:
            several = target.__class__ is list
            for lazy, whole in zip(*(target, written) if several else ([target], [written])):
                if lazy.__class__ is Lazy:
                    # Conjugation and negation are their own inverses.
                    lazy.place.home.backend.copy_(lazy.memory, alike(lazy, whole).resolved())
                    result = lazy if result is whole else result
    return result


def _view(B: Resolving, primitive: Primitive, x: Any, *statics: Any) -> Any:
    if x.__class__ is not Lazy:
        return B.call(primitive, (x, *statics))
    if x.is_conj and primitive.name in OF_PARTS:
        return B.call(primitive, (x.resolved(), *statics))
    result = B.call(primitive, (x.memory, *statics))

    def of(part: Any) -> Any:
        if part is x.memory:
            return x
        found = alike(x, part)
        return found if owner(part) is owner(x.memory) else plain(found)

    return tuple(map(of, result)) if isinstance(result, (tuple, list)) else of(result)
