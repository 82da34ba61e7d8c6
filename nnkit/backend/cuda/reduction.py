"""Sums, products, extrema and statistics along axes; kernels/reduction.cu and scan.cu.

``axis`` is None for all axes, an int, or a tuple of ints. Indices and running totals take an int.
Complex arrays are reduced by CuPy.
"""

from __future__ import annotations

import math
from builtins import max as greatest
from builtins import min as least
from typing import Any, NamedTuple

import numpy as np

from nnkit.backend.axes import norm_order
from nnkit.backend.cuda.differences import address, contiguous, empty, layout
from nnkit.backend.cuda.launch import (
    THREADS,
    VECTOR_BYTES,
    WARP,
    Plans,
    around_axis,
    blocks_for,
    threads_for,
)
from nnkit.backend.cuda.source import TYPES, current_machine, kernel
from nnkit.backend.cuda.strided import Walk, walk
from nnkit.backend.cuda.team import packed_for, team_for
from nnkit.backend.dtype import HALF

I8, U1 = np.dtype(np.int64), np.dtype(np.uint8)
BOOL = np.dtype(np.bool_)
SHORT = 16  # elements of a result up to which one thread adds them
PART = 8192  # elements that a team adds up at least, before a reduction is cut into parts
MANY = 1024  # results, from which on a reduction is not cut
MOST_PARTS = 512
BLOCKS = 1024  # of THREADS that a large GPU has room for
SHARED = 48 << 10  # bytes of a block's shared memory that need not be asked for
ROWS = 64  # elements of a column that a part has at least: 8 for each thread
NORMS = {0: 0, 1: 1, 2: 2, math.inf: 4, -math.inf: 5}  # the kinds of NormOf; 3 is any other p


def axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    """The axes that are summed over, ascending."""
    if axis is None:
        return tuple(range(x.ndim))
    if not x.ndim:
        return ()
    given = (axis,) if isinstance(axis, int) else axis
    return tuple(sorted({a % x.ndim for a in given}))


