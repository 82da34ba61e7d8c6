"""Indexing kernels: reading, writing and accumulating at positions.

Kernels whose name ends in ``_`` write into their first argument; each has a twin without it that
works on a copy. Accumulation is deterministic: repeated positions are added in their order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.cpu.accumulation import (
    add_at,
    add_in_order,
    add_slices,
    check_bounds,
    positions,
    wrap_index,
)
from nnkit.backend.cpu.creation import copy
from nnkit.backend.cpu.memory import in_order
from nnkit.backend.cpu.shape import basic_view
from nnkit.backend.dtype import HALF
from nnkit.backend.index import (
    ALL,
    order_of_indexed,
    shape_mismatch,
    shape_of_indexed,
    with_masks,
)

Array = np.ndarray


def on_copy(kernel: Callable, copied: Callable = np.ndarray.copy) -> Callable:
    """The out-of-place twin of an in-place kernel, which works on a copy: of rows, or another."""

    @functools.wraps(kernel)
    def fresh(x: Array, *arguments: Any) -> Array:
        return kernel(copied(x), *arguments)

    fresh.__name__ = fresh.__qualname__ = kernel.__name__.rstrip("_")
    return fresh


def flat(kernel: Callable) -> Callable:
    """Let an in-place kernel rely on a C-contiguous first argument."""

    @functools.wraps(kernel)
    def run(x: Array, *arguments: Any) -> Array:
        if x.flags.c_contiguous:
            return kernel(x, *arguments)
        x[...] = kernel(x.copy(), *arguments)
        return x

    return run


# Index expressions


def _index_error(error: IndexError) -> IndexError:
    """NumPy's error in torch's words: dimension for axis, tensors for arrays, lists for shapes."""
    text = str(error).replace("axis", "dimension").replace("indexing arrays", "indexing tensors")
    text = text.replace(" (", " [").replace(",)", "]").replace(")", "]").replace("] [", "], [")
    return IndexError(text)


def _is_bool(item: Any) -> bool:
    return isinstance(item, np.ndarray) and item.dtype.kind == "b"


def _taken(x: Array, index: Array, axis: int) -> Array:
    """`numpy.take`, which would first copy an array whose memory has gaps, or is an expanded one's:
    that copy may be larger than memory."""
    if x.flags.c_contiguous:
        return x.take(index, axis)
    return np.ascontiguousarray(x[(slice(None),) * axis + (index,)])


def getitem(x: Array, index: Any) -> Array:
    return basic_view(x, index if index.__class__ is tuple else (index,))


def index(x: Array, positions: tuple) -> Array:
    positions = with_masks(positions)
    axes = [axis for axis, item in enumerate(positions) if item is not ALL]
    first = positions[axes[0]]
    is_plain = len(axes) == 1 and first.__class__ is np.ndarray and first.dtype.kind == "i"
    try:
        if is_plain and x.flags.c_contiguous:
            result = x.take(first, axes[0])
        else:
            result = x[positions]
        if not result.size:
            shape_of_indexed(x, positions)  # looks also at what NumPy does not
    except IndexError as error:
        result = np.empty(_shape_without_elements(x, positions, error), x.dtype)
    return in_order(result, order_of_indexed(result.shape, x, positions))


def _shape_without_elements(x: Array, positions: tuple, error: IndexError) -> tuple[int, ...]:
    """The shape of ``x[positions]`` if that has no elements: as in torch nobody looks then at what
    the positions are, as NumPy did. Else its error is raised in torch's words."""
    shape = shape_of_indexed(x, positions)
    if 0 not in shape:
        raise _index_error(error) from None
    return shape


def index_put_(x: Array, value: Any, positions: tuple, accumulate: bool) -> Array:
    positions = with_masks(positions)
    try:
        if accumulate:
            _add_at_index(x, positions, value)
        else:
            x[positions] = value
        if np.size(value):
            return x
        shape = shape_of_indexed(x, positions)  # of no elements NumPy takes any shape
    except IndexError as error:
        shape = _shape_without_elements(x, positions, error)
    except (ValueError, TypeError):  # of a mask NumPy says that the value has too many dimensions
        raise shape_mismatch(np.shape(value), shape_of_indexed(x, positions)) from None
    try:
        np.broadcast_to(value, shape)
    except ValueError:
        raise shape_mismatch(np.shape(value), shape) from None
    return x


