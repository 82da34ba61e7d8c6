"""The axes of a reduction: None for all, an int, or a tuple of ints; and the shapes they leave."""

from __future__ import annotations

import math
from typing import Any


def terms(shape: tuple, axis: Any) -> int:
    """The number of elements that a reduction along ``axis`` of an array of ``shape`` sums up."""
    if axis is None:
        return math.prod(shape)
    if axis.__class__ is int:
        return shape[axis] if shape else 1
    return math.prod(shape[a] for a in axis)


def norm_order(shape: tuple, p: float, axis: Any) -> float:
    """``p`` of a norm, and infinity where it is that of one element: its size, as torch has it,
    though its square may overflow."""
    return math.inf if p and terms(shape, axis) == 1 else p


def summed_axes(shape: tuple, target: tuple) -> tuple[int, ...]:
    """The axes along which ``shape`` is longer than ``target``, which broadcasts to it."""
    lead = len(shape) - len(target)
    ones = (i + lead for i, n in enumerate(target) if n == 1 and shape[i + lead] != 1)
    return (*range(lead), *ones)


def kept_shape(shape: tuple, axis: int | tuple[int, ...] | None) -> list[int]:
    """The shape that a reduction along ``axis`` gives where it keeps the reduced axes."""
    if axis is None:
        return [1] * len(shape)
    reduced = {axis % len(shape)} if isinstance(axis, int) else {a % len(shape) for a in axis}
    return [1 if a in reduced else n for a, n in enumerate(shape)]
