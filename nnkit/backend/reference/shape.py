"""Shapes that are made of `reshape`, `permute`, `expand`, `concat` and indexing."""

from __future__ import annotations

import itertools

from nnkit.backend.dtype import OF_ARRAY, bool_, int64
from nnkit.backend.index import ALL
from nnkit.backend.memory import extent, looks_into, steps_of
from nnkit.backend.windows import padded_geometry


def _along(axis, item):
    return (ALL,) * axis + (item, ...)


def _order(B, n, start=0, step=1):
    """``start``, ``start + step``, ...: n indices."""
    return B.arange(start, start + n * step, step, int64.array)


def _copy_by_rows(B, x):
    return B.copy_(B.empty(x.shape, x.dtype), x)


def swapaxes(B, x, axis1, axis2):
    axes = list(range(x.ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return B.permute(x, tuple(axes))


def mT(B, x):
    return B.swapaxes(x, -1, -2)


def squeeze(B, x, axes):
    dropped = {axis % x.ndim for axis in axes}
    return B.reshape(x, tuple(n for axis, n in enumerate(x.shape) if axis not in dropped))


def unsqueeze(B, x, axis):
    axis = axis + x.ndim + 1 if axis < 0 else axis
    return B.reshape(x, (*x.shape[:axis], 1, *x.shape[axis:]))


def neg_view(B, x):
    return B.neg(x)


def stack(B, xs, axis):
    return B.concat([B.unsqueeze(x, axis) for x in xs], axis % (xs[0].ndim + 1))


def split(B, x, sizes, axis):
    """Views of consecutive pieces of the given sizes along ``axis``."""
    ends = list(itertools.accumulate(sizes))
    pairs = zip([0, *ends], ends, strict=False)
    return tuple(B.getitem(x, _along(axis, slice(start, end))) for start, end in pairs)


def unbind(B, x, axis):
    return tuple(B.getitem(x, _along(axis, i)) for i in range(x.shape[axis]))


def flip(B, x, axes):
    for axis in axes:
        n = x.shape[axis]
        x = B.index_select(x, _order(B, n, n - 1, -1), axis % x.ndim)
    return B.copy(x)


def rot90(B, x, k, axis1, axis2):
    """A quarter turn from ``axis1`` to ``axis2``, ``k`` times (0 to 3)."""
    if k == 0:
        return _copy_by_rows(B, x)
    if k == 2:
        return B.flip(x, (axis1, axis2))
    return B.swapaxes(B.flip(x, (axis2 if k == 1 else axis1,)), axis1, axis2)


def roll(B, x, shifts, axes):
    if axes is None:
        return B.reshape(B.roll(B.reshape(x, (-1,)), (sum(shifts),), (0,)), x.shape)
    for shift, axis in zip(shifts, axes, strict=True):
        n = x.shape[axis]
        if n:
            ends = slice(n - shift % n, None), slice(0, n - shift % n)
            x = B.concat([B.getitem(x, _along(axis % x.ndim, end)) for end in ends], axis)
    return B.copy(x)


def tile(B, x, repeats):
    x = B.reshape(x, (1,) * (len(repeats) - x.ndim) + tuple(x.shape))
    repeats = (1,) * (x.ndim - len(repeats)) + tuple(repeats)
    spread = B.reshape(x, tuple(n for size in x.shape for n in (1, size)))
    pairs = list(zip(repeats, x.shape, strict=True))
    whole = B.expand(spread, tuple(n for pair in pairs for n in pair))
    return B.reshape(whole, tuple(times * size for times, size in pairs))


def pixel_shuffle(B, x, factor):
    """``(*, C * factor**2, H, W)`` as ``(*, C, H * factor, W * factor)``."""
    *lead, channels, height, width = x.shape
    n, channels = len(lead), channels // factor**2
    x = B.reshape(x, (*lead, channels, factor, factor, height, width))
    x = B.permute(x, (*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return B.reshape(_copy_by_rows(B, x), (*lead, channels, height * factor, width * factor))


def pixel_unshuffle(B, x, factor):
    """The inverse of `pixel_shuffle`; what holds nothing keeps its shape, as in torch."""
    if not x.size:
        return B.copy(x)
    *lead, channels, height, width = x.shape
    n, height, width = len(lead), height // factor, width // factor
    x = B.reshape(x, (*lead, channels, height, factor, width, factor))
    x = B.permute(x, (*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return B.reshape(_copy_by_rows(B, x), (*lead, channels * factor**2, height, width))


def channel_shuffle(B, x, groups):
    """The first channel of each group, then the second of each, ..."""
    batch, channels, *spatial = x.shape
    grouped = B.reshape(x, (batch, groups, channels // groups, *spatial))
    return B.reshape(_copy_by_rows(B, B.swapaxes(grouped, 1, 2)), tuple(x.shape))


def repeat_index(B, repeats, count):
    """0, 1, ..., count - 1, the i-th repeated ``repeats[i]`` times."""
    ends = B.cumsum(B.expand(repeats, (count,)), 0)  # one number may stand for all
    total = B.item(B.getitem(ends, (-1, ...))) if count else 0
    return B.searchsorted(ends, _order(B, total), True)


def _triangle(B, shape, offset):
    """True on and below the diagonal that lies ``offset`` columns to the right."""
    rows, columns = shape
    return B.ge(B.unsqueeze(_order(B, rows, offset), 1), _order(B, columns))


def tril(B, x, offset):
    return B.where(_triangle(B, x.shape[-2:], offset), x, B.zeros_like(x))


def triu(B, x, offset):
    return B.where(_triangle(B, x.shape[-2:], offset - 1), B.zeros_like(x), x)


def tril_(B, x, offset):
    return B.copy_(x, B.tril(x, offset))


def triu_(B, x, offset):
    return B.copy_(x, B.triu(x, offset))


def tril_indices(B, rows, columns, offset, dtype):
    return B.cast(B.mT(B.nonzero(_triangle(B, (rows, columns), offset))), dtype)


def triu_indices(B, rows, columns, offset, dtype):
    below = _triangle(B, (rows, columns), offset - 1)
    return B.cast(B.mT(B.nonzero(B.eq(below, B.full((), False, bool_.array)))), dtype)


def diagonal_adjoint(B, y, shape, offset, axis1, axis2):
    """Zeros of ``shape`` with ``y`` on the diagonal."""
    out = B.zeros(shape, y.dtype)
    B.copy_(B.diagonal(out, offset, axis1, axis2), y)
    return out


def diagonal_scatter(B, x, y, offset, axis1, axis2):
    """A copy of ``x`` with ``y`` on the diagonal."""
    out = B.copy_storage(x)
    B.copy_(B.diagonal(out, offset, axis1, axis2), y)
    return out


def slice_scatter(B, x, y, index):
    """A copy of ``x`` with ``y`` at an index of integers and slices."""
    out = B.copy_storage(x)
    B.copy_(B.getitem(out, index), y)
    return out


def as_strided_scatter(B, x, y, shape, strides, offset):
    """A copy of ``x`` with ``y`` where that geometry lies in it; None is the offset of ``x``."""
    out = B.copy_storage(x)
    start = B.storage_offset(out) if offset is None else offset
    B.copy_(B.as_strided(out, shape, strides, start, ()), y)
    return out


def _positions(B, shape, strides, offset):
    out = B.full(shape, offset, int64.array)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        steps = B.mul(_order(B, n), stride)
        out = B.add(out, B.reshape(steps, (n,) + (1,) * (len(shape) - axis - 1)))
    return out


def as_strided_adjoint(B, y, source, target):
    """Add ``y``, laid out as geometry ``target``, into zeros and read geometry ``source`` of it.

    A geometry is (shape, strides, offset) in elements. Exchanging the two gives the transpose.
    """
    room = max(extent(*source), extent(*target))
    flat = B.index_adjoint(y, (_positions(B, *target),), (room,))
    return B.index(flat, (_positions(B, *source),))


def unfold_adjoint(B, y, shape, axis, size, step):
    """Sum overlapping windows back into an array of ``shape``."""
    out = B.zeros(shape, y.dtype)
    reach = (y.shape[axis] - 1) * step + 1
    for k in range(size):
        place = B.getitem(out, _along(axis, slice(k, k + reach, step)))
        B.add_(place, B.getitem(y, (..., k)))
    return out


def pad(B, x, widths, value):
    """Surround with ``value``; a negative width crops."""
    shape, inner, kept = padded_geometry(x.shape, widths)
    out = B.full(shape, value, x.dtype)
    B.copy_(B.getitem(out, inner), B.getitem(x, kept))
    return out


# Views: geometries over the storage, with strides and offsets in elements


def _seen(B, x, shape, steps, start=0):
    """The view of ``x`` that begins ``start`` elements after it does."""
    offset = B.storage_offset(x)
    source = tuple(x.shape), steps_of(x), offset
    return B.as_strided(x, tuple(shape), tuple(steps), offset + start, source)


def view(B, x, shape):
    out = B.reshape(x, shape)
    if x.size and not looks_into(out, x):
        raise RuntimeError(
            f"view(): a tensor of size {list(x.shape)} and stride {list(steps_of(x))} cannot be "
            f"seen as {list(shape)} without copying; use reshape()"
        )
    return out


def permute(B, x, axes):
    steps = steps_of(x)
    return _seen(B, x, (x.shape[axis] for axis in axes), (steps[axis] for axis in axes))


def expand(B, x, shape):
    new = len(shape) - x.ndim
    pairs = list(zip(x.shape, shape[max(new, 0) :], strict=False))
    if new < 0 or any(here not in (1, n) for here, n in pairs):
        raise ValueError(f"an array of shape {x.shape} cannot be expanded to {shape}")
    steps = (0 if here != n else step for (here, n), step in zip(pairs, steps_of(x), strict=True))
    return _seen(B, x, shape, ((0,) * new + tuple(steps)))


def diagonal(B, x, offset, axis1, axis2):
    steps, pair = steps_of(x), (axis1 % x.ndim, axis2 % x.ndim)
    row, column = max(-offset, 0), max(offset, 0)
    left = x.shape[pair[0]] - row, x.shape[pair[1]] - column
    kept = [axis for axis in range(x.ndim) if axis not in pair]
    count = max(min(left), 0)
    start = row * steps[pair[0]] + column * steps[pair[1]] if count else 0
    along = sum(steps[axis] for axis in pair)
    shape = [x.shape[axis] for axis in kept]
    return _seen(B, x, (*shape, count), (*(steps[axis] for axis in kept), along), start)


def unfold(B, x, axis, size, step):
    """Windows of ``size`` along ``axis``, ``step`` apart, as a view with one more axis."""
    if not x.ndim:
        return B.getitem(B.reshape(x, (1,)), (slice(size),))
    steps, count = steps_of(x), (x.shape[axis] - size) // step + 1
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)
    return _seen(B, x, shape, (*steps[:axis], steps[axis] * step, *steps[axis + 1 :], steps[axis]))


def real(B, x):
    return B.getitem(B.view_as_real(x), (..., 0)) if OF_ARRAY[x.dtype].is_complex else x


def imag(B, x):
    return B.getitem(B.view_as_real(x), (..., 1))
