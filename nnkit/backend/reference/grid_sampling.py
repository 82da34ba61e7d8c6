"""Images and volumes read at the places of a grid, over the algebra; layout (N, C, *spatial).

What a place reads are a few neighbours along each axis, its *taps*: each has an index, which may
lie outside, a weight, and the weight's slope in the coordinate of the grid.
"""

from __future__ import annotations

import itertools
import math

from nnkit.backend.dtype import int64
from nnkit.backend.reference.resampling import SHARPNESS, cubic

OUTSIDE = -100.0


def grid_sample(B, x, grid, mode, padding, aligned):
    """``out[n, c, p] = sum over the neighbours of grid[n, p] of weight * x[n, c, neighbour]``"""
    total = None
    for position, within, weights, _ in _neighbours(B, grid, x.shape[2:], mode, padding, aligned):
        part = B.mul(_read(B, x, position, within), _row(B, _product(B, weights)))
        total = part if total is None else B.add(total, part)
    return B.reshape(total, (*x.shape[:2], *grid.shape[1:-1]))


def grid_sample_grad_input(B, g, grid, shape, mode, padding, aligned):
    """The gradient of `grid_sample` in the image, which has ``shape``."""
    batch, channels, *sizes = shape
    count = math.prod(grid.shape[1:-1])
    above = B.reshape(g, (batch, channels, count))
    total = None
    for position, within, weights, _ in _neighbours(B, grid, sizes, mode, padding, aligned):
        part = B.where(_row(B, within), B.mul(above, _row(B, _product(B, weights))), 0.0)
        rows = B.expand(_row(B, position), (batch, channels, count))
        part = B.gather_adjoint(part, rows, 2, (batch, channels, math.prod(sizes)))
        total = part if total is None else B.add(total, part)
    return B.reshape(total, shape)


def grid_sample_grad_grid(B, g, x, grid, mode, padding, aligned):
    """The gradient of `grid_sample` in the grid."""
    if mode == "nearest":
        return B.zeros_like(grid)
    axes = x.ndim - 2
    above = B.reshape(g, (*x.shape[:2], math.prod(grid.shape[1:-1])))
    totals = [None] * axes
    neighbours = _neighbours(B, grid, x.shape[2:], mode, padding, aligned)
    for position, within, weights, slopes in neighbours:
        along = B.sum(B.mul(above, _read(B, x, position, within)), 1, False)
        along = B.reshape(along, grid.shape[:-1])
        for axis in range(axes):
            factors = [*weights[:axis], slopes[axis], *weights[axis + 1 :]]
            part = B.mul(along, _product(B, factors))
            totals[axis] = part if totals[axis] is None else B.add(totals[axis], part)
    return B.stack(totals[::-1], axes + 1)


def _row(B, value):
    """The data of each place that serve all channels: (N, 1, places)."""
    return B.reshape(value, (value.shape[0], 1, math.prod(value.shape[1:])))


def _read(B, x, position, within):
    """One neighbour of each place, (N, C, places); zeros where there is none."""
    flat = B.reshape(x, (*x.shape[:2], math.prod(x.shape[2:])))
    rows = _row(B, position)
    values = B.gather(flat, B.expand(rows, (*x.shape[:2], rows.shape[2])), 2)
    return B.where(_row(B, within), values, 0.0)


def _product(B, factors):
    total = factors[0]
    for factor in factors[1:]:
        total = B.mul(total, factor)
    return total


