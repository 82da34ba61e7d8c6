"""New arrays and copies."""

from __future__ import annotations

import math
from typing import Any

from nnkit.backend.dtype import bool_, default_dtype, int64
from nnkit.backend.memory import extent
from tests.lists.array import Array, converted, elements, expanded, made, rounded, write


def full(shape: tuple, value: Any, dtype: Any) -> Array:
    if isinstance(value, complex) and dtype.kind not in "cb":
        value = value.real
    one = made(rounded([value], dtype), (), dtype)
    return Array(one.memory * math.prod(shape), shape, dtype)


def empty_strided(shape: tuple, strides: tuple, dtype: Any) -> Array:
    width = 2 if dtype.kind == "c" else 1
    room = extent(shape, strides, 0)
    memory = Array([0] * (room * width), (room,), dtype)
    return memory.seen(shape, [s * width for s in strides])


def arange(start: Any, stop: Any, step: Any, dtype: Any) -> Array:
    """``start + i * step`` in double precision, or in integers, rounded once."""
    if dtype.name == "int64":
        start, step = int(start), int(step)
        count = -((int(stop) - start) // -step)
    else:
        count = math.ceil((stop - start) / step)
    if dtype.kind in "iu":
        start, step = int(start), int(step)
    values = [start + i * step for i in range(max(count, 0))]
    return made(rounded(values, dtype), (len(values),), dtype)


def _ramp(start: Any, stop: Any, step: Any, steps: int) -> list:
    """``steps`` values, ``step`` apart, counted from the nearer end."""
    half = steps // 2
    left = [start + i * step for i in range(half)]
    return left + [stop - (steps - 1 - i) * step for i in range(half, steps)]


def linspace(start: Any, stop: Any, steps: int, dtype: Any) -> Array:
    whole = dtype.kind in "iu"
    if not whole:
        start, stop = rounded([start, stop], dtype)
    else:
        start, stop = int(start), int(stop)
    if steps == 1:
        return full((1,), start, dtype)
    step = (stop - start) / (steps - 1)
    if not whole:
        (step,) = rounded([step], dtype)
    return made(rounded(_ramp(start, stop, step, steps), dtype), (steps,), dtype)


def logspace(start: Any, stop: Any, steps: int, base: float, dtype: Any) -> Array:
    if dtype.kind in "iu":
        start, stop = int(start), int(stop)
    exponents = _ramp(start, stop, (stop - start) / max(steps - 1, 1), steps)
    exponents = [start] if steps == 1 else exponents
    return made(rounded([base**e for e in exponents], dtype), (steps,), dtype)


def array(data: Any, dtype: Any) -> Array:
    """A copy of an array of NumPy's, or of numbers in lists."""
    if isinstance(data, Array):
        return cast(data, dtype or data.dtype)
    if hasattr(data, "tolist"):
        dtype = dtype or data.dtype
        values, shape = data.reshape(-1).tolist(), data.shape
    else:
        values, shape = [data], ()
        while values and isinstance(values[0], (list, tuple)):
            shape = (*shape, len(values[0]))
            values = [item for row in values for item in row]
        if not values or 0 in shape:
            shape = (*shape[:-1], 0) if shape else (0,)
        dtype = dtype or _of_numbers(values)
    if dtype.kind not in "cb":
        values = [v.real if isinstance(v, complex) else v for v in values]
    return made(rounded(values, dtype), shape, dtype)


def _of_numbers(values: list) -> Any:
    if any(isinstance(v, complex) for v in values):
        return default_dtype().to_complex().array
    if not values or any(isinstance(v, float) for v in values):
        return default_dtype().array
    return bool_.array if all(isinstance(v, bool) for v in values) else int64.array


def cast(x: Array, dtype: Any) -> Array:
    return made(converted(x, dtype), x.shape, dtype)


def copy(x: Array) -> Array:
    return made(elements(x), x.shape, x.dtype)


def copy_(x: Array, source: Array) -> Array:
    return write(x, converted(expanded(source, x.shape), x.dtype))
