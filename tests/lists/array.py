"""Arrays in plain Python lists, and how their elements are read, rounded and written.

The memory is a flat list of Python numbers. A complex element takes two places, its parts, so that
these and the whole are seen in one memory. Strides and offset count places.
"""

from __future__ import annotations

import math
import struct
from array import array as packed
from collections.abc import Iterable, Sequence
from typing import Any

from nnkit.backend.dtype import BOOL, COMPLEX, FLOATING, INTEGER, OF_ARRAY, bfloat16, dtype
from nnkit.backend.memory import strides_of

Shape = tuple[int, ...]


class Array:
    """A geometry on a list. Above the door only shape, dtype, ndim and size are looked at."""

    __slots__ = ("__weakref__", "base", "dtype", "memory", "offset", "shape", "steps")

    def __init__(
        self,
        memory: list,
        shape: Sequence[int],
        dtype: Any,
        steps: Sequence[int] | None = None,
        offset: int = 0,
        base: Array | None = None,
    ) -> None:
        self.memory = memory
        self.shape = tuple(shape)
        self.dtype = dtype
        width = 2 if dtype.kind == "c" else 1
        self.steps = tuple([width * s for s in strides_of(self.shape)] if steps is None else steps)
        self.offset = offset
        self.base = base

    def seen(
        self,
        shape: Sequence[int],
        steps: Sequence[int],
        offset: int | None = None,
        dtype: Any = None,
    ) -> Array:
        """A view: another geometry on the same memory."""
        start = self.offset if offset is None else offset
        base = self if self.base is None else self.base
        return Array(self.memory, shape, dtype or self.dtype, steps, start, base)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    # What nnkit.backend.memory asks, in bytes.

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def width(self) -> int:
        """The number of places that an element takes."""
        return 2 if self.dtype.kind == "c" else 1

    @property
    def strides(self) -> Shape:
        place = self.dtype.itemsize // self.width
        return tuple([s * place for s in self.steps])

    @property
    def flags(self) -> Array:
        return self

    @property
    def c_contiguous(self) -> bool:
        expected = self.width
        for n, step in zip(reversed(self.shape), reversed(self.steps), strict=True):
            if n != 1 and step != expected:
                return not self.size
            expected *= n
        return True

    @property
    def f_contiguous(self) -> bool:
        return self.transpose(range(self.ndim)[::-1]).c_contiguous

    def transpose(self, axes: Sequence[int]) -> Array:
        return self.seen([self.shape[a] for a in axes], [self.steps[a] for a in axes])


def places(shape: Shape, steps: Sequence[int], offset: int) -> Sequence[int]:
    """Where the elements of a geometry lie, by rows."""
    found = [offset]
    for n, step in zip(shape, steps, strict=True):
        if n != 1:
            along = [k * step for k in range(n)]
            found = [start + k for start in found for k in along]
    return found


def elements(x: Array) -> list:
    """The elements by rows, as Python numbers."""
    if x.c_contiguous:
        part = x.memory[x.offset : x.offset + x.size * x.width]
        return list(map(complex, part[::2], part[1::2])) if x.width == 2 else part
    memory, where = x.memory, places(x.shape, x.steps, x.offset)
    if x.width == 2:
        return [complex(memory[p], memory[p + 1]) for p in where]
    return [memory[p] for p in where]


def write(x: Array, values: Iterable, where: Sequence[int] | None = None) -> Array:
    """Put numbers of its dtype into an array, by rows, or at some places."""
    memory = x.memory
    if where is None:
        where = places(x.shape, x.steps, x.offset)
    if x.width == 2:
        for p, value in zip(where, values, strict=True):
            memory[p], memory[p + 1] = value.real, value.imag
    else:
        for p, value in zip(where, values, strict=True):
            memory[p] = value
    return x


def made(values: list, shape: Sequence[int], dtype: Any) -> Array:
    """A new array by rows of numbers of its dtype."""
    if dtype.kind == "c":
        values = [part for value in values for part in (value.real, value.imag)]
    return Array(values, shape, dtype)


def number(x: Any) -> Any:
    """The only element."""
    return elements(x)[0]


def broadcast(*shapes: Shape) -> Shape:
    out: list[int] = []
    for shape in shapes:
        out[:0] = [1] * (len(shape) - len(out))
        for k, n in enumerate(shape, len(out) - len(shape)):
            if 1 != out[k] != n != 1:
                given = " ".join(map(str, shapes))
                raise ValueError(f"operands could not be broadcast together with shapes {given}")
            out[k] = n if out[k] == 1 else out[k]
    return tuple(out)


def expanded(x: Array, shape: Shape) -> Array:
    """A view that repeats an array along new dimensions and those of size 1."""
    new = len(shape) - x.ndim
    if new < 0 or broadcast(x.shape, shape) != tuple(shape):
        raise ValueError(f"an array of shape {x.shape} cannot be expanded to {shape}")
    pairs = zip(x.shape, shape[new:], x.steps, strict=True)
    return x.seen(shape, [0] * new + [s if here == n else 0 for here, n, s in pairs])


# Rounding


def of(x: Any) -> dtype:
    """The dtype of an array as nnkit has it."""
    return OF_ARRAY[x]


def to_float32(values: list) -> list:
    return packed("f", values).tolist()


def _to_float16(value: float) -> float:
    try:
        return struct.unpack("e", struct.pack("e", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _to_bfloat16(value: float) -> float:
    (bits,) = struct.unpack("I", struct.pack("f", to_float32([value])[0]))
    if value == value:  # to nearest, ties to even
        bits += 0x7FFF + (bits >> 16 & 1)
    return struct.unpack("f", struct.pack("I", bits & 0xFFFF0000))[0]


def _whole(value: Any, bits: int) -> int:
    """A number cut to an integer; what none holds becomes what x86 makes of it."""
    if value.__class__ is float and not abs(value) < 2.0**63:
        return -(2**31) if bits == 32 else -(2**63)
    return int(value)


def rounded(values: list, dtype: Any) -> list:
    """Real numbers, or complex ones for a complex dtype, as its elements hold them."""
    kind = of(dtype)
    if kind.category == BOOL:
        return list(map(bool, values))
    if kind.category == COMPLEX:
        values = list(map(complex, values))
        if kind.name == "complex64":
            reals = to_float32([v.real for v in values])
            return list(map(complex, reals, to_float32([v.imag for v in values])))
        return values
    if kind.category == INTEGER:
        bits = 8 * kind.itemsize
        low = -(1 << bits - 1) if kind.is_signed else 0
        mask = (1 << bits) - 1
        return [((_whole(v, bits) - low) & mask) + low for v in values]
    if kind.name == "float64":
        return list(map(float, values))
    if kind.name == "float32":
        return to_float32(values)
    if kind.itemsize == 1:
        raise NotImplementedError("lists hold no floats of eight bits")
    return list(map(_to_bfloat16 if kind is bfloat16 else _to_float16, to_float32(values)))


def converted(x: Array, dtype: Any) -> list:
    """The elements as numbers of another dtype."""
    values = elements(x)
    if x.dtype == dtype:
        return values
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        values = [v.real for v in values]
    return rounded(values, dtype)


def is_inexact(dtype: Any) -> bool:
    return of(dtype).category >= FLOATING