def _neighbours(B, grid, sizes, mode, padding, aligned):
    """For each combination of taps: the position in an image, whether it lies inside, the weights
    and their slopes, one for each axis."""
    axes = len(sizes)
    taps = []
    for axis, size in enumerate(sizes):
        coordinate = B.getitem(grid, (..., axes - 1 - axis))
        taps.append(list(_taps(B, coordinate, size, mode, padding, aligned, axes == 3)))
    for corner in itertools.product(*taps):
        within = None
        for (index, _, _), size in zip(corner, sizes):
            known = B.logical_and(B.ge(index, 0.0), B.lt(index, float(size)))  # not where it is NaN
            within = known if within is None else B.logical_and(within, known)
        position = None
        for (index, _, _), size in zip(corner, sizes):
            whole = B.cast(B.where(within, index, 0.0), int64.array)
            position = whole if position is None else B.add(B.mul(position, size), whole)
        yield position, within, [w for _, w, _ in corner], [s for _, _, s in corner]


def _taps(B, coordinate, size, mode, padding, aligned, is_volume):
    """(index, weight, slope) of each neighbour along an axis."""
    if aligned:
        place, scale = B.mul(B.div(B.add(coordinate, 1.0), 2.0), float(size - 1)), (size - 1) / 2
    else:
        place = B.div(B.sub(B.mul(B.add(coordinate, 1.0), float(size)), 1.0), 2.0)
        scale = size / 2
    if mode == "bicubic":
        first = B.floor(place)
        way = B.sub(place, first)
        for (offset, weight), slope in zip(cubic(B, way), _cubic_slopes(B, way)):
            index, _ = _held(B, B.add(first, float(offset)), size, padding, aligned)
            yield B.round(index), weight, B.mul(slope, scale)
        return
    place, slope = _held(B, place, size, padding, aligned)
    if is_volume:  # torch counts what is no place among those outside; of images it gives NaN
        known = B.lt(B.abs(place), 2.0**31)
        place, slope = B.where(known, place, OUTSIDE), B.where(known, slope, 0.0)
    if mode == "nearest":
        yield B.round(place), B.ones_like(place), B.zeros_like(place)
        return
    first = B.floor(place)
    way, slope = B.sub(place, first), B.mul(slope, scale)
    yield first, B.sub(1.0, way), B.neg(slope)
    yield B.add(first, 1.0), way, slope


def _cubic_slopes(B, way):
    """The slopes of Keys' kernel at four samples."""
    a, rest = SHARPNESS, B.sub(1.0, way)

    def far(distance):
        return B.add(B.mul(B.sub(B.mul(distance, 3 * a), 10 * a), distance), 8 * a)

    def near(distance):
        return B.mul(B.sub(B.mul(distance, 3 * (a + 2)), 2 * (a + 3)), distance)

    yield far(B.add(way, 1.0))
    yield near(way)
    yield B.neg(near(rest))
    yield B.neg(far(B.add(rest, 1.0)))


def _held(B, place, size, padding, aligned):
    """A place as the padding sees it, and its slope; none but "zeros" leaves it outside."""
    slope = B.ones_like(place)
    if padding == "zeros":
        return place, slope
    if padding == "reflection":
        low, span = (0.0, size - 1) if aligned else (-0.5, size)
        if span:
            place, slope = _reflected(B, place, low, float(span))
        else:
            place = slope = B.zeros_like(place)
    last = float(size - 1)
    inside = B.logical_and(B.gt(place, 0.0), B.lt(place, last))  # no gradient on the edge itself
    held = B.where(B.gt(place, 0.0), B.minimum(place, last), 0.0)  # what is no place is the first
    return held, B.where(inside, slope, 0.0)


def _reflected(B, place, low, span):
    """A place between ``low`` and ``low + span``, from which it is mirrored at either end."""
    distance = B.sub(place, low)
    is_before = B.lt(distance, 0.0)
    distance = B.abs(distance)
    turns = B.floor(B.div(distance, span))
    rest = B.sub(distance, B.mul(turns, span))
    is_odd = B.ne(B.mul(B.floor(B.div(turns, 2.0)), 2.0), turns)
    place = B.add(B.where(is_odd, B.sub(span, rest), rest), low)
    slope = B.where(B.ne(is_odd, is_before), -1.0, B.ones_like(place))
    return place, slope
