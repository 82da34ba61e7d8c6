"""Arrays on the GPU made from sizes, numbers, Python data and other arrays."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from nnkit.backend.cpu import creation as host
from nnkit.backend.cuda.differences import BF16, address, array_module, as_bits, is_array, layout
from nnkit.backend.cuda.differences import contiguous as contiguous
from nnkit.backend.cuda.launch import (
    THREADS,
    VECTOR_BYTES,
    WARP,
    Plans,
    blocks_for,
    element_strides,
    fold,
    pack_width,
)
from nnkit.backend.cuda.printer import Variant, empty_for, work_for
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.cuda.strided import Walk, walk_of
from nnkit.backend.cuda.team import team_for
from nnkit.backend.formula import Formula
from nnkit.backend.memory import steps_of_copy

_IDENTITY = Formula("copy", lambda x: x)
SHORT_ROW = 128  # bytes: shorter ones are copied element by element


def cupy() -> Any:
    """CuPy, or what stands for it while kernels are emulated on the CPU."""
    from nnkit.backend.cuda.source import current_machine

    return current_machine().cupy


def empty(shape: tuple, dtype: np.dtype) -> Any:
    return cupy().ndarray(shape, dtype)


def zeros(shape: tuple, dtype: np.dtype) -> Any:
    # Of all our dtypes, zero has no bit set.
    out = cupy().ndarray(shape, dtype)
    as_bits(out).fill(0)
    return out


def full(shape: tuple, value: Any, dtype: np.dtype) -> Any:
    return fill_(cupy().ndarray(shape, dtype), value)


def empty_like(x: Any) -> Any:
    return _empty_as(x, x.dtype)


def zeros_like(x: Any) -> Any:
    return fill_(empty_like(x), 0)


def _empty_as(x: Any, dtype: np.dtype) -> Any:
    """Memory for a copy of an array."""
    steps = steps_of_copy(x)
    return empty_for(x.shape, dtype, x) if steps is None else empty_strided(x.shape, steps, dtype)


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

        copy_from_host(as_bits(out), as_bits(values))
    return out


@cache
def _conversion(source: np.dtype, target: np.dtype) -> tuple[Variant, Any]:
    variant = Variant(_IDENTITY, (source,), (), target)
    return variant, variant.struct()


class Planes(ctypes.Structure):
    _fields_ = (
        *((n, ctypes.c_int64) for n in ("batch", "rows", "columns", "step", "from_step")),
        ("to", Walk), ("from_", Walk),
    )  # fmt: skip


def _rows(sizes: tuple, to: tuple, from_: tuple, x: Any) -> Callable | None:
    """The function that copies rows which lie side by side, but at places that no wide loads can
    reach; None elsewhere."""
    if len(sizes) != 2 or to[1] != 1 or from_[1] != 1 or sizes[1] * x.itemsize < SHORT_ROW:
        return None
    rows, length = sizes
    kind, blocks, threads = team_for(rows, length, 1, current_machine().processors)
    run = kernel("copy", "copy_rows", x.dtype, kind)
    given = tuple(map(np.int64, (rows, length, to[0], from_[0])))
    threads = min(threads, THREADS)
    return lambda x, source: run((blocks,), (threads,), (source, x, *given))


def _transposition(sizes: tuple, to: tuple, from_: tuple, x: Any, source: Any) -> Callable | None:
    """The function that copies where the memory of both arrays runs along different axes; None
    elsewhere."""
    rows = next((d for d, step in enumerate(from_) if step == 1), -1)
    if rows < 0 or to[-1] != 1 or rows == len(sizes) - 1 or min(sizes[rows], sizes[-1]) < WARP:
        return None
    others = [d for d in range(len(sizes) - 1) if d != rows]
    walks = [walk_of([sizes[d] for d in others], [w[d] for d in others]) for w in (to, from_)]
    if None in walks:
        return None
    step, from_step = to[rows], from_[-1]
    apart = [*(w[d] for w in (to, from_) for d in others), step, from_step, sizes[rows], sizes[-1]]
    width = max(1, 4 // x.itemsize)
    places = address(x) // x.itemsize, address(source) // x.itemsize
    while any(n % width for n in (*apart, *places)):
        width //= 2
    batch = math.prod(sizes[d] for d in others)
    planes = Planes(batch, sizes[rows], sizes[-1], step, from_step, *walks)
    side = WARP * max(1, 4 // x.itemsize)
    squares = batch * -(-sizes[rows] // side) * -(-sizes[-1] // side)
    blocks = blocks_for(squares, 1, current_machine().processors)
    run = kernel("copy", "transposed", x.dtype, width)
    return lambda x, source: run((blocks,), (WARP, 8), (source, x, planes))


def _copying(x: Any, source: Any) -> Callable:
    """The function that copies from an array that lies as ``source`` does to one that lies as ``x``
    does."""
    if x.dtype == source.dtype and not (x.flags.c_contiguous and source.flags.c_contiguous):
        both = [element_strides(a.shape, a.strides, a.itemsize, x.shape) for a in (x, source)]
        sizes, (to, from_) = fold(x.shape, both)
        found = _transposition(sizes, to, from_, x, source)
        width, _ = pack_width(sizes, (to, from_), [(address(a), a.itemsize) for a in (x, source)])
        if found is None and width * x.itemsize < VECTOR_BYTES:
            found = _rows(sizes, to, from_, x)
        if found is not None:
            return found
    variant, constants = _conversion(source.dtype, x.dtype)
    work = work_for(variant, [source], x)
    return lambda x, source: work(constants, x, [source])


_copies = Plans()
# The integers as which elements are copied that kernels do not know, or would round.
BITS = {
    np.dtype(name): np.dtype(bits)
    for name, bits in (("float16", "i2"), ("uint16", "i2"), ("uint32", "i4"), ("uint64", "i8"))
} | {BF16: np.dtype("i2")}


def copy_(x: Any, source: Any) -> Any:
    if "c" in (x.dtype.kind, source.dtype.kind):
        x[...] = source if x.dtype.kind in "cb" else source.real
        return x
    if x.size:
        to, bits = x, BITS.get(x.dtype)
        if bits is not None and x.dtype == source.dtype:
            to, source = x.view(bits), source.view(bits)
        key = layout(to), layout(source)
        run = _copies.get(key) or _copies.keep(key, _copying(to, source))
        run(to, source)
    return x


def cast(x: Any, dtype: np.dtype) -> Any:
    return copy_(_empty_as(x, dtype), x)


def copy(x: Any) -> Any:
    return copy_(empty_like(x), x)


def fill_(x: Any, value: Any) -> Any:
    if is_array(value):
        return copy_(x, value)
    if x.dtype == BF16:
        as_bits(x).fill(int(np.asarray(value, BF16).view(np.uint16)))
    elif x.dtype.kind in "iu" and isinstance(value, float):
        x.fill(int(value) if math.isfinite(value) else 0)
    else:
        x.fill(value)
    return x


def make_complex(real: Any, imag: Any) -> Any:
    shape = np.broadcast_shapes(real.shape, imag.shape)
    kind = np.complex128 if real.dtype == np.float64 else np.complex64
    out = array_module(real).ndarray(shape, kind)
    out.real = real
    out.imag = imag
    return out
