"""Convolution (strictly: cross-correlation) over 1, 2 or 3 spatial axes, layout (N, C, *spatial).

The windows of the input become the columns of a matrix, so that one matrix product does the work.
The columns are made for a tile of the batch at a time, small enough to stay in the cache. With
groups, the product is one of stacks of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import wraps

import numpy as np

from nnkit.backend.dtype import HALF
from nnkit.backend.windows import is_pointwise, window_counts

Array = np.ndarray
Ints = tuple[int, ...]

TILE = 1 << 20  # bytes of columns at a time: best of 1/4 to 4 MB on a core with 512 KB of its own


def _widened(kernel: Callable[..., Array]) -> Callable[..., Array]:
    """Compute float16 and bfloat16 in float32, and round once."""

    @wraps(kernel)
    def run(x: Array, *arguments) -> Array:
        if x.dtype in HALF:
            wide = (a.astype(np.float32) if isinstance(a, Array) else a for a in arguments)
            return kernel(x.astype(np.float32), *wide).astype(x.dtype)
        return kernel(x, *arguments)

    return run


def padded(x: Array, padding: Ints) -> Array:
    """``x`` with zeros around its spatial axes, contiguous."""
    if not any(padding):
        return np.ascontiguousarray(x)
    out = zeros_padded(x.shape, padding, x.dtype)
    out[(..., *(slice(p, p + n) for n, p in zip(x.shape[2:], padding)))] = x
    return out


def windows_of(x: Array, kernel: Ints, size: Ints, stride: Ints, dilation: Ints) -> Array:
    """A view (C, *kernel, N, *size) of a contiguous (N, C, *spatial): for each place in the kernel,
    what it meets at each position of the output."""
    batch, channel, *spatial = x.strides
    taps = (step * d for step, d in zip(spatial, dilation))
    positions = (step * s for step, s in zip(spatial, stride))
    return np.ndarray(
        (x.shape[1], *kernel, x.shape[0], *size),
        x.dtype, x, 0, (channel, *taps, batch, *positions),
    )  # fmt: skip


def _tiles(batch: int, rows: int, row_bytes: int) -> Iterator[tuple[slice, slice]]:
    """Cut a batch into runs of samples, and samples that are too large into runs of rows."""
    if rows * row_bytes <= TILE:
        step = max(1, TILE // max(1, rows * row_bytes))
        for start in range(0, batch, step):
            yield slice(start, min(start + step, batch)), slice(0, rows)
        return
    step = max(1, TILE // row_bytes)
    for sample in range(batch):
        for start in range(0, rows, step):
            yield slice(sample, sample + 1), slice(start, min(start + step, rows))


@_widened
def conv(
    x: Array, weight: Array, bias: Array | None,
    stride: Ints, padding: Ints, dilation: Ints, groups: int,
) -> Array:  # fmt: skip
    """``out[n, o, at] = bias[o] + sum of weight[o, c, k] * x[n, c, stride * at + dilation * k]``
    over channels ``c`` and places ``k`` in the kernel.

    ``x`` is (N, C, *spatial), ``weight`` (O, C / groups, *kernel).
    """
    outputs, _, *kernel = weight.shape
    kernel = tuple(kernel)
    matrix = weight.reshape(groups, outputs // groups, weight.shape[1] * math.prod(kernel))
    size = window_counts(x.shape[2:], kernel, stride, padding, dilation)
    if is_pointwise(kernel, stride, padding):
        out = np.matmul(
            matrix, x.reshape(x.shape[0], groups, x.shape[1] // groups, math.prod(size))
        )
        if bias is not None:
            out += bias.reshape(groups, -1, 1)
        return out.reshape(x.shape[0], outputs, *size)
    windows = windows_of(padded(x, padding), kernel, size, stride, dilation)
    out = np.empty((x.shape[0], outputs, *size), x.dtype)
    lead = (slice(None),) * (1 + len(kernel))
    for samples, rows in _tiles(*_work(windows, size, x.shape[0])):
        columns = np.ascontiguousarray(windows[(*lead, samples, rows)])
        tile = columns.shape[len(lead) :]
        product = matrix @ columns.reshape(groups, matrix.shape[2], math.prod(tile))
        if bias is not None:
            product += bias.reshape(groups, -1, 1)
        out[samples, :, rows] = product.reshape(outputs, *tile).swapaxes(0, 1)
    return out


def _work(windows: Array, size: Ints, batch: int) -> tuple[int, int, int]:
    """Samples, rows of a sample, and bytes of columns that a row takes: the arguments of
    `_tiles`."""
    count = max(1, batch * size[0])
    return batch, size[0], windows.size * windows.itemsize // count


@_widened
def conv_grad_weight(
    g: Array, x: Array, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The gradient of `conv` in its weight, which has ``shape``."""
    outputs, channels, *kernel = shape
    size = g.shape[2:]
    windows = windows_of(padded(x, padding), tuple(kernel), size, stride, dilation)
    total = np.zeros((groups, outputs // groups, channels * math.prod(kernel)), g.dtype)
    lead = (slice(None),) * (1 + len(kernel))
    for samples, rows in _tiles(*_work(windows, size, x.shape[0])):
        columns = np.ascontiguousarray(windows[(*lead, samples, rows)])
        columns = columns.reshape(groups, total.shape[2], math.prod(columns.shape[len(lead) :]))
        tile = np.ascontiguousarray(g[samples, :, rows].swapaxes(0, 1))
        total += tile.reshape(groups, total.shape[1], -1) @ columns.swapaxes(1, 2)
    return total.reshape(shape)


@_widened
def conv_grad_input(
    g: Array, weight: Array, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The gradient of `conv` in its input, which has ``shape``; also the transposed convolution."""
    outputs, channels, *kernel = weight.shape
    around = tuple(d * (k - 1) - p for k, p, d in zip(kernel, padding, dilation))
    if math.prod(stride) == 1 and _is_conv(g, shape, weight, around, dilation):
        split = weight.reshape(groups, outputs // groups, channels, *kernel).swapaxes(1, 2)
        flipped = split[(..., *(slice(None, None, -1) for _ in kernel))]
        flipped = flipped.reshape(shape[1], outputs // groups, *kernel)
        return conv(g, flipped, None, stride, around, dilation, groups)
    matrix = weight.reshape(groups, outputs // groups, -1).swapaxes(1, 2)
    size = g.shape[2:]
    out = zeros_padded(shape, padding, g.dtype)
    row_bytes = shape[1] * math.prod(kernel) * math.prod(size[1:]) * g.itemsize
    for samples, rows in _tiles(shape[0], size[0], row_bytes):
        tile = np.ascontiguousarray(g[samples, :, rows].swapaxes(0, 1))
        columns = matrix @ tile.reshape(groups, outputs // groups, -1)
        columns = columns.reshape(shape[1], *kernel, *tile.shape[1:])
        part = out[samples, :, rows.start * stride[0] :].swapaxes(0, 1)
        spread(columns, part, stride, dilation)
    return cropped(out, padding)


def _is_conv(g: Array, shape: Ints, weight: Array, around: Ints, dilation: Ints) -> bool:
    """Whether the gradient in the input (with stride 1) should be computed as a convolution of
    ``g`` with the turned weight. Making a column costs about half as much as spreading one out."""
    size = window_counts(g.shape[2:], weight.shape[2:], (1,) * len(around), around, dilation)
    if min(around) < 0 or size != shape[2:]:
        return False
    return math.prod(shape[2:]) * g.shape[1] <= 2 * math.prod(g.shape[2:]) * shape[1]


def zeros_padded(shape: Ints, padding: Ints, dtype: np.dtype) -> Array:
    return np.zeros(shape[:2] + tuple(n + 2 * p for n, p in zip(shape[2:], padding)), dtype)


def cropped(x: Array, padding: Ints) -> Array:
    if not any(padding):
        return x
    inner = (slice(p, n - p) for n, p in zip(x.shape[2:], padding))
    return np.ascontiguousarray(x[(..., *inner)])


def spread(columns: Array, out: Array, stride: Ints, dilation: Ints) -> None:
    """Add columns (C, *kernel, N, *size) to the places of ``out`` (C, N, *spatial) they are of."""
    axes = len(stride)
    kernel, size = columns.shape[1 : 1 + axes], columns.shape[2 + axes :]
    for tap in np.ndindex(*kernel):
        starts = (k * d for k, d in zip(tap, dilation))
        place = tuple(
            slice(start, start + (n - 1) * s + 1, s) for start, n, s in zip(starts, size, stride)
        )
        view = out[(..., *place)]
        np.add(view, columns[(slice(None), *tap)], out=view)
