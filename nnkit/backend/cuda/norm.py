"""Normalization over rows and over channels; kernels/norm.cu.

The bodies of backend/reference/norm.py turn every normalization into `standardize` of a view:
(rows, length) with parameters (length,), (N, groups, channels, inner) with parameters
(groups, channels, 1), or (N, C, inner) over the axes 0 and 2 with parameters (C, 1).
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from nnkit.backend.cuda.creation import zeros
from nnkit.backend.cuda.differences import contiguous, empty, same_dtype
from nnkit.backend.cuda.launch import THREADS, WARP, blocks_for
from nnkit.backend.cuda.reduction import parts_for, sum, wide_var_mean
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.cuda.team import SHORT, kept_for, pack_for, packed_for, team_for
from nnkit.backend.dtype import HALF

CHANNELS = (0, 2)  # the axes of one mean in the view of batch norm


class Parameters(ctypes.Structure):
    _fields_ = tuple((n, ctypes.c_int64) for n in ("groups", "channels_of_group", "inner"))


def _parameters(x: Any, weight: Any, axes: tuple[int, ...]) -> Parameters:
    if weight is None or weight.ndim == len(axes):
        return Parameters(1, 1, 1)
    return Parameters(weight.shape[0], weight.shape[1], x.shape[-1])


def _wide(x: Any) -> np.dtype:
    return np.dtype(np.float32) if x.dtype in HALF else x.dtype


def _rows(x: Any, axes: tuple[int, ...]) -> tuple[int, int]:
    if axes != tuple(range(x.ndim - len(axes), x.ndim)):
        raise RuntimeError(f"standardize(): expected the last axes of {x.ndim}, got {axes}")
    length = math.prod(x.shape[a] for a in axes)
    return math.prod(x.shape[: axes[0]]), length


def _like(x: Any, *arrays: Any) -> tuple:
    """Parameters in the dtype of ``x``, contiguous."""
    return tuple(None if a is None else contiguous(same_dtype(a, x.dtype)) for a in arrays)


def _run_rows(
    name: str, centre: bool, rows: int, length: int, arrays: tuple, statistics: tuple,
    parameters: Parameters, eps: float,
) -> None:  # fmt: skip
    kind, blocks, threads = team_for(rows, length, 1, current_machine().processors)
    kept = kept_for(kind, length, threads, arrays[0].dtype)
    packed = packed_for(parameters.inner, length, *arrays)
    run = kernel("norm", name, arrays[0].dtype, kind, kept, centre, packed)
    sizes = (np.int64(rows), np.int64(length), np.float64(eps))
    run((blocks,), (threads,), (*arrays, *statistics, parameters, *sizes))


def standardize(x, weight, bias, axes, eps, centre):
    x = contiguous(x)
    weight, bias = _like(x, weight, bias)
    out = empty(x.shape, x.dtype, x)
    if axes == CHANNELS and x.ndim == 3:
        variance, mean = wide_var_mean(x, axes)
        _run_channels("norm_channels", (), x, (x, weight, bias, mean, variance, out), (eps,))
        return out, mean, variance
    rows, length = _rows(x, axes)
    kept = (*x.shape[: axes[0]], *(1 for _ in axes))
    mean, variance = (empty(kept, _wide(x), x) for _ in range(2))
    if out.size:
        parameters = _parameters(x, weight if bias is None else bias, axes)
        arrays, statistics = (x, weight, bias, out), (mean, variance)
        _run_rows("norm_rows", centre, rows, length, arrays, statistics, parameters, eps)
    return out, mean, variance


def _run_channels(name: str, options: tuple, x: Any, arrays: tuple, scalars: tuple) -> None:
    """Launch one of the kernels that go through the rows of (N, C, inner)."""
    if not x.size:
        return
    batch, channels, inner = x.shape
    # Rows of few elements lie side by side for single threads.
    apart = 1 if inner >= SHORT else 2
    kind, *launch = team_for(batch * channels, inner, apart, current_machine().processors)
    sizes = map(np.int64, (batch * channels, channels, inner))
    run = kernel("norm", name, x.dtype, kind, *options)
    run((launch[0],), (launch[1],), (*arrays, *sizes, *map(np.float64, scalars)))


def standardize_grad(g, x, weight, mean, variance, axes, eps, centre):
    g, x = contiguous(g), contiguous(x)
    (wide_weight,) = _like(x, weight)
    out = empty(x.shape, x.dtype, x)
    if axes == CHANNELS and x.ndim == 3:
        batch, channels, inner = x.shape
        sums = _channel_sums(g, x, mean, variance, (batch, channels, inner), channels, 0, eps)
        given = (g, x, wide_weight, mean, variance, sums, out)
        _run_channels("norm_channels_grad", (centre,), x, given, (batch * inner, eps))
        return out, _weight_gradient(sums[1], weight)
    rows, length = _rows(x, axes)
    if out.size:
        arrays, statistics = (g, x, wide_weight, out), (mean, variance)
        parameters = _parameters(x, weight, axes)
        _run_rows("norm_rows_grad", centre, rows, length, arrays, statistics, parameters, eps)
    if weight is None:
        return out, None
    if weight.ndim == len(axes):
        if not centre:
            mean = zeros(variance.shape, variance.dtype)
        total = _column_sums(g, x, mean, variance, rows, length, eps)
    else:
        shape = (x.shape[0], x.shape[1] * x.shape[2], x.shape[3])
        total = _channel_sums(g, x, mean, variance, shape, x.shape[1], x.shape[1], eps)[1]
    return out, _weight_gradient(total, weight)


def _weight_gradient(total: Any, weight: Any) -> Any:
    if weight is None:
        return None
    return contiguous(same_dtype(total, weight.dtype)).reshape(weight.shape)


def _column_sums(g, x, mean, variance, rows, length, eps) -> Any:
    """The sum of ``g * standard`` of each column of (rows, length)."""
    number = max(1, min(rows // 64, 128))
    parts = empty((number, length), mean.dtype, x)
    if parts.size:
        sizes = (np.int64(rows), np.int64(length), np.int64(-(-rows // number)), np.float64(eps))
        width = pack_for(length, g, x)
        run = kernel("norm", "norm_columns_grad_weight", x.dtype, width)
        blocks = -(-length // (WARP * width))
        run((blocks, number), (WARP, 8), (g, x, mean, variance, parts, *sizes))
    return parts[0] if number == 1 else sum(parts, (0,), False)


def _channel_sums(g, x, mean, variance, shape, groups, statistics_of_sample, eps) -> Any:
    """The sums of ``g`` and of ``g * standard`` of each channel: (2, channels)."""
    batch, channels, inner = shape
    number = parts_for(channels, batch * inner)
    sums = empty((2, channels, number), mean.dtype, x)
    of_group = max(1, channels // max(1, groups))
    sizes = (batch, channels, inner, of_group, statistics_of_sample)
    if channels:
        blocks = blocks_for(channels, 1, current_machine().processors)
        given = (g, x, mean, variance, sums, *map(np.int64, sizes), np.float64(eps))
        run = kernel("norm", "norm_channel_sums", x.dtype, pack_for(inner, g, x))
        run((blocks, number), (THREADS,), given)
    return sums[:, :, 0] if number == 1 else sum(sums, (2,), False)


def update_running_(running_mean, running_var, mean, variance, momentum, correction):
    mean, variance = contiguous(mean), contiguous(variance)
    count = running_mean.size
    if count:
        run = kernel("norm", "update_running", running_mean.dtype, mean.dtype)
        given = (running_mean, running_var, mean, variance, np.int64(count))
        blocks = blocks_for(count, THREADS, current_machine().processors)
        run((blocks,), (THREADS,), (*given, np.float64(momentum), np.float64(correction)))
    return running_mean