index_put = on_copy(index_put_, copy)


def index_adjoint(y: Array, positions: tuple, shape: tuple[int, ...]) -> Array:
    """Zeros of ``shape`` with ``y`` added at ``positions``."""
    out = np.zeros(shape, y.dtype)
    if not y.size:
        return out
    positions = with_masks(positions)
    if len(positions) == 1 and _is_bool(positions[0]):
        out[positions] = y
    else:
        _add_at_index(out, positions, y)
    return out


def _add_at_index(x: Array, positions: tuple, g: Any) -> None:
    """``x[positions] += g`` with repeated positions."""
    arrays = [axis for axis, item in enumerate(positions) if item is not ALL]
    first = positions[arrays[0]]
    one = len(arrays) == 1 and isinstance(first, np.ndarray) and first.dtype.kind == "i"
    if one and x.dtype not in HALF:
        axis, size = arrays[0], x.shape[arrays[0]]
        rest = x.shape[axis + 1 :]
        g = np.broadcast_to(g, (*x.shape[:axis], *first.shape, *rest))
        index = wrap_index(first.reshape(-1), size)
        add_slices(x, index, g.reshape(*x.shape[:axis], index.size, *rest), axis)
        return
    places = _places(x.shape, positions)
    values = np.broadcast_to(g, places.shape)
    target = x if x.flags.c_contiguous else np.ascontiguousarray(x)
    add_in_order(target.reshape(-1), places.reshape(-1), values.reshape(-1))
    if target is not x:
        x[...] = target


def _places(shape: tuple[int, ...], positions: tuple) -> Array:
    """Where in the memory of rows of an array of ``shape`` the elements at positions lie.

    The coordinates of all elements, axis by axis, are indexed just as the array is: one recipe for
    any mixture of arrays, masks and slices. They are broadcast, so that they take no memory.
    """
    places, step = np.broadcast_to(np.int64(0), shape)[positions], 1
    for axis in reversed(range(len(shape))):
        row = (np.arange(shape[axis]) * step).reshape(-1, *(1,) * (len(shape) - axis - 1))
        places = places + np.broadcast_to(row, shape)[positions]
        step *= shape[axis]
    return places


# An index array along one axis


def gather(x: Array, index: Array, axis: int) -> Array:
    if x.flags.c_contiguous:
        return np.asarray(x.reshape(-1).take(positions(x.shape, index, axis)))
    kept = tuple(ALL if d == axis else slice(n) for d, n in enumerate(index.shape))
    return gather(np.ascontiguousarray(x[kept]), index, axis)


def _fit(source: Any, index: Array) -> Array:
    """The part of ``source`` that ``index`` covers; a number or 0-dim array is repeated."""
    source = np.asarray(source)
    if source.ndim == 0 or source.shape == index.shape:
        return np.broadcast_to(source, index.shape)
    return source[tuple(slice(n) for n in index.shape)]


@flat
def scatter_(x: Array, index: Array, source: Any, axis: int) -> Array:
    x.reshape(-1)[positions(x.shape, index, axis)] = _fit(source, index)
    return x


@flat
def scatter_add_(x: Array, index: Array, source: Any, axis: int) -> Array:
    values = _fit(source, index).reshape(-1)
    add_at(x.reshape(-1), positions(x.shape, index, axis).reshape(-1), values)
    return x


REDUCTIONS = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum,
}  # fmt: skip


def _identity(reduce: str, dtype: np.dtype) -> Any:
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "b":
        return reduce == "amin"
    if dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    limits = np.iinfo(dtype)
    return limits.min if reduce == "amax" else limits.max


@flat
def scatter_reduce_(
    x: Array, index: Array, source: Any, axis: int, reduce: str, include_self: bool
) -> Array:
    places = positions(x.shape, index, axis).reshape(-1)
    out = x.reshape(-1)
    if x.dtype in HALF:
        wide, source = x.astype(np.float32), np.asarray(source).astype(np.float32)
        reduction = "sum" if reduce == "mean" else reduce
        x[...] = scatter_reduce_(wide, index, source, axis, reduction, include_self)
    else:
        values = _fit(source, index).reshape(-1)
        if not include_self:
            out[places] = _identity(reduce, x.dtype)
        if reduce == "sum":
            add_at(out, places, values)
        else:
            REDUCTIONS[reduce].at(out, places, values)
    if reduce == "mean":
        count = np.bincount(places, minlength=out.size) + int(include_self)
        count = np.maximum(count, 1).astype(x.dtype)
        (np.floor_divide if x.dtype.kind in "iu" else np.divide)(out, count, out=out)
    return x


