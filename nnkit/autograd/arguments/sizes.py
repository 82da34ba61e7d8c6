"""Integers and sizes from users, held within what kernels can count and address.

Python's integers are exact, a kernel's have 64 bits: shapes that follow from a user's numbers are
worked out and checked above the door, so that no kernel sees a number whose sums overflow.
"""

from __future__ import annotations

import math
import operator
from typing import Any

INT64_MAX = (1 << 63) - 1  # of the integers that kernels compute with
MOST_DIMENSIONS = 64  # of NumPy's arrays
MOST_ELEMENTS = 1 << 59  # of an array: their bytes, at most 16 each, can be counted too


def is_int64(number: int) -> bool:
    return -INT64_MAX - 1 <= number <= INT64_MAX


def integer(name: str, parameter: str, value: Any) -> int:
    """An argument as an int of 64 bits.

    Raises:
        TypeError: it is no integer.
        ValueError: it does not fit.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name}(): argument '{parameter}' must be int, not {type(value).__name__}"
        ) from None
    if not is_int64(number):
        raise ValueError(
            f"{name}(): argument '{parameter}': Overflow when unpacking long long: {number}"
        )
    return number


def clipped(number: int, least: int, most: int) -> int:
    """The number, where it goes beyond what makes a difference the bound of that."""
    return max(least, min(number, most))


def check_integers(name: str, parameter: str, numbers: Any) -> None:
    """TypeError where one of a sequence of ints does not fit 64 bits, which is torch's type."""
    for position, number in enumerate(numbers):
        if not is_int64(number):
            raise TypeError(
                f"{name}(): argument '{parameter}' failed to unpack the object at pos {position} "
                f'with error "Overflow when unpacking long long": {number}'
            )


def check_shape(name: str, shape: tuple[int, ...], given: str = "") -> tuple[int, ...]:
    """The shape of an array, where its elements can be counted and addressed; ``given`` is the
    argument that it comes from, if it is the user's own.

    Raises:
        TypeError: a given size does not fit 64 bits.
        RuntimeError: a size is negative, or there are too many elements or dimensions.
    """
    if len(shape) > MOST_DIMENSIONS:
        raise RuntimeError(
            f"{name}(): only tensors with up to {MOST_DIMENSIONS} dims are supported, got "
            f"{len(shape)}"
        )
    count = math.prod(shape) or math.prod(n or 1 for n in shape)  # strides must fit all the same
    if count > MOST_ELEMENTS or (shape and min(shape) < 0):
        if given:
            check_integers(name, given, shape)
        if min(shape) < 0:
            raise RuntimeError(
                f"{name}(): Trying to create tensor with negative dimension {min(shape)}: "
                f"{list(shape)}"
            )
        what = "Stride" if 0 in shape else "Storage size"
        raise RuntimeError(f"{name}(): {what} calculation overflowed with sizes={list(shape)}")
    return shape


def check_strided(name: str, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> None:
    """A geometry in a storage, in elements, can be addressed.

    Raises:
        TypeError: a number does not fit 64 bits.
        RuntimeError: sizes and strides differ in number, a number is negative, or the last element
            lies too far away.
    """
    check_shape(name, shape, "size")
    if len(shape) != len(strides):
        raise RuntimeError(
            f"{name}(): mismatch in length of strides and shape: dimensionality of sizes "
            f"({len(shape)}) must match dimensionality of "
            f"strides ({len(strides)})"
        )
    check_integers(name, "stride", strides)
    if min(strides, default=0) < 0:
        raise RuntimeError(
            f"{name}: Negative strides are not supported at the moment, got strides: "
            f"{list(strides)}"
        )
    if offset < 0:
        raise RuntimeError(f"{name}(): invalid storage offset {offset}")
    last = offset + sum((n - 1) * s for n, s in zip(shape, strides))
    if 0 not in shape and last >= MOST_ELEMENTS:
        raise RuntimeError(
            f"{name}(): Storage size calculation overflowed with sizes={list(shape)} and "
            f"strides={list(strides)}"
        )
