"""Resampling over the algebra: another size of the spatial axes; layout (N, C, *spatial).

Each axis by itself: its samples are weighted sums of a few samples of the input.
"""

from __future__ import annotations

from typing import Any

from nnkit.backend.dtype import float32, float64, int64, uint8

SHARPNESS = -0.75  # of the cubic kernel, as in OpenCV


def _positions(B, old, new, scale, mode, aligned, dtype):
    """The position in the input of each sample of the output."""
    index = B.arange(0, new, 1, dtype)
    if aligned:
        return B.mul(index, (old - 1) / (new - 1) if new > 1 else 0.0)
    scale = old / new if scale is None else 1.0 / float(scale)
    if mode == "nearest":
        return B.mul(index, scale)
    if mode == "nearest-exact":
        return B.mul(B.add(index, 0.5), scale)
    centred = B.sub(B.mul(B.add(index, 0.5), scale), 0.5)
    return centred if mode == "bicubic" else B.maximum(centred, 0.0)


def _samples(B, old, new, scale, mode, aligned, dtype):
    """Pairs: an index of the input's samples, and their weights (None for ones)."""
    position = _positions(B, old, new, scale, mode, aligned, dtype)
    whole = B.floor(position)
    first = B.cast(whole, int64.array)
    if mode.startswith("nearest"):
        return [(B.minimum(first, old - 1), None)]
    weigh = _cubic if mode == "bicubic" else _linear
    return [
        (B.minimum(B.maximum(B.add(first, offset), 0), old - 1), weight)
        for offset, weight in weigh(B, B.sub(position, whole))
    ]


def _linear(B, way):
    return (0, B.sub(1.0, way)), (1, way)


def _cubic(B, way):
    """Keys' kernel of four samples."""
    a = SHARPNESS
    rest = B.sub(1.0, way)
    for offset, distance in ((-1, B.add(way, 1.0)), (0, way), (1, rest), (2, B.add(rest, 1.0))):
        if offset in (0, 1):
            inner = B.mul(B.sub(B.mul(distance, a + 2), a + 3), distance)
            yield offset, B.add(B.mul(inner, distance), 1.0)
        else:
            inner = B.add(B.mul(B.sub(B.mul(distance, a), 5 * a), distance), 8 * a)
            yield offset, B.sub(B.mul(inner, distance), 4 * a)


def _along(B, x, axis, weight):
    return B.mul(x, B.reshape(weight, (-1,) + (1,) * (x.ndim - axis - 1)))


def _work(x):
    return float64.array if x.dtype == float64.array else float32.array


def resample(B, x, size, scales, mode, aligned):
    between = not mode.startswith("nearest")
    out = B.cast(x, _work(x)) if between else x
    for axis in range(x.ndim - 1, 1, -1):
        new, scale = size[axis - 2], scales[axis - 2]
        total = None
        pairs = _samples(B, x.shape[axis], new, scale, mode, aligned, _work(x))
        for index, weight in pairs:
            part = B.index_select(out, index, axis)
            part = part if weight is None else _along(B, part, axis, weight)
            total = part if total is None else B.add(total, part)
        out = total
        if between and x.dtype == uint8.array:  # each axis is rounded and held in its range
            out = B.minimum(B.maximum(B.floor(B.add(out, 0.5)), 0.0), 255.0)
    return B.cast(out, x.dtype)


def resample_adjoint(B, y, shape, scales, mode, aligned):
    """Each sample of ``y`` added, with its weight, to the samples that it was made of."""
    out: Any = B.cast(y, _work(y))
    for axis in range(2, y.ndim):
        target = (*out.shape[:axis], shape[axis], *out.shape[axis + 1 :])
        new, scale = y.shape[axis], scales[axis - 2]
        total = None
        for index, weight in _samples(B, shape[axis], new, scale, mode, aligned, _work(y)):
            part = out if weight is None else _along(B, out, axis, weight)
            part = B.index_select_adjoint(part, index, axis, target)
            total = part if total is None else B.add(total, part)
        out = total
    return B.cast(out, y.dtype)
