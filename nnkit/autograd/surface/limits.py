"""The numbers that each dtype can hold: `finfo`, `iinfo`, and whether a value fits."""

from __future__ import annotations

import math
from typing import Any

from nnkit.autograd.arguments.factory import dtype_of
from nnkit.autograd.op.promotion import promoted_dtype
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.tensor import Tensor
from nnkit.backend.dtype import (
    BOOL,
    COMPLEX,
    FLOATING,
    HALF,
    INTEGER,
    bfloat16,
    dtype,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    held,
)


def _ieee(digits: int, exponent: int) -> tuple[float, float, float]:
    """The distance from 1 to the next number, the largest and the smallest normal number of a
    format with infinities: ``digits`` bits after the point, the largest exponent."""
    eps = 2.0**-digits
    return eps, (2 - eps) * 2.0**exponent, 2.0 ** (1 - exponent)


# These three, and the decimal digits that survive.
_FORMATS = {
    float16: (*_ieee(10, 15), 3),
    bfloat16: (*_ieee(7, 127), 2),
    float32: (*_ieee(23, 127), 6),
    float64: (*_ieee(52, 1023), 15),
    float8_e5m2: (*_ieee(2, 15), 0),
    float8_e4m3fn: (0.125, 448.0, 2.0**-6, 0),
    float8_e4m3fnuz: (0.125, 240.0, 2.0**-7, 0),
    float8_e5m2fnuz: (0.125, 57344.0, 2.0**-15, 0),  # torch's eps, half of the distance
    float8_e8m0fnu: (1.0, 2.0**127, 2.0**-127, 0),
}


class _Limits:
    dtype: str
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.dtype == other.dtype  # type: ignore[attr-defined]


class finfo(_Limits):
    """The limits of a floating-point dtype, as ``torch.finfo``; of a complex one, of its parts.

    Attributes: ``bits``, ``eps`` (the distance from 1 to the next number), ``max``, ``min``,
    ``tiny`` = ``smallest_normal``, ``resolution`` (``10**-digits``), ``dtype`` (its name).

    Raises:
        TypeError: the dtype is neither floating point nor complex.

    Example:
        >>> import nnkit
        >>> nnkit.finfo(nnkit.float16).max
        65504.0
    """

    def __init__(self, type: Any = None) -> None:
        d = dtype_of("finfo", type)
        if d.category < FLOATING:
            raise TypeError(f"finfo() requires a floating point dtype, got {d!r}: use iinfo()")
        d = d.to_real()
        self.eps, self.max, self.smallest_normal, decimals = _FORMATS[d]
        self.bits = d.itemsize * 8
        self.min = self.smallest_normal if d is float8_e8m0fnu else -self.max
        self.tiny = self.smallest_normal
        self.resolution = float(f"1e-{decimals}")
        self.dtype = d.name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo(_Limits):
    """The limits of an integer dtype, as ``torch.iinfo``: ``bits``, ``min``, ``max``, ``dtype``.

    Raises:
        TypeError: the dtype is not an integer one.

    Example:
        >>> import nnkit
        >>> nnkit.iinfo(nnkit.uint8)
        iinfo(min=0, max=255, dtype=uint8)
    """

    def __init__(self, type: Any) -> None:
        d = dtype_of("iinfo", type)
        if d.category != INTEGER:
            raise TypeError(f"iinfo() requires an integer dtype, got {d!r}: use finfo()")
        self.bits = d.itemsize * 8
        self.max = (1 << (self.bits - d.is_signed)) - 1
        self.min = -self.max - 1 if d.is_signed else 0
        self.dtype = d.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


def _held(value: float, d: dtype) -> bool:
    """Whether a number is no larger than the finite ones of a floating dtype."""
    return not math.isfinite(value) or abs(value) <= _FORMATS[d.to_real()][1]


def fitting(name: str, value: Any, d: dtype, single: bool = False) -> Any:
    """A Python number as dtype ``d`` holds it: cut off for integers, wrapped if a negative int goes
    into an unsigned dtype.

    Args:
        single: it is given to a single element, which torch does by way of 32 bits: numbers of
            fewer bits become infinite where they would overflow.

    Raises:
        RuntimeError: it overflows.
    """
    category = d.category
    if value.__class__ is int and 0 <= value <= 127 and category in (INTEGER, FLOATING):
        return value if category == INTEGER else float(value)  # every dtype holds those
    if category == FLOATING and value.__class__ is float:
        fits = d is float64 or (single and d is not float32) or _held(value, d)
    elif category == COMPLEX:
        fits = _held(value.real, d) and _held(value.imag, d)
    elif category == BOOL:
        return bool(value)
    elif isinstance(value, complex) and value.imag:
        fits = False
    else:
        value = value.real
        if category == FLOATING:
            return fitting(name, float(value), d, single)
        fits = math.isfinite(value)
        if fits:
            limits = iinfo(d)  # a float is held to them before it is cut off
            lowest = limits.min if isinstance(value, float) else limits.min or -limits.max
            fits = lowest <= value <= limits.max
            value = int(value)
            if value < limits.min:
                value += limits.max + 1
    if not fits:
        raise RuntimeError(
            f"{name}(): value cannot be converted to type {d.name} without overflow: {value}"
        )
    return value


def fitting_beside(name: str, value: Any, other: Tensor, single: bool = False) -> Any:
    """An operand beside another one: a number as their common dtype holds it (see `fitting`)."""
    kind = value.__class__
    if kind not in (int, float, complex):
        return value
    exact = kind is int or other._array.dtype not in HALF
    if exact and kind is not complex and 0 <= value <= 127:
        return value
    d = promoted_dtype(name, value, other)
    return held(fitting(name, value, d, single), d)


def check_numbers(name: str, d: dtype, *numbers: Any) -> None:
    """RuntimeError for a real number that overflows where one computes with elements of dtype
    ``d``, which is float32 if they are shorter."""
    for number in numbers:
        if number.__class__ is not complex and not -FLOAT32_MAX <= number <= FLOAT32_MAX:
            fitting(name, number, float32 if d.array in HALF else d)


FLOAT32_MAX = finfo(float32).max
PUBLIC["finfo"] = finfo
PUBLIC["iinfo"] = iinfo
