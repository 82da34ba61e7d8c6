"""Reading, writing and adding at positions.

An index array along one axis is that of positions with a counted axis at all the others. The
in-place forms write into their first argument; the others are these on a copy.
"""

from __future__ import annotations

import math
from functools import wraps

from nnkit.backend.dtype import int64
from nnkit.backend.index import ALL


def on_copy(body):
    """The out-of-place twin of an in-place body."""

    @wraps(body)
    def fresh(B, x, *arguments):
        return body(B, B.copy(x), *arguments)

    fresh.__name__ = fresh.__qualname__ = body.__name__.rstrip("_")
    return fresh


def getitem_adjoint(B, y, index, shape):
    """Zeros of ``shape`` with ``y`` at ``index``."""
    out = B.zeros(shape, y.dtype)
    B.copy_(B.getitem(out, index), y)
    return out


def index_put(B, x, value, positions, accumulate):
    return B.index_put_(B.copy(x), value, positions, accumulate)


def index_adjoint(B, y, positions, shape):
    """Zeros of ``shape`` with ``y`` added at ``positions``."""
    return B.index_put_(B.zeros(shape, y.dtype), y, positions, True)


# An index array along one axis


def wrap_index(B, index, size):
    """An index with its negative elements counted from the end; what is outside is refused."""
    B.index(B.full((size,), 0, int64.array), (index,))
    return B.where(B.lt(index, 0), B.add(index, size), index)


def _grid(B, index, axis):
    """The positions that read ``[..., index[i, j, ...], ...]`` along ``axis``."""
    if not index.ndim:
        return (B.unsqueeze(index, 0),)
    counted = [
        B.reshape(B.arange(0, n, 1, int64.array), (n,) + (1,) * (index.ndim - d - 1))
        for d, n in enumerate(index.shape)
    ]
    counted[axis] = index
    return tuple(counted)


def _with_axis(B, x):
    return x if x.ndim else B.reshape(x, (1,))


def gather(B, x, index, axis):
    found = B.index(_with_axis(B, x), _grid(B, index, axis))
    return B.reshape(found, index.shape)


def gather_adjoint(B, y, index, axis, shape):
    """Zeros of ``shape`` with ``y`` added where `gather` read."""
    return B.scatter_add_(B.zeros(shape, y.dtype), index, y, axis)


def _fit(B, source, index, x):
    """The part of ``source`` that ``index`` covers; a number stands for all of it."""
    if not hasattr(source, "ndim"):
        source = B.full((), source, x.dtype)
    if source.ndim:
        source = B.getitem(source, tuple(slice(n) for n in index.shape))
    return B.expand(source, index.shape)


def scatter_(B, x, index, source, axis):
    values = _fit(B, source, index, x)
    B.index_put_(_with_axis(B, x), values, _grid(B, index, axis), False)
    return x


def scatter_fill(B, x, index, axis, value):
    return B.scatter(x, index, value, axis)


def scatter_add_(B, x, index, source, axis):
    values = _fit(B, source, index, x)
    B.index_put_(_with_axis(B, x), values, _grid(B, index, axis), True)
    return x


def index_select(B, x, index, axis):
    if not x.ndim:
        return B.reshape(B.index(B.reshape(x, (1,)), (B.reshape(index, (1,)),)), ())
    return B.index(x, (ALL,) * axis + (B.reshape(index, (-1,)),))


def index_select_adjoint(B, y, index, axis, shape):
    """Zeros of ``shape`` with ``y`` added where `index_select` read."""
    return B.index_add_(B.zeros(shape, y.dtype), index, y, axis, 1)


def take(B, x, index):
    """The elements at positions in the memory of rows of ``x``."""
    flat = B.index_select(B.reshape(x, (-1,)), B.reshape(B.wrap_index(index, x.size), (-1,)), 0)
    return B.reshape(flat, index.shape)


def take_adjoint(B, y, index, shape):
    """Zeros of ``shape`` with ``y`` added where `take` read."""
    size = math.prod(shape)
    flat = B.reshape(B.wrap_index(index, size), (-1,))
    return B.reshape(B.index_select_adjoint(B.reshape(y, (-1,)), flat, 0, (size,)), shape)


def _slices(B, x, index, source, axis, accumulate):
    """Write or add ``source[..., i, ...]`` at ``index[i]`` along ``axis``."""
    if not x.ndim:
        x, source = B.reshape(x, (1,)), B.reshape(source, (1,))
    B.index_put_(x, source, (ALL,) * axis + (B.reshape(index, (-1,)),), accumulate)


def index_add_(B, x, index, source, axis, alpha):
    source = source if alpha == 1 else B.mul(source, alpha)
    _slices(B, x, index, source, axis, True)
    return x


def index_copy_(B, x, index, source, axis):
    _slices(B, x, index, source, axis, False)
    return x


def index_fill_(B, x, index, axis, value):
    B.index_put_(_with_axis(B, x), value, (ALL,) * axis + (B.reshape(index, (-1,)),), False)
    return x


# Masks


def masked_fill(B, x, mask, value):
    return B.where(mask, B.full((), value, x.dtype), x)


def masked_fill_(B, x, mask, value):
    return B.copy_(x, B.masked_fill(x, mask, value))


def masked_select(B, x, mask):
    shape = B.where(mask, x, x).shape or (1,)
    return B.index(B.expand(x, shape), (B.expand(mask, shape),))


def masked_select_adjoint(B, y, mask, shape):
    """Zeros of ``shape`` with the elements of ``y``, in order, where the mask is true."""
    return B.masked_scatter_(B.zeros(shape, y.dtype), mask, y)


def masked_scatter_(B, x, mask, source):
    mask = B.expand(mask, x.shape)
    count = B.nonzero(mask).shape[0]
    source = B.reshape(source, (-1,))
    if source.size < count:
        raise RuntimeError(
            f"masked_scatter(): the mask has {count} true elements, but source only {source.size}"
        )
    return B.index_put_(x, B.getitem(source, (slice(count),)), (mask,), False)


def masked_scatter(B, x, mask, source):
    return B.masked_scatter_(B.copy(B.expand(x, B.where(mask, x, x).shape)), mask, source)


scatter = on_copy(scatter_)
scatter_add = on_copy(scatter_add_)
index_add = on_copy(index_add_)
index_copy = on_copy(index_copy_)
index_fill = on_copy(index_fill_)


def scatter_reduce(B, x, index, source, axis, reduce, include_self):
    return B.scatter_reduce_(B.copy(x), index, source, axis, reduce, include_self)
