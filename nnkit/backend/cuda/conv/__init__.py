"""Convolution over 1, 2 or 3 spatial axes, layout (N, C, *spatial); kernels/conv.cu.

Convolutions with one input channel in each group have kernels of their own, and those whose windows
are single elements are products by cuBLAS. Where cuDNN is installed, it does the rest; else the
kernels of tensor_cores.py do what they can. Of all others the windows of the input become the
columns of a matrix (channel, tap; sample, output), so that a product by cuBLAS does the work, for
as many samples at a time as the columns may take memory.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from nnkit.backend.cuda import cudnn
from nnkit.backend.cuda.complex import by_parts
from nnkit.backend.cuda.conv import tensor_cores
from nnkit.backend.cuda.creation import zeros
from nnkit.backend.cuda.differences import contiguous, empty
from nnkit.backend.cuda.geometry import Geometry, Ints, geometry, work_on
from nnkit.backend.cuda.launch import THREADS, blocks_for
from nnkit.backend.cuda.linalg import matmul
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.cuda.team import pack_for
from nnkit.backend.windows import is_pointwise, window_counts

TILE = 512 << 20  # bytes of columns at a time


class Columns(ctypes.Structure):
    """How columns lie: `Columns` of kernels/conv.cu."""

    _fields_ = tuple((n, ctypes.c_int64) for n in ("channels", "tap_step", "sample_step"))


def _launch(name: str, work: int, like: Any, *arguments: Any, width: int | None = None) -> None:
    """A kernel whose threads share ``work`` items."""
    if work:
        blocks = blocks_for(work, THREADS, current_machine().processors)
        values = tuple(np.int64(a) if isinstance(a, int) else a for a in arguments)
        template = (like.dtype,) if width is None else (like.dtype, width)
        kernel("conv", name, *template)((blocks,), (THREADS,), values)


def im2col_into(x: Any, columns: Any, windows: Geometry, tap_step: int, sample_step: int) -> None:
    planes, layout = x.shape[0] * x.shape[1], Columns(x.shape[1], tap_step, sample_step)
    work = work_on(planes, math.prod(windows.output))
    _launch("im2col", work, x, x, columns, windows, planes, layout)


def col2im_into(columns: Any, x: Any, windows: Geometry, tap_step: int, sample_step: int) -> None:
    planes, layout = x.shape[0] * x.shape[1], Columns(x.shape[1], tap_step, sample_step)
    work = work_on(planes, math.prod(windows.input))
    _launch("col2im", work, x, columns, x, windows, planes, layout)


def _samples(batch: int, bytes_of_sample: int) -> Iterator[slice]:
    step = max(1, TILE // max(1, bytes_of_sample))
    for start in range(0, batch, step):
        yield slice(start, min(start + step, batch))


def _swapped(x: Any, bias: Any, out: Any) -> Any:
    """``out[j, i] = x[i, j] + bias[i]`` for the first two axes of ``x``."""
    rows, columns, size = *x.shape[:2], math.prod(x.shape[2:])
    width = pack_for(size, x, out)
    sizes = (rows, np.int32(columns), np.int32(size // width))
    _launch("swap_batch", x.size // width, x, x, bias, out, *sizes, width=width)
    return out


def _is_depthwise(shape: Ints, groups: int) -> bool:
    """Whether a weight is depthwise: one input channel in each of several groups."""
    return shape[1] == 1 and groups > 1


def _with_bias(out: Any, bias: Any, outputs: int, count: int) -> Any:
    if bias is not None:
        _launch("add_bias", out.size, out, out, bias, out.size, outputs, count)
    return out


def conv(
    x: Any, weight: Any, bias: Any,
    stride: Ints, padding: Ints, dilation: Ints, groups: int,
) -> Any:  # fmt: skip
    if x.dtype.kind == "c":
        out = by_parts(conv, x, weight, None, stride, padding, dilation, groups)
        return out if bias is None else _sum(out, bias.reshape(-1, *(1,) * (x.ndim - 2)))
    x, weight = contiguous(x), contiguous(weight)
    bias = None if bias is None else contiguous(bias)
    batch, channels, *spatial = x.shape
    outputs, of_group, *window = weight.shape
    taps, spatial, window = math.prod(window), tuple(spatial), tuple(window)
    size = window_counts(spatial, window, stride, padding, dilation)
    count = math.prod(size)
    windows = geometry(spatial, window, size, stride, padding, dilation)
    out = empty((batch, outputs, *size), x.dtype, x)
    if not out.size:
        return out
    if _is_depthwise(weight.shape, groups):
        planes = batch * outputs
        given = (x, weight, bias, out, windows, planes, outputs, outputs // groups)
        _launch("depthwise", work_on(planes, count), x, *given)
        return out
    matrix = weight.reshape(groups, outputs // groups, of_group * taps)
    if is_pointwise(window, stride, padding):
        out = matmul(matrix, x.reshape(batch, groups, of_group, count)).reshape(out.shape)
        return _with_bias(out, bias, outputs, count)
    if cudnn.conv(x, weight, out, stride, padding, dilation):
        return _with_bias(out, bias, outputs, count)
    if tensor_cores.conv(x, weight, bias, out, windows, groups):
        return out
    for part in _samples(batch, channels * taps * count * x.itemsize):
        some = part.stop - part.start
        columns = empty((groups, of_group * taps, some * count), x.dtype, x)
        im2col_into(x[part], columns, windows, some * count, count)
        product = matmul(matrix, columns).reshape(outputs, some, count)
        _swapped(product, bias, out[part])
    return out


def conv_grad_weight(
    g: Any, x: Any, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    if x.dtype.kind == "c":
        return by_parts(conv_grad_weight, g, x, shape, stride, padding, dilation, groups)
    g, x = contiguous(g), contiguous(x)
    batch, channels, *spatial = x.shape
    outputs, of_group, *window = shape
    taps, count = math.prod(window), math.prod(g.shape[2:])
    windows = geometry(tuple(spatial), tuple(window), g.shape[2:], stride, padding, dilation)
    out = empty(shape, x.dtype, x)
    if _is_depthwise(shape, groups):
        given = (g, x, out, windows, batch, outputs, outputs // groups)
        # One block, not one thread, for each item.
        _launch("depthwise_grad_weight", out.size * THREADS, x, *given)
        return out
    if cudnn.conv_grad_weight(x, g, out, stride, padding, dilation):
        return out
    if tensor_cores.conv_grad_weight(g, x, out, windows, groups):
        return out
    total: Any = None
    for part in _samples(batch, (channels * taps + outputs) * count * x.itemsize):
        some = part.stop - part.start
        columns = empty((groups, of_group * taps, some * count), x.dtype, x)
        im2col_into(x[part], columns, windows, some * count, count)
        rows = _swapped(g[part], None, empty((outputs, some, count), g.dtype, g))
        rows = rows.reshape(groups, outputs // groups, some * count)
        product = matmul(rows, columns.swapaxes(1, 2))
        total = product if total is None else _sum(total, product)
    return zeros(shape, x.dtype) if total is None else total.reshape(shape)


def _sum(x: Any, y: Any) -> Any:
    from nnkit.backend.cuda import BACKEND as B

    return B.add_(x, y)


def conv_grad_input(
    g: Any, weight: Any, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """The gradient of `conv` in its input, which has ``shape``; also the transposed convolution."""
    if g.dtype.kind == "c":
        return by_parts(conv_grad_input, g, weight, shape, stride, padding, dilation, groups)
    g, weight = contiguous(g), contiguous(weight)
    batch, channels, *spatial = shape
    outputs, of_group, *window = weight.shape
    taps, count = math.prod(window), math.prod(g.shape[2:])
    windows = geometry(tuple(spatial), tuple(window), g.shape[2:], stride, padding, dilation)
    out = empty(shape, g.dtype, g)
    if not out.size:
        return out
    if _is_depthwise(weight.shape, groups):
        planes = batch * channels
        given = (g, weight, out, windows, planes, channels, outputs // groups)
        _launch("depthwise_grad_input", work_on(planes, math.prod(spatial)), g, *given)
        return out
    matrix = weight.reshape(groups, outputs // groups, of_group * taps).swapaxes(1, 2)
    if is_pointwise(tuple(window), stride, padding):
        product = matmul(matrix, g.reshape(batch, groups, outputs // groups, count))
        return product.reshape(shape)
    if cudnn.conv_grad_input(g, weight, out, stride, padding, dilation):
        return out
    if tensor_cores.conv_grad_input(g, weight, out, windows, groups):
        return out
    for part in _samples(batch, (channels * taps + outputs) * count * g.itemsize):
        some = part.stop - part.start
        rows = _swapped(g[part], None, empty((outputs, some, count), g.dtype, g))
        columns = matmul(matrix, rows.reshape(groups, outputs // groups, some * count))
        col2im_into(contiguous(columns), out[part], windows, some * count, count)
    return out