def parts_for(count: int, length: int) -> int:
    """The number of parts that a reduction of ``length`` elements to each of ``count`` is cut into.

    Of the shape alone, so that a sum has the same bits on every GPU.
    """
    if count >= MANY or length < 2 * PART:
        return 1
    return greatest(1, least(length // PART, MOST_PARTS, 2 * MANY // count))


def parts_of_columns(count: int, length: int, of_block: int) -> int:
    """The same for neighbouring results: enough blocks of so many results each to fill a large GPU,
    with a few elements for each thread."""
    return greatest(1, least(length // ROWS, -(-BLOCKS // -(-count // of_block)), MOST_PARTS))


def columns_of_thread(x: Any, kept: Walk, reduced: Walk, count: int, size: int) -> int:
    """Neighbouring results, with accumulators of ``size`` bytes, that a thread reads at once."""
    width = least(VECTOR_BYTES // x.itemsize, SHARED // (THREADS * size))
    width = 1 << greatest(width, 1).bit_length() - 1
    if kept.dimensions != 1 or kept.strides[0] != 1:
        return 1
    strides = (reduced.strides[d] for d in range(reduced.dimensions))
    return width if math.gcd(count, address(x) // x.itemsize, *strides) % width == 0 else 1


def accumulator_bytes(name: str, dtype: np.dtype) -> int:
    """The size of an operation's accumulator (kernels/reduction.cuh)."""
    wide = 8 if dtype.itemsize == 8 else 4
    if name == "ExtremeOf":
        return 16
    if name == "VarianceOf":
        return 3 * wide
    if name == "LogSumExpOf":
        return 2 * wide
    if name in ("SumOf", "ProductOf") and dtype.kind in "bui":
        return 8
    return 4 if name == "TruthOf" else wide


class Plan(NamedTuple):
    """A reduction of arrays of a certain layout: its launches, all but the addresses."""

    shape: tuple[int, ...]  # of the results
    part_bytes: int  # of the accumulators of parts; 0: there is one
    launch: tuple | None  # the kernel, its grid and block, shared memory; None: nothing to do
    walks: tuple  # arguments: how results and elements are walked, and how many there are
    join: tuple | None  # the kernel that joins parts, its grid and block
    counts: tuple  # arguments of that


_plans = Plans()


def _reduce(
    operation: tuple, x: Any, axis: Any, keepdims: bool,
    results: tuple[np.dtype | None, ...], parameter: float = 0.0,
) -> list[Any]:  # fmt: skip
    """Reduce with an operation (its name and what its template takes after the dtype)."""
    key = operation, layout(x), axis, keepdims
    plan: Plan | None = _plans.get(key)
    if plan is None:
        plan = _plan(operation, x, axis, keepdims)
        if plan is None:
            return _reduce(operation, contiguous(x), axis, keepdims, results, parameter)
        _plans.keep(key, plan)
    outs = [None if d is None else empty(plan.shape, d, x) for d in results]
    if plan.launch is None:
        return outs
    first, second = (*outs, None)[:2]
    parts = empty((plan.part_bytes,), U1, x) if plan.part_bytes else None
    number = np.float64(parameter)
    run, grid, block, shared = plan.launch
    run(grid, block, (x, first, second, parts, *plan.walks, number), shared)
    if plan.join is not None:
        run, grid, block = plan.join
        run(grid, block, (parts, first, second, *plan.counts, number))
    return outs


def _plan(operation: tuple, x: Any, axis: Any, keepdims: bool) -> Plan | None:
    """The plan for arrays that lie as ``x`` does; None where their strides allow none."""
    axes = axes_of(x, axis)
    others = tuple(a for a in range(x.ndim) if a not in axes)
    if x.ndim > 1:
        # Elements are taken in the order of memory; an index is one along a single axis.
        axes = tuple(sorted(axes, key=lambda a: -abs(x.strides[a])))
    kept, reduced = walk(x, others), walk(x, axes)
    if kept is None or reduced is None:
        return None
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keepdims or a in others)
    count = math.prod(x.shape[a] for a in others)
    length = math.prod(x.shape[a] for a in axes)
    if not count:
        return Plan(shape, 0, None, (), None, ())
    name, *options = operation
    arguments = ", ".join([TYPES[x.dtype], *(str(o).lower() for o in options)])
    of = f"nnkit::{name}<{arguments}>"
    processors = current_machine().processors
    by_columns = _along_columns(x, others, axes, length)
    size = accumulator_bytes(name, x.dtype)
    if by_columns:
        width = 1 if length <= SHORT else columns_of_thread(x, kept, reduced, count, size)
        threads = THREADS if length <= SHORT else WARP
        number = parts_of_columns(count, length, WARP * width)
        of_part = -(-length // number)
        run = kernel("reduction", "reduce_columns", of, width)
        blocks = blocks_for(count, threads * width, processors)
        launch = run, (blocks, number), (threads, THREADS // threads), THREADS * size * width
    else:
        number = parts_for(count, length)
        of_part = -(-length // number)
        of_part += -of_part % VECTOR_BYTES  # whole packs
        kind, blocks, threads = team_for(count, of_part, 1, processors)
        run = kernel("reduction", "reduce_rows", of, kind)
        launch = run, (blocks, number), (threads,), 0
    sizes = (np.int64(count), np.int64(length), np.int64(of_part))
    if number == 1:
        return Plan(shape, 0, launch, (kept, reduced, *sizes), None, ())
    run = kernel("reduction", "reduce_parts", of)
    join = run, (blocks_for(count, THREADS // WARP, processors),), (THREADS,)
    counts = np.int64(count), np.int32(number), np.int64(length)
    return Plan(shape, count * number * size, launch, (kept, reduced, *sizes), join, counts)


def _along_columns(x: Any, others: tuple, axes: tuple, length: int) -> bool:
    """Whether neighbouring threads should take neighbouring results, not neighbouring elements."""
    if length <= SHORT:
        return True
    step = least((abs(x.strides[a]) for a in axes if x.shape[a] > 1), default=0)
    across = least((abs(x.strides[a]) for a in others if x.shape[a] > 1), default=step + 1)
    return 0 < across < step


def _sum_dtype(x: Any) -> np.dtype:
    return I8 if x.dtype.kind in "bui" else x.dtype


def sum(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind == "c":
        return np.sum(x, axis=axis, keepdims=keepdims)
    return _reduce(("SumOf", False), x, axis, keepdims, (_sum_dtype(x),))[0]


def mean(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind == "c":
        return np.mean(x, axis=axis, keepdims=keepdims)
    return _reduce(("SumOf", True), x, axis, keepdims, (x.dtype,))[0]


def prod(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind == "c":
        return np.prod(x, axis=axis, keepdims=keepdims)
    return _reduce(("ProductOf",), x, axis, keepdims, (_sum_dtype(x),))[0]


def var_mean(x: Any, axis: Any, correction: float, keepdims: bool) -> tuple[Any, Any]:
    if x.dtype.kind == "c":
        real, average = var_mean(x.real, axis, correction, keepdims)
        imaginary, turned = var_mean(x.imag, axis, correction, keepdims)
        return real + imaginary, average + 1j * turned
    outs = _reduce(("VarianceOf", False, False), x, axis, keepdims, (x.dtype, x.dtype), correction)
    return outs[0], outs[1]


def wide_var_mean(x: Any, axis: Any) -> tuple[Any, Any]:
    """Variance (without a correction) and mean, kept, and in float32 for half precision."""
    dtype = np.dtype(np.float32) if x.dtype in HALF else x.dtype
    outs = _reduce(("VarianceOf", False, True), x, axis, True, (dtype, dtype))
    return outs[0], outs[1]


def var(x: Any, axis: Any, correction: float, keepdims: bool) -> Any:
    if x.dtype.kind == "c":
        return var_mean(x, axis, correction, keepdims)[0]
    return _reduce(("VarianceOf", False, False), x, axis, keepdims, (x.dtype,), correction)[0]


def std(x: Any, axis: Any, correction: float, keepdims: bool) -> Any:
    if x.dtype.kind == "c":
        return np.sqrt(var(x, axis, correction, keepdims))
    return _reduce(("VarianceOf", True, False), x, axis, keepdims, (x.dtype,), correction)[0]


def amax(x: Any, axis: Any, keepdims: bool) -> Any:
    return _reduce(("ExtremeOf", True), x, axis, keepdims, (x.dtype,))[0]


def amin(x: Any, axis: Any, keepdims: bool) -> Any:
    return _reduce(("ExtremeOf", False), x, axis, keepdims, (x.dtype,))[0]


def argmax(x: Any, axis: int | None, keepdims: bool) -> Any:
    """The first index of the maximum; a NaN is larger than everything."""
    return _reduce(("ExtremeOf", True), _flat_order(x, axis), axis, keepdims, (None, I8))[1]


def argmin(x: Any, axis: int | None, keepdims: bool) -> Any:
    """The first index of the minimum; a NaN is smaller than everything."""
    return _reduce(("ExtremeOf", False), _flat_order(x, axis), axis, keepdims, (None, I8))[1]


def _flat_order(x: Any, axis: int | None) -> Any:
    """An index over all axes counts in C order."""
    return contiguous(x) if axis is None else x


def max(x: Any, axis: int, keepdims: bool) -> tuple[Any, Any]:
    values, indices = _reduce(("ExtremeOf", True), x, axis, keepdims, (x.dtype, I8))
    return values, indices


def min(x: Any, axis: int, keepdims: bool) -> tuple[Any, Any]:
    values, indices = _reduce(("ExtremeOf", False), x, axis, keepdims, (x.dtype, I8))
    return values, indices


def all(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind == "c":
        x = x != 0
    return _reduce(("TruthOf", True), x, axis, keepdims, (BOOL,))[0]


def any(x: Any, axis: Any, keepdims: bool) -> Any:
    if x.dtype.kind == "c":
        x = x != 0
    return _reduce(("TruthOf", False), x, axis, keepdims, (BOOL,))[0]


def logsumexp(x: Any, axis: Any, keepdims: bool) -> Any:
    return _reduce(("LogSumExpOf",), x, axis, keepdims, (x.dtype,))[0]


def norm(x: Any, p: float, axis: Any, keepdims: bool) -> Any:
    """``sum(|x|^p)^(1/p)`` and its limits: the largest, the smallest, the number of non-zeros."""
    if x.dtype.kind == "c":
        x = np.absolute(x)
    p = norm_order(x.shape, p, axis)
    kind = NORMS.get(p, 3)
    return _reduce(("NormOf", kind), x, axis, keepdims, (x.dtype,), p)[0]


# Running totals


def _scan(operation: str, x: Any, axis: int, results: tuple[np.dtype, ...], *more: Any) -> list:
    x, more = contiguous(x), tuple(contiguous(a) for a in more)
    outs = [empty(x.shape, d, x) for d in results]
    if not x.size:
        return outs
    first, second = (*outs, None)[:2]
    outer, length, inner = around_axis(x.shape, axis)
    of = f"nnkit::{operation}<{TYPES[x.dtype]}>"
    arrays = (x, (*more, None)[0], first, second)
    processors = current_machine().processors
    if inner > 1 or length <= SHORT:
        run = kernel("scan", "scan_slices", of)
        slices = outer * inner
        sizes = (np.int64(slices), np.int64(length), np.int64(inner))
        run((blocks_for(slices, THREADS, processors),), (THREADS,), (*arrays, *sizes))
    else:
        aligned = packed_for(1, 0, x, *more)  # which a row of no elements does not hinder
        run = kernel("scan", "scan_rows", of, aligned)
        size = (np.int64(outer), np.int64(length))
        loads = length * x.itemsize // VECTOR_BYTES + 1 if aligned else length
        threads = threads_for(loads, THREADS)
        run((blocks_for(outer, 1, processors),), (threads,), (*arrays, *size))
    return outs


def cumsum(x: Any, axis: int) -> Any:
    if x.dtype.kind == "c":
        return np.cumsum(x, axis=axis) if x.ndim else x.copy()
    return _scan("RunningSum", x, axis, (_sum_dtype(x),))[0]


def cumprod(x: Any, axis: int) -> Any:
    if x.dtype.kind == "c":
        return np.cumprod(x, axis=axis) if x.ndim else x.copy()
    return _scan("RunningProduct", x, axis, (_sum_dtype(x),))[0]


def logcumsumexp(x: Any, axis: int) -> Any:
    return _scan("RunningLogSumExp", x, axis, (x.dtype,))[0]


def cummax(x: Any, axis: int) -> tuple[Any, Any]:
    """Running maxima and the index of the last element that reached each."""
    values, indices = _scan("RunningMaximum", x, axis, (x.dtype, I8))
    return values, indices


def cummin(x: Any, axis: int) -> tuple[Any, Any]:
    """Running minima and the index of the last element that reached each."""
    values, indices = _scan("RunningMinimum", x, axis, (x.dtype, I8))
    return values, indices


def recurrence(a: Any, b: Any, axis: int) -> Any:
    """``s[i] = a[i] * s[i - 1] + b[i]`` along ``axis``, with ``s[-1] = 0``."""
    if a.dtype != b.dtype:
        a = a.astype(b.dtype)
    if b.dtype.kind == "c":
        return _recurrence_by_steps(a, b, axis)
    return _scan("Recurrence", b, axis, (b.dtype,), a)[0]


def _recurrence_by_steps(a: Any, b: Any, axis: int) -> Any:
    out = b.copy()
    a, steps = a.swapaxes(0, axis), out.swapaxes(0, axis)
    for i in range(1, len(steps)):
        steps[i] += a[i] * steps[i - 1]
    return out
