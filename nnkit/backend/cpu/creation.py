"""Arrays made from sizes, numbers, Python data and other arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nnkit.backend.cpu import native
from nnkit.backend.cpu.half import POWERS, SATURATED, rounded
from nnkit.backend.cpu.memory import byte_offset, empty_for
from nnkit.backend.dtype import HALF
from nnkit.backend.memory import owner, steps_of_copy

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)
WIDER = {F4: F8, F8: np.dtype(np.longdouble)}


def empty(shape: tuple, dtype: np.dtype) -> np.ndarray:
    return np.empty(shape, dtype)


def zeros(shape: tuple, dtype: np.dtype) -> np.ndarray:
    return np.zeros(shape, dtype)


def full(shape: tuple, value: Any, dtype: np.dtype) -> np.ndarray:
    return fill_(np.empty(shape, dtype), value)


def empty_like(x: np.ndarray) -> np.ndarray:
    return _empty_as(x, x.dtype)


def zeros_like(x: np.ndarray) -> np.ndarray:
    # np.zeros asks the system for zeroed pages.
    return np.zeros(x.shape, x.dtype) if _is_copied_by_rows(x) else fill_(empty_like(x), 0)


def _empty_as(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Memory for a copy of an array."""
    if _is_copied_by_rows(x):
        return np.empty(x.shape, dtype)
    steps = steps_of_copy(x)
    return empty_for(x.shape, dtype, x) if steps is None else empty_strided(x.shape, steps, dtype)


def _is_copied_by_rows(x: np.ndarray) -> bool:
    return x.flags.c_contiguous and steps_of_copy(x) is None


def empty_strided(shape: tuple, strides: tuple, dtype: np.dtype) -> np.ndarray:
    """Strides count elements; the memory is just large enough for the last of them."""
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else -1
    memory = np.empty(last + 1, dtype)
    return np.ndarray(shape, dtype, memory, strides=[s * dtype.itemsize for s in strides])


def count_of_arange(start: Any, stop: Any, step: Any, dtype: np.dtype) -> int:
    """How many numbers `arange` gives."""
    if dtype == np.int64:
        return max(-((int(stop) - int(start)) // -int(step)), 0)
    # Of the narrower integers too torch counts in double precision.
    return max(math.ceil((stop - start) / step), 0)


def arange(start: Any, stop: Any, step: Any, dtype: np.dtype) -> np.ndarray:
    """``start + i * step`` in double precision, or in int64, rounded once."""
    count = count_of_arange(start, stop, step, dtype)
    if dtype.kind in "iu":
        start, step = int(start), int(step)
    steps = np.arange(count, dtype=np.int64 if dtype.kind in "iu" else F8)
    if step != 1:
        steps *= step
    steps += start
    return steps.astype(dtype, copy=False)


def _ramp(start: Any, stop: Any, step: Any, steps: int, dtype: np.dtype) -> np.ndarray:
    """``steps`` values, ``step`` apart, counted in ``dtype`` from the nearer end."""
    counts = np.arange(steps)
    counts[steps // 2 :] = counts[: (steps + 1) // 2][::-1]
    out = counts.astype(dtype)
    out *= dtype.type(step)
    right = out[steps // 2 :]
    np.subtract(dtype.type(stop), right, out=right)
    out[: steps // 2] += dtype.type(start)
    return out


def linspace(start: Any, stop: Any, steps: int, dtype: np.dtype) -> np.ndarray:
    if dtype.kind in "iu":  # spaced in double precision, the fraction cut off
        return linspace(int(start), int(stop), steps, F8).astype(dtype)
    if steps < 2:
        return np.full(steps, start, dtype)
    start, stop = dtype.type(start), dtype.type(stop)
    step = (stop - start) / dtype.type(steps - 1)
    wide = WIDER.get(dtype, dtype)  # torch multiplies and adds with one rounding
    return _ramp(start, stop, step, steps, wide).astype(dtype, copy=False)


def logspace(start: Any, stop: Any, steps: int, base: float, dtype: np.dtype) -> np.ndarray:
    wide = np.dtype(np.complex128) if dtype.kind == "c" else F4 if dtype in HALF else F8
    if steps == 1:
        exponents = np.full(1, start, wide)
    else:
        if dtype.kind in "iu":
            start, stop = int(start), int(stop)
        elif dtype in HALF:  # torch rounds the ends and their distance, and no more
            start, stop = dtype.type(start), dtype.type(stop)
        step = wide.type(stop - start) / wide.type(steps - 1)
        exponents = _ramp(start, stop, step, steps, wide)
    return np.power(wide.type(base), exponents).astype(dtype)


def eye(n: int, m: int, dtype: np.dtype) -> np.ndarray:
    return np.eye(n, m, dtype=dtype)


def array(data: Any, dtype: np.dtype | None) -> np.ndarray:
    if dtype is not None and dtype in (SATURATED, POWERS):
        return cast(np.array(data, F4), dtype)
    return np.array(data, dtype)


def cast(x: Any, dtype: np.dtype) -> np.ndarray:
    if x.dtype.kind == "c" and dtype.kind not in "cb":
        x = x.real
    return rounded(x, dtype) if _is_copied_by_rows(x) else copy_(_empty_as(x, dtype), x)


def copy(x: np.ndarray) -> np.ndarray:
    return x.copy() if _is_copied_by_rows(x) else copy_(empty_like(x), x)


_copied = native.bind("copy", copy)


def copy_storage(x: np.ndarray) -> np.ndarray:
    """A copy of the storage, seen as ``x`` sees its own: with its gaps, and with elements that
    share their memory, but for those that are repeated."""
    if any(step == 0 and size > 1 for step, size in zip(x.strides, x.shape, strict=True)):
        return copy(x)
    storage = owner(x)
    if x.flags.c_contiguous and x.nbytes == storage.nbytes:
        return _copied(x)
    # By way of bytes, since bfloat16 has no buffer protocol.
    memory = storage.ravel("K").view(np.uint8).copy()
    return np.ndarray(x.shape, x.dtype, memory, byte_offset(x), x.strides)


def contiguous(x: np.ndarray) -> np.ndarray:
    return x if x.flags.c_contiguous else x.copy()


def copy_(x: np.ndarray, source: Any) -> np.ndarray:
    kind = source.dtype.kind
    if kind == "c" and x.dtype.kind not in "cb":
        source = source.real
    is_told = kind == "b" and x.dtype.isbuiltin == 2
    if is_told or x.dtype in (SATURATED, POWERS) and source.dtype is not x.dtype:
        source = rounded(source, x.dtype)
    np.copyto(x, source, "unsafe")
    return x


def fill_(x: np.ndarray, value: Any) -> np.ndarray:
    # As in torch, a number reaches a half by way of float32.
    x.fill(np.float32(value) if x.dtype in HALF and isinstance(value, float) else value)
    return x


def make_complex(real: np.ndarray, imag: np.ndarray) -> np.ndarray:
    """``real + i imag`` without the rounding (and the NaN of ``inf * 0``) of a multiplication."""
    shape = np.broadcast_shapes(real.shape, imag.shape)
    dtype = np.dtype(np.complex128 if real.dtype == np.float64 else np.complex64)
    out = empty_for(shape, dtype, real, imag)
    out.real = real
    out.imag = imag
    return out
