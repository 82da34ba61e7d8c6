"""New arrays without memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cpu import creation as cpu
from nnkit.backend.memory import by_rows, is_ordered, order_of
from nnkit.backend.meta.array import Meta, empty, in_order, of_operands, strided


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
    made = cpu.array(data, dtype)
    return in_order(made.shape, made.dtype, order_of(made))


def empty_like(x: Meta) -> Meta:
    return in_order(x.shape, x.dtype, order_of(x))


zeros_like = ones_like = copy = empty_like


def cast(x: Meta, dtype: np.dtype) -> Meta:
    return of_operands(x.shape, dtype, [x])


def contiguous(x: Meta) -> Meta:
    return x if by_rows(x) else empty(x.shape, x.dtype)


def ordered(x: Meta, axes: tuple) -> Meta:
    return x if is_ordered(x, axes) else in_order(x.shape, x.dtype, axes)
