"""Arrays on the GPU made from sizes, numbers, Python data and other arrays."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from nnkit.backend.cpu import creation as host
from nnkit.backend.cuda.differences import BF16, array_module, is_array, layout
from nnkit.backend.cuda.differences import contiguous as contiguous
from nnkit.backend.cuda.launch import Plans
from nnkit.backend.cuda.printer import Variant, Work, empty_for, work_for
from nnkit.backend.formula import Formula
from nnkit.backend.memory import is_dense

_IDENTITY = Formula("copy", lambda x: x)


def cupy() -> Any:
    """CuPy, or what stands for it while kernels are emulated on the CPU."""
    from nnkit.backend.cuda.source import current_machine

    return current_machine().cupy


def empty(shape: tuple, dtype: np.dtype) -> Any:
    return cupy().ndarray(shape, dtype)


def zeros(shape: tuple, dtype: np.dtype) -> Any:
    # Of all our dtypes, zero has no bit set.
    out = cupy().ndarray(shape, dtype)
    _bits(out).fill(0)
    return out


def _bits(x: Any) -> Any:
    return x.view(np.uint16) if x.dtype == BF16 else x


def full(shape: tuple, value: Any, dtype: np.dtype) -> Any:
    return fill_(cupy().ndarray(shape, dtype), value)


def empty_like(x: Any) -> Any:
    return empty_for(x.shape, x.dtype, x)


def zeros_like(x: Any) -> Any:
    return fill_(empty_like(x), 0)


def ones_like(x: Any) -> Any:
    return fill_(empty_like(x), 1)


def empty_strided(shape: tuple, strides: tuple, dtype: np.dtype) -> Any:
    last = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) if 0 not in shape else -1
    memory = cupy().ndarray((last + 1,), dtype)
    steps = tuple(s * dtype.itemsize for s in strides)
    return memory.__class__(shape, dtype, memory.data, steps)


# Sequences are made on the CPU, by the same arithmetic, and copied: they are short, or made once.


def arange(start: Any, stop: Any, step: Any, dtype: np.dtype) -> Any:
    return array(host.arange(start, stop, step, dtype), None)


def linspace(start: Any, stop: Any, steps: int, dtype: np.dtype) -> Any:
    return array(host.linspace(start, stop, steps, dtype), None)


def logspace(start: Any, stop: Any, steps: int, base: float, dtype: np.dtype) -> Any:
    return array(host.logspace(start, stop, steps, base, dtype), None)


def eye(n: int, m: int, dtype: np.dtype) -> Any:
    return array(np.eye(n, m, dtype=dtype), None)


def array(data: Any, dtype: np.dtype | None) -> Any:
    """A copy on the GPU of an array of either kind, or of Python data."""
    xp = cupy()
    if isinstance(data, xp.ndarray):
        return copy(data) if dtype is None else cast(data, dtype)
    values = np.ascontiguousarray(data, dtype).reshape(np.shape(data))
    out = xp.ndarray(values.shape, values.dtype)
    if out.size:
        from nnkit.backend.cuda.runtime import copy_from_host

        copy_from_host(_bits(out), _bits(values))
    return out


@cache
def _conversion(source: np.dtype, target: np.dtype) -> tuple[Variant, Any]:
    variant = Variant(_IDENTITY, (source,), (), target)
    return variant, variant.struct()


_copies = Plans()


def copy_(x: Any, source: Any) -> Any:
    if "c" in (x.dtype.kind, source.dtype.kind):
        x[...] = source if x.dtype.kind in "cb" else source.real
        return x
    if x.size:
        variant, constants = _conversion(source.dtype, x.dtype)
        key = layout(x), layout(source)
        work: Work = _copies.get(key) or _copies.keep(key, work_for(variant, [source], x))
        work(constants, x, [source])
    return x


def cast(x: Any, dtype: np.dtype) -> Any:
    return copy_(empty_for(x.shape, dtype, x), x)


def copy(x: Any) -> Any:
    return copy_(empty_like(x), x)


def fill_(x: Any, value: Any) -> Any:
    if is_array(value):
        return copy_(x, value)
    if x.dtype == BF16:
        _bits(x).fill(int(np.asarray(value, BF16).view(np.uint16)))
    elif x.dtype.kind in "iu" and isinstance(value, float):
        x.fill(int(value) if math.isfinite(value) else 0)
    else:
        x.fill(value)
    return x


def fill(x: Any, value: Any) -> Any:
    return fill_(empty_like(x), value)


def overwrite(x: Any, source: Any) -> Any:
    dense = is_dense(x)  # in another geometry torch has a gradient lie by rows
    return copy_(empty_like(x) if dense else array_module(x).ndarray(x.shape, x.dtype), source)


def make_complex(real: Any, imag: Any) -> Any:
    shape = np.broadcast_shapes(real.shape, imag.shape)
    kind = np.complex128 if real.dtype == np.float64 else np.complex64
    out = array_module(real).ndarray(shape, kind)
    out.real = real
    out.imag = imag
    return out
