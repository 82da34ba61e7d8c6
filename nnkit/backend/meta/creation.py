"""New arrays without memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cpu import creation as cpu
from nnkit.backend.memory import by_rows, is_ordered, order_of, steps_of_copy
from nnkit.backend.meta.array import Meta, empty, in_order, strided


def full(shape: tuple, value: Any, dtype: np.dtype) -> Meta:
    return empty(shape, dtype)


def empty_strided(shape: tuple, strides: tuple, dtype: np.dtype) -> Meta:
    return strided(shape, strides, dtype)


def arange(start: Any, stop: Any, step: Any, dtype: np.dtype) -> Meta:
    return empty((cpu.count_of_arange(start, stop, step, dtype),), dtype)


def linspace(start: Any, stop: Any, steps: int, dtype: np.dtype) -> Meta:
    return empty((steps,), dtype)


def logspace(start: Any, stop: Any, steps: int, base: float, dtype: np.dtype) -> Meta:
    return empty((steps,), dtype)


def array(data: Any, dtype: np.dtype | None) -> Meta:
    is_made = dtype is None and isinstance(data, np.ndarray)
    made: Any = data if is_made else cpu.array(data, dtype)
    return cast(made, made.dtype)


def empty_like(x: Meta) -> Meta:
    return cast(x, x.dtype)


zeros_like = ones_like = copy = empty_like


def cast(x: Meta, dtype: np.dtype) -> Meta:
    steps = steps_of_copy(x)
    if steps is None:
        return in_order(x.shape, dtype, order_of(x))
    return strided(x.shape, steps, dtype)


def contiguous(x: Meta) -> Meta:
    return x if by_rows(x) else empty(x.shape, x.dtype)


def ordered(x: Meta, axes: tuple) -> Meta:
    return x if is_ordered(x, axes) else in_order(x.shape, x.dtype, axes)
