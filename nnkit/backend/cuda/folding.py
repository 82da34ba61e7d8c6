"""Windows as columns (unfold) and back (fold); kernels/conv.cu."""

from __future__ import annotations

import math
from typing import Any

from nnkit.backend.cuda.conv import col2im_into, im2col_into
from nnkit.backend.cuda.differences import contiguous, empty
from nnkit.backend.cuda.geometry import Ints, geometry
from nnkit.backend.cuda.shape import view_as_complex, view_as_real
from nnkit.backend.windows import window_counts


def _with_parts(kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> tuple[Ints, ...]:
    """The geometry of complex numbers as real ones, whose two parts are one more spatial axis."""
    return (*kernel, 1), (*dilation, 1), (*padding, 0), (*stride, 1)


def im2col(x: Any, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    if x.dtype.kind == "c":
        columns = im2col(view_as_real(x), *_with_parts(kernel, dilation, padding, stride))
        return view_as_complex(columns.reshape(*columns.shape[:2], columns.shape[2] // 2, 2))
    x = contiguous(x)
    batch, channels, *spatial = x.shape
    size = window_counts(tuple(spatial), kernel, stride, padding, dilation)
    count, rows = math.prod(size), channels * math.prod(kernel)
    out = empty((batch, rows, count), x.dtype, x)
    windows = geometry(tuple(spatial), kernel, size, stride, padding, dilation)
    im2col_into(x, out, windows, count, rows * count)
    return out


def col2im(x: Any, shape: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    if x.dtype.kind == "c":
        parts = contiguous(view_as_real(x)).reshape(*x.shape[:2], 2 * x.shape[2])
        return view_as_complex(
            col2im(parts, (*shape, 2), *_with_parts(kernel, dilation, padding, stride))
        )
    x = contiguous(x)
    spatial = tuple(shape[2:])
    size = window_counts(spatial, kernel, stride, padding, dilation)
    out = empty(shape, x.dtype, x)
    windows = geometry(spatial, kernel, size, stride, padding, dilation)
    col2im_into(x, out, windows, math.prod(size), x.shape[1] * math.prod(size))
    return out
