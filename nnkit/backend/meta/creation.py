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


def computed(kernel: Any) -> Any:
    """What a kernel of the CPU makes of numbers, without its elements."""

    def make(*arguments: Any) -> Meta:
        made = kernel(*arguments)
        return empty(made.shape, made.dtype)

    return make


arange, linspace, logspace = map(computed, (cpu.arange, cpu.linspace, cpu.logspace))


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
