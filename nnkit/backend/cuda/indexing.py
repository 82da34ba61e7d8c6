"""Reading, writing and accumulating at positions on the GPU.

Index arrays are checked by a kernel of their own, since CuPy wraps wrong ones around silently; the
error comes with the next call that waits for the GPU. Accumulation is deterministic.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.cpu.shape import with_new_axes
from nnkit.backend.cuda import failures
from nnkit.backend.cuda.accumulation import add_at, add_slices, flat_positions
from nnkit.backend.cuda.checks import checked_index
from nnkit.backend.cuda.creation import array, cast, copy, copy_, cupy, fill_, zeros
from nnkit.backend.cuda.differences import (
    array_module,
    as_bits,
    contiguous,
    is_array,
    on_bits,
    same_dtype,
    widened,
)
from nnkit.backend.cuda.shape import unsqueeze
from nnkit.backend.index import ALL, shape_mismatch, with_masks


def on_copy(kernel: Callable) -> Callable:
    """The out-of-place twin of an in-place kernel."""

    @functools.wraps(kernel)
    def fresh(x: Any, *arguments: Any) -> Any:
        return kernel(copy(x), *arguments)

    fresh.__name__ = fresh.__qualname__ = kernel.__name__.rstrip("_")
    return fresh


def _checked(positions: tuple, shape: tuple) -> tuple:
    """Positions on the GPU, every integer array checked against the dimension it reads."""
    items, dim = [], 0
    for item in with_masks(positions):
        if isinstance(item, list) or item is ALL:
            items.append(item)
            dim += 1
            continue
        if not isinstance(item, cupy().ndarray):
            item = array(item, None)  # a CUDA tensor may be indexed by the CPU's
        if item.dtype.kind == "b":
            items.append(item)
            dim += item.ndim
        else:
            items.append(checked_index(item, shape[dim], failures.INDEX, wraps=True))
            dim += 1
    return tuple(items)


@on_bits
def getitem(x: Any, index: tuple) -> Any:
    if None in index:
        index, x = with_new_axes(index, x, unsqueeze)
    return x[index]


@on_bits
def index(x: Any, positions: tuple) -> Any:
    return contiguous(x[_checked(positions, x.shape)])


def index_put_(x: Any, value: Any, positions: tuple, accumulate: bool) -> Any:
    if accumulate:
        _add_at_index(x, positions, value)
        return x
    if is_array(value):
        value = same_dtype(value, x.dtype)
    try:
        _assign(x, _checked(positions, x.shape), value)
    except ValueError:
        raise shape_mismatch(np.shape(value), index(x, positions).shape) from None
    return x


def _assign(x: Any, places: Any, value: Any) -> None:
    """``x[places] = value``, an array of the same dtype or a number."""
    if not is_array(value):
        value = fill_(x.__class__((), x.dtype), value)
    as_bits(x)[places] = as_bits(value)


index_put = on_copy(index_put_)


def index_adjoint(y: Any, positions: tuple, shape: tuple) -> Any:
    """Zeros of ``shape`` with ``y`` added at ``positions``."""
    out = zeros(shape, y.dtype)
    _add_at_index(out, positions, y)
    return out


def _add_at_index(x: Any, positions: tuple, g: Any) -> None:
    """``x[positions] += g`` with repeated positions."""
    xp = array_module(x)
    places = xp.arange(x.size).reshape(x.shape)[_checked(positions, x.shape)]
    if not is_array(g):
        g = fill_(x.__class__((), x.dtype), g)
    values = contiguous(xp.broadcast_to(g, places.shape)).reshape(-1)
    target = contiguous(x)
    add_at(target.reshape(-1), places.reshape(-1), values)
    if target is not x:
        copy_(x, target)


# An index array along one axis


def _positions(shape: tuple, index: Any, axis: int) -> Any:
    index = checked_index(index, shape[axis] if shape else 1, failures.POSITION)
    return flat_positions(shape, index, axis).reshape(-1) if shape else index.reshape(-1)


@on_bits
def gather(x: Any, index: Any, axis: int) -> Any:
    places = _positions(x.shape, index, axis)
    return contiguous(x).reshape(-1)[places].reshape(index.shape)


def _fit(source: Any, index: Any, x: Any) -> Any:
    """The part of ``source`` that ``index`` covers, flat; a number or 0-dim array is repeated."""
    if not is_array(source):
        source = fill_(x.__class__((), x.dtype), source)
    source = same_dtype(source, x.dtype)
    if source.ndim == 0 or source.shape == index.shape:
        source = array_module(x).broadcast_to(source, index.shape)
    else:
        source = source[tuple(slice(n) for n in index.shape)]
    return contiguous(source).reshape(-1)


def _written_flat(x: Any, write: Any) -> Any:
    """Let ``write`` change the elements of ``x`` as a flat array."""
    dense = contiguous(x)
    write(dense.reshape(-1))
    return x if dense is x else copy_(x, dense)


def scatter_(x: Any, index: Any, source: Any, axis: int) -> Any:
    places, values = _positions(x.shape, index, axis), _fit(source, index, x)
    return _written_flat(x, lambda flat: _assign(flat, places, values))


scatter = on_copy(scatter_)


def scatter_add_(x: Any, index: Any, source: Any, axis: int) -> Any:
    places, values = _positions(x.shape, index, axis), _fit(source, index, x)
    return _written_flat(x, lambda flat: add_at(flat, places, values))


scatter_add = on_copy(scatter_add_)


@widened
def scatter_reduce(
    x: Any, index: Any, source: Any, axis: int, reduce: str, include_self: bool
) -> Any:
    from nnkit.backend.cpu.indexing import _identity

    xp = array_module(x)
    out = copy(x)
    places, values = _positions(x.shape, index, axis), _fit(source, index, x)
    flat = contiguous(out).reshape(-1)
    if not include_self:
        flat[places] = _identity(reduce, x.dtype)
    if reduce in ("sum", "mean"):
        add_at(flat, places, values)
    else:
        _reduce_segments(xp, flat, places, values, reduce)
    if reduce == "mean":
        count = xp.bincount(places, minlength=flat.size) + int(include_self)
        count = xp.maximum(count, 1).astype(x.dtype)
        flat = flat // count if x.dtype.kind in "iu" else flat / count
    return flat.reshape(x.shape)


def _reduce_segments(xp: Any, flat: Any, places: Any, values: Any, reduce: str) -> None:
    """Combine values with what stands at their places, one round for each repetition."""
    combine = {"prod": xp.multiply, "amax": xp.maximum, "amin": xp.minimum}[reduce]
    order = xp.argsort(places, kind="stable")
    ordered = places[order]
    here = xp.arange(ordered.size)
    new = xp.concatenate((xp.ones(1, bool), ordered[1:] != ordered[:-1]))[: ordered.size]
    starts = xp.flatnonzero(new)
    rank = here - starts[xp.cumsum(new) - 1]
    for turn in range(int(rank.max()) + 1 if rank.size else 0):
        chosen = order[rank == turn]
        flat[places[chosen]] = combine(flat[places[chosen]], values[chosen])


def scatter_reduce_(
    x: Any, index: Any, source: Any, axis: int, reduce: str, include_self: bool
) -> Any:
    return copy_(x, scatter_reduce(x, index, source, axis, reduce, include_self))


@on_bits
def index_select(x: Any, index: Any, axis: int) -> Any:
    checked = checked_index(index, x.shape[axis] if x.ndim else 1, failures.INDEX)
    if not x.ndim:
        return x.reshape(1).take(checked).reshape(())
    return x.take(checked, axis)


def index_add_(x: Any, index: Any, source: Any, axis: int, alpha: Any) -> Any:
    from nnkit.backend.cuda import BACKEND as B

    if not x.ndim:
        index_add_(x.reshape(1), index.reshape(-1), source.reshape(-1), 0, alpha)
        return x
    if alpha != 1:
        source = B.mul(source, alpha)
    index = index.reshape(-1)
    shape = (*x.shape[:axis], index.size, *x.shape[axis + 1 :])
    source = array_module(x).broadcast_to(same_dtype(source, x.dtype), shape)
    dense = contiguous(x)
    add_slices(dense, index, source, axis)
    return x if dense is x else copy_(x, dense)


index_add = on_copy(index_add_)


def index_copy_(x: Any, index: Any, source: Any, axis: int) -> Any:
    if not x.ndim:
        return copy_(x, source.reshape(()))
    checked = checked_index(index, x.shape[axis], failures.INDEX)
    _assign(x, (ALL,) * axis + (checked,), same_dtype(source, x.dtype))
    return x


index_copy = on_copy(index_copy_)


def index_fill_(x: Any, index: Any, axis: int, value: Any) -> Any:
    if not x.ndim:
        return fill_(x, value)
    checked = checked_index(index, x.shape[axis], failures.INDEX, wraps=True)
    _assign(x, (ALL,) * axis + (checked,), value)
    return x


index_fill = on_copy(index_fill_)


def wrap_index(index: Any, size: int) -> Any:
    return checked_index(index, size, failures.POSITION, wraps=True)


# Masks


@on_bits
def masked_select(x: Any, mask: Any) -> Any:
    xp = array_module(x)
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return xp.broadcast_to(x, shape)[xp.broadcast_to(mask, shape)]


def masked_scatter_(x: Any, mask: Any, source: Any) -> Any:
    xp = array_module(x)
    places = xp.flatnonzero(xp.broadcast_to(mask, x.shape))
    if source.size < places.size:
        raise RuntimeError(
            f"masked_scatter(): the mask has {places.size} true elements, but source only "
            f"{source.size}"
        )
    values = same_dtype(contiguous(source).reshape(-1)[: places.size], x.dtype)
    return _written_flat(x, lambda flat: _assign(flat, places, values))


def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return masked_scatter_(copy(array_module(x).broadcast_to(x, shape)), mask, source)


def nonzero(x: Any) -> Any:
    """The indices of the elements that are not zero, one row each."""
    xp = array_module(x)
    x = cast(x, np.dtype(np.bool_))
    if not x.ndim:
        return xp.zeros((int(x), 0), np.int64)
    return xp.stack(xp.nonzero(x), 1) if math.prod(x.shape) else xp.zeros((0, x.ndim), np.int64)
