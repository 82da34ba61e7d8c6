"""Convolutions: products of the weight with the windows of the input."""

from __future__ import annotations

import math

# The bodies themselves: the primitives refuse integers, of which there are convolutions.
from nnkit.backend.reference.folding import col2im, im2col
from nnkit.backend.windows import window_counts


def _grouped(B, columns, groups):
    """(N, C * taps, windows) as (groups, C / groups * taps, N * windows)."""
    batch, rows, windows = columns.shape
    parted = B.reshape(columns, (batch, groups, rows // groups, windows))
    return B.reshape(B.permute(parted, (1, 2, 0, 3)), (groups, rows // groups, batch * windows))


def _matrix(B, weight, groups):
    """A weight (O, C / groups, *kernel) as (groups, O / groups, C / groups * taps)."""
    rows = weight.shape[0] // groups
    return B.reshape(weight, (groups, rows, math.prod(weight.shape[1:])))


def conv(B, x, weight, bias, stride, padding, dilation, groups):
    """``out[n, o, at] = bias[o] + sum of weight[o, c, k] * x[n, c, stride * at + dilation * k]``
    over channels ``c`` and places ``k`` in the kernel.

    ``x`` is (N, C, *spatial), ``weight`` (O, C / groups, *kernel).
    """
    kernel = tuple(weight.shape[2:])
    size = window_counts(x.shape[2:], kernel, stride, padding, dilation)
    columns = _grouped(B, im2col(B, x, kernel, dilation, padding, stride), groups)
    product = B.matmul(_matrix(B, weight, groups), columns)
    shaped = B.reshape(product, (weight.shape[0], x.shape[0], *size))
    out = B.contiguous(B.swapaxes(shaped, 0, 1))
    return out if bias is None else B.add(out, B.reshape(bias, (-1,) + (1,) * len(size)))


def conv_grad_weight(B, g, x, shape, stride, padding, dilation, groups):
    """The gradient of `conv` in its weight, which has ``shape``."""
    # As many windows as ``g`` has: the input may have room for more.
    rows = zip(x.shape[2:], shape[2:], g.shape[2:], stride, padding, dilation, strict=True)
    widths = ((p, (m - 1) * s + d * (k - 1) + 1 - n - p) for n, k, m, s, p, d in rows)
    x, around = B.pad(x, ((0, 0), (0, 0), *widths), 0), (0,) * len(stride)
    columns = _grouped(B, im2col(B, x, tuple(shape[2:]), dilation, around, stride), groups)
    flat = B.reshape(g, (*g.shape[:2], math.prod(g.shape[2:])))
    return B.reshape(B.matmul(_grouped(B, flat, groups), B.mT(columns)), shape)


def conv_grad_input(B, g, weight, shape, stride, padding, dilation, groups):
    """The gradient of `conv` in its input, which has ``shape``."""
    kernel, windows = tuple(weight.shape[2:]), math.prod(g.shape[2:])
    # As far as the windows of ``g`` reach: the input may have room for more.
    rows = zip(g.shape[2:], kernel, stride, dilation, strict=True)
    reached = tuple((m - 1) * s + d * (k - 1) + 1 for m, k, s, d in rows)
    widths = ((-p, n + p - m) for n, m, p in zip(shape[2:], reached, padding, strict=True))
    flat = _grouped(B, B.reshape(g, (*g.shape[:2], windows)), groups)
    columns = B.matmul(B.mT(_matrix(B, weight, groups)), flat)
    rows = columns.shape[1]
    parted = B.permute(B.reshape(columns, (groups, rows, g.shape[0], windows)), (2, 0, 1, 3))
    whole = B.reshape(parted, (g.shape[0], groups * rows, windows))
    around = (0,) * len(stride)
    found = col2im(B, whole, (*shape[:2], *reached), kernel, dilation, around, stride)
    return B.pad(found, ((0, 0), (0, 0), *widths), 0)


def conv_transpose(B, x, weight, bias, shape, stride, padding, dilation, groups):
    """The gradient of `conv` in its input, seen as a layer, plus a bias for each channel."""
    out = B.conv_grad_input(x, weight, shape, stride, padding, dilation, groups)
    if bias is None:
        return out
    return B.add(out, B.reshape(bias, (shape[1],) + (1,) * len(stride)))