scatter = on_copy(scatter_)
scatter_add = on_copy(scatter_add_)
scatter_reduce = on_copy(scatter_reduce_)


def index_select(x: Array, index: Array, axis: int) -> Array:
    # torch reads along the second dimension by a kernel of its own, which raises another error.
    error = RuntimeError if axis == 1 else IndexError
    check_bounds(index, x.shape[axis] if x.ndim else 1, axis, error)
    return _taken(x, index, axis) if x.ndim else x.reshape(1).take(index).reshape(())


def take(x: Array, index: Array) -> Array:
    """The elements at positions in the memory of rows of ``x``."""
    return np.asarray(x.reshape(-1).take(wrap_index(index, x.size)))


def index_add_(x: Array, index: Array, source: Array, axis: int, alpha: Any) -> Array:
    if not x.ndim:
        index_add_(x.reshape(1), index, source.reshape(1), 0, alpha)
        return x
    if alpha != 1:
        source = source * np.asarray(alpha).astype(source.dtype)
    if x.size or x.ndim == 1:
        # Along the first and the last of several dimensions torch's is scatter_add.
        scattered = x.ndim > 1 and axis in (0, x.ndim - 1)
        check_bounds(index, x.shape[axis], axis, RuntimeError if scattered else IndexError)
        if x.dtype in HALF and not scattered:
            add_in_order(x, (ALL,) * axis + (index,), source)
        else:
            add_slices(x, index, source, axis)
    return x


def index_copy_(x: Array, index: Array, source: Array, axis: int) -> Array:
    check_bounds(index, x.shape[axis] if x.ndim else 1, axis, IndexError)
    x[(ALL,) * axis + (index,) if x.ndim else ...] = source if x.ndim else source.reshape(())
    return x


def index_fill_(x: Array, index: Array, axis: int, value: Any) -> Array:
    if not x.ndim:
        index_fill_(x.reshape(1), index, 0, value)
        return x
    try:
        x[(ALL,) * axis + (index,)] = value
    except IndexError as error:
        raise _index_error(error) from None
    return x


index_add = on_copy(index_add_)
index_copy = on_copy(index_copy_)
index_fill = on_copy(index_fill_, copy)


# Masks


def masked_fill_(x: Array, mask: Array, value: Any) -> Array:
    np.copyto(x, value, casting="unsafe", where=mask)
    return x


def masked_fill(x: Array, mask: Array, value: Any) -> Array:
    if x.shape == mask.shape:
        return masked_fill_(x.copy(), mask, value)
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return masked_fill_(np.broadcast_to(x, shape).copy(), mask, value)


def masked_select(x: Array, mask: Array) -> Array:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return np.broadcast_to(x, shape)[np.broadcast_to(mask, shape)]


def masked_select_adjoint(y: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """Zeros of ``shape`` with the elements of ``y``, in order, where the mask is true."""
    out = np.zeros(shape, y.dtype)
    out[np.broadcast_to(mask, shape)] = y
    return out


def masked_scatter_(x: Array, mask: Array, source: Array) -> Array:
    mask = np.broadcast_to(mask, x.shape)
    count = np.count_nonzero(mask)
    if source.size < count:
        raise RuntimeError(
            f"masked_scatter(): the mask has {count} true elements, but source only {source.size}"
        )
    x[mask] = source.reshape(-1)[:count]
    return x


def masked_scatter(x: Array, mask: Array, source: Array) -> Array:
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return masked_scatter_(np.broadcast_to(x, shape).copy(), mask, source)


def nonzero(x: Array) -> Array:
    """The indices of the elements that are not zero, one row each; a column lies together."""
    if not (x.ndim and np.any(x)):  # NumPy would give the columns of nothing other strides
        count = int(np.any(x))
        return np.ndarray((count, x.ndim), np.int64, np.empty(0, np.int64), 0, (8, 8 * count))
    return np.stack(np.nonzero(x)).T
