"""The windows of an array as the columns of a matrix, and columns added up to an array."""

from __future__ import annotations

import math

import numpy as np

from nnkit.backend.cpu.conv import (
    cropped,
    padded,
    spread,
    windows_of,
    zeros_padded,
)
from nnkit.backend.windows import window_counts

Array = np.ndarray
Ints = tuple[int, ...]


def im2col(x: Array, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Array:
    """The windows of (N, C, *spatial) as columns (N, C * prod(kernel), number of windows)."""
    size = window_counts(x.shape[2:], kernel, stride, padding, dilation)
    windows = windows_of(padded(x, padding), kernel, size, stride, dilation)
    batch = 1 + len(kernel)
    columns = np.moveaxis(windows, batch, 0).copy()  # one window may be the whole array
    return columns.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(size))


def col2im(
    x: Array, shape: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Array:
    """Add columns up where their windows lie in an array of ``shape``: the adjoint of `im2col`.

    As in torch half precision is rounded after each addition.
    """
    size = window_counts(shape[2:], kernel, stride, padding, dilation)
    out = zeros_padded(shape, padding, x.dtype)
    columns = x.reshape(shape[0], shape[1], *kernel, *size)
    spread(np.moveaxis(columns, 0, 1 + len(kernel)), out.swapaxes(0, 1), stride, dilation)
    return cropped(out, padding)
