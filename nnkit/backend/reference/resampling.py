"""Resampling over the algebra: another size of the spatial axes; layout (N, C, *spatial).

Each axis by itself: its samples are weighted sums of a few samples of the input. A mode that ends
in "-antialias" sees as many more of them as the axis shrinks, so that none is passed over.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from nnkit.backend.dtype import float32, float64, int64, uint8

SHARPNESS = -0.75  # of the cubic kernel, as in OpenCV
SHARPNESS_WHEN_SMOOTHED = -0.5  # as in Pillow
RADIUS = {"bilinear": 1.0, "bicubic": 2.0, "lanczos": 3.0}  # of the kernels of "-antialias"


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


def _samples(B, old, new, scale, mode, aligned, x_dtype):
    """Pairs: an index of the input's samples, and their weights (None for ones)."""
    dtype = _work(x_dtype)
    if old == new and (mode not in ("nearest", "bicubic") or x_dtype == uint8.array):
        index = B.arange(0, new, 1, int64.array)  # whatever the scale, as in torch
        if x_dtype == uint8.array or mode == "nearest-exact" or mode.endswith("-antialias"):
            return [(index, None)]
        way = B.full((new,), 0.0, dtype)  # of infinities torch makes NaN: it adds 0 times them
        return [(index, weight) for _, weight in _linear(B, way)]
    if mode.endswith("-antialias"):
        return _smoothed(B, old, new, scale, mode, aligned, dtype)
    position = _positions(B, old, new, scale, mode, aligned, dtype)
    whole = B.floor(position)
    first = B.cast(whole, int64.array)
    if mode.startswith("nearest"):
        return [(B.minimum(first, old - 1), None)]
    weigh = cubic if mode == "bicubic" else _linear
    return [
        (B.minimum(B.maximum(B.add(first, offset), 0), old - 1), weight)
        for offset, weight in weigh(B, B.sub(position, whole))
    ]


def _linear(B, way):
    return (0, B.sub(1.0, way)), (1, way)


def cubic(B, way):
    """Keys' kernel of four samples."""
    rest = B.sub(1.0, way)
    for offset, distance in ((-1, B.add(way, 1.0)), (0, way), (1, rest), (2, B.add(rest, 1.0))):
        keys = _keys_near if offset in (0, 1) else _keys_far
        yield offset, keys(B, distance, SHARPNESS)


def _keys_near(B, distance, a):
    """Keys' cubic up to a distance of 1."""
    inner = B.mul(B.sub(B.mul(distance, a + 2), a + 3), distance)
    return B.add(B.mul(inner, distance), 1.0)


def _keys_far(B, distance, a):
    """Keys' cubic between the distances 1 and 2."""
    inner = B.add(B.mul(B.sub(B.mul(distance, a), 5 * a), distance), 8 * a)
    return B.sub(B.mul(inner, distance), 4 * a)


def _smoothed(B, old, new, scale, mode, aligned, dtype):
    """The kernel is as much wider as the axis shrinks, and its weights add up to one."""
    if aligned:
        step = (old - 1) / (new - 1) if new > 1 else 0.0
    else:
        step = old / new if scale is None else 1.0 / float(scale)
    widened = max(step, 1.0)
    radius = RADIUS[mode.removesuffix("-antialias")] * widened
    centre = B.mul(B.add(B.arange(0, new, 1, dtype), 0.5), step)
    first = B.maximum(B.floor(B.add(B.sub(centre, radius), 0.5)), 0.0)
    last = B.minimum(B.floor(B.add(B.add(centre, radius), 0.5)), float(old))
    pairs, total = [], None
    for offset in range(2 * math.ceil(radius) + 1):
        place = B.add(first, float(offset))
        distance = B.abs(B.mul(B.add(B.sub(place, centre), 0.5), 1.0 / widened))
        weight = _filter(B, distance, mode)
        weight = B.where(B.lt(place, last), weight, 0.0)
        total = weight if total is None else B.add(total, weight)
        pairs.append((B.cast(B.minimum(place, float(old - 1)), int64.array), weight))
    return [(index, B.div(weight, total)) for index, weight in pairs]


def _filter(B, distance, mode):
    if mode.startswith("bilinear"):
        return B.maximum(B.sub(1.0, distance), 0.0)
    if mode.startswith("lanczos"):
        window = B.mul(B.sinc(distance), B.sinc(B.div(distance, 3.0)))
        return B.where(B.lt(distance, 3.0), window, 0.0)
    near = _keys_near(B, distance, SHARPNESS_WHEN_SMOOTHED)
    far = _keys_far(B, distance, SHARPNESS_WHEN_SMOOTHED)
    return B.where(B.lt(distance, 1.0), near, B.where(B.lt(distance, 2.0), far, 0.0))


def _along(B, x, axis, weight):
    return B.mul(x, B.reshape(weight, (-1,) + (1,) * (x.ndim - axis - 1)))


def _work(dtype):
    return float64.array if dtype in (float64.array, uint8.array) else float32.array


def _in_fixed_point(B, pairs):
    """Weights as multiples of a power of two, of which the largest fits in 15 bits: images of bytes
    are computed so in torch, and in Pillow."""
    if pairs[0][1] is None:
        return pairs
    weights = [weight for _, weight in pairs]
    if len(pairs) <= 4:  # beyond the edge several of them are of the sample at the edge
        for i, j in itertools.combinations(range(len(pairs)), 2):
            same = B.eq(pairs[i][0], pairs[j][0])
            weights[i] = B.where(same, B.add(weights[i], weights[j]), weights[i])
            weights[j] = B.where(same, 0.0, weights[j])
    largest = B.amax(B.stack(weights, 0), None, False)
    bits = B.sub(B.ceil(B.log2(B.div(2.0**15 - 0.5, largest))), 1.0)
    unit = B.exp2(B.minimum(B.maximum(bits, 0.0), 22.0))
    return [
        (index, B.div(B.trunc(B.add(B.mul(weight, unit), B.copysign(0.5, weight))), unit))
        for (index, _), weight in zip(pairs, weights, strict=True)
    ]


def resample(B, x, size, scales, mode, aligned):
    between = not mode.startswith("nearest")
    out = B.cast(x, _work(x.dtype)) if between else x
    for axis in range(x.ndim - 1, 1, -1):
        new, scale = size[axis - 2], scales[axis - 2]
        total = None
        pairs = _samples(B, x.shape[axis], new, scale, mode, aligned, x.dtype)
        if between and x.dtype == uint8.array:
            pairs = _in_fixed_point(B, pairs)
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
    out: Any = B.cast(y, _work(y.dtype))
    for axis in range(2, y.ndim):
        target = (*out.shape[:axis], shape[axis], *out.shape[axis + 1 :])
        new, scale = y.shape[axis], scales[axis - 2]
        total = None
        for index, weight in _samples(B, shape[axis], new, scale, mode, aligned, y.dtype):
            part = out if weight is None else _along(B, out, axis, weight)
            part = B.index_select_adjoint(part, index, axis, target)
            total = part if total is None else B.add(total, part)
        out = total
    return B.cast(out, y.dtype)
