"""Pooling over 1, 2 or 3 spatial axes, layout (N, C, *spatial); kernels/pooling.cu."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nnkit.backend.cuda import failures, reduction
from nnkit.backend.cuda.creation import zeros
from nnkit.backend.cuda.differences import contiguous, empty, same_dtype
from nnkit.backend.cuda.geometry import Geometry, Ints, geometry, work_on
from nnkit.backend.cuda.launch import THREADS, blocks_for
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.dtype import HALF
from nnkit.backend.windows import window_counts

I4, I8 = np.dtype(np.int32), np.dtype(np.int64)


def _launch(name: str, work: int, dtype: np.dtype | None, *arguments: Any) -> None:
    """A kernel whose threads share ``work`` items; ints are passed as int64."""
    if work:
        blocks = blocks_for(work, THREADS, current_machine().processors)
        values = tuple(np.int64(a) if isinstance(a, int) else a for a in arguments)
        template = () if dtype is None else (dtype,)
        kernel("pooling", name, *template)((blocks,), (THREADS,), values)


def _regular(
    spatial: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool
) -> tuple[Ints, Geometry]:
    size = window_counts(spatial, kernel, stride, padding, dilation, ceil)
    return size, geometry(spatial, kernel, size, stride, padding, dilation)


def _adaptive(spatial: Ints, size: Ints) -> Geometry:
    ones = (1,) * len(size)
    return geometry(spatial, ones, size, ones, (0,) * len(size), ones)


def _planes(x: Any) -> int:
    return x.shape[0] * x.shape[1]


def _with_indices(x: Any, size: Ints) -> tuple[Any, Any]:
    shape = (*x.shape[:2], *size)
    return empty(shape, x.dtype, x), empty(shape, I8, x)


def max_pool(
    x: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[Any, Any]:
    """The largest element of each window, and its index in the flat spatial plane.

    The first of equal elements wins; the last NaN wins over everything.
    """
    x = contiguous(x)
    size, windows = _regular(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    out, indices = _with_indices(x, size)
    work = work_on(_planes(x), math.prod(size))
    _launch("max_pool", work, x.dtype, x, out, indices, windows, _planes(x))
    return out, indices


def adaptive_max_pool(x: Any, size: Ints) -> tuple[Any, Any]:
    x = contiguous(x)
    out, indices = _with_indices(x, size)
    windows, work = _adaptive(x.shape[2:], size), work_on(_planes(x), math.prod(size))
    _launch("adaptive_max_pool", work, x.dtype, x, out, indices, windows, _planes(x))
    return out, indices


def fractional_max_pool(x: Any, samples: Any, kernel: Ints, size: Ints) -> tuple[Any, Any]:
    x, samples = contiguous(x), contiguous(same_dtype(samples, x.dtype))
    out, indices = _with_indices(x, size)
    ones = (1,) * len(size)
    windows = geometry(x.shape[2:], kernel, size, ones, (0,) * len(size), ones)
    given = (x, samples, out, indices, windows, _planes(x), np.int32(len(size)))
    _launch("fractional_max_pool", out.size, x.dtype, *given)
    return out, indices


def max_pool_grad(g: Any, indices: Any, shape: Ints) -> Any:
    """Zeros of ``shape`` to which ``g`` is added at ``indices`` (into each spatial plane)."""
    g, indices = contiguous(g), contiguous(indices)
    wide = np.dtype(np.float32) if g.dtype in HALF else g.dtype
    total = empty(shape, wide, g)
    if total.size:
        turn, done = (empty(shape, I4, g) for _ in range(2))
        planes, size, plane = _planes(g), math.prod(g.shape[2:]), math.prod(shape[2:])
        # A block, not a thread, for each plane.
        sizes = (planes, size, plane)
        _launch("max_pool_grad", planes * THREADS, g.dtype, g, indices, total, turn, done, *sizes)
    return same_dtype(total, g.dtype)


def max_pool_gather(x: Any, indices: Any) -> Any:
    """Elements of each spatial plane of ``x``, by flat index: the adjoint of `max_pool_grad`."""
    x, indices = contiguous(x), contiguous(indices)
    out = empty(indices.shape, x.dtype, x)
    sizes = (out.size, math.prod(indices.shape[2:]), math.prod(x.shape[2:]))
    _launch("max_pool_gather", out.size, x.dtype, x, indices, out, *sizes)
    return out


def max_unpool(x: Any, indices: Any, shape: Ints) -> Any:
    """Zeros of ``shape`` in which ``x`` is written at ``indices`` (into each spatial plane)."""
    x, indices = contiguous(x), contiguous(indices)
    out, owners = empty(shape, x.dtype, x), zeros(shape, I4)
    size, plane = math.prod(x.shape[2:]), math.prod(shape[2:])
    report = failures.report(failures.UNPOOLED)
    _launch("unpool_owners", x.size, None, indices, owners, x.size, size, plane, *report)
    _launch("max_unpool", out.size, x.dtype, x, owners, out, out.size, size, plane)
    return out


def avg_pool(
    x: Any, kernel: Ints, stride: Ints, padding: Ints,
    ceil_mode: bool, count_include_pad: bool, divisor: int | None,
) -> Any:  # fmt: skip
    """The sum of each window over ``divisor``, or over the number of its elements."""
    x = contiguous(x)
    ones = (1,) * len(kernel)
    size, windows = _regular(x.shape[2:], kernel, stride, padding, ones, ceil_mode)
    out = empty((*x.shape[:2], *size), x.dtype, x)
    statics = (_planes(x), np.int32(count_include_pad), divisor or 0)
    _launch("avg_pool", work_on(_planes(x), math.prod(size)), x.dtype, x, out, windows, *statics)
    return out


def avg_pool_grad(
    g: Any, shape: Ints, kernel: Ints, stride: Ints, padding: Ints,
    ceil_mode: bool, count_include_pad: bool, divisor: int | None,
) -> Any:  # fmt: skip
    """The adjoint of `avg_pool`: each element gathers its share of ``g`` from its windows."""
    g = contiguous(g)
    ones = (1,) * len(kernel)
    windows = geometry(tuple(shape[2:]), kernel, g.shape[2:], stride, padding, ones)
    out = empty(shape, g.dtype, g)
    statics = (_planes(out), np.int32(count_include_pad), divisor or 0)
    work = work_on(_planes(out), math.prod(shape[2:]))
    _launch("avg_pool_grad", work, g.dtype, g, out, windows, *statics)
    return out


def adaptive_avg_pool(x: Any, size: Ints) -> Any:
    """The means of windows that divide each axis into ``size`` parts as evenly as can be."""
    if math.prod(size) == 1:
        axes = tuple(range(2, x.ndim))
        return reduction.mean(x, axes, True)
    x = contiguous(x)
    out = empty((*x.shape[:2], *size), x.dtype, x)
    windows, work = _adaptive(x.shape[2:], size), work_on(_planes(x), math.prod(size))
    _launch("adaptive_avg_pool", work, x.dtype, x, out, windows, _planes(x))
    return out


def adaptive_avg_pool_grad(g: Any, shape: Ints) -> Any:
    """The adjoint of `adaptive_avg_pool` on an input of ``shape``."""
    g = contiguous(g)
    out = empty(shape, g.dtype, g)
    windows = _adaptive(tuple(shape[2:]), g.shape[2:])
    work = work_on(_planes(out), math.prod(shape[2:]))
    _launch("adaptive_avg_pool_grad", work, g.dtype, g, out, windows, _planes(out))
    return out
