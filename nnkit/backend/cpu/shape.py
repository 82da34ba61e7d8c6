"""Shape kernels: views wherever the memory layout allows one, copies otherwise.

`reshape`, `permute`, `expand`, `getitem` and their like share memory with their input; which
ones do is decided by strides, and `view` is the form that refuses to copy. The strides are torch's
also along dimensions of size 1 and of arrays without elements, of which NumPy takes no care: views
of other types, and what a write may overlap with, depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nnkit.backend.cpu.accumulation import add_in_order
from nnkit.backend.cpu.creation import copy, copy_, empty_like
from nnkit.backend.cpu.memory import byte_offset
from nnkit.backend.index import ALL
from nnkit.backend.memory import common_format, extent, owner, strides_of, strides_seen_as

Array = np.ndarray


def reshape(x: Array, shape: tuple[int, ...]) -> Array:
    if not x.size:
        return x[...] if x.shape == shape else x.reshape(shape)
    if x.flags.c_contiguous and (not x.ndim or x.strides[-1] == x.itemsize):
        if x.shape == shape and 1 in shape:
            x = x.squeeze()  # NumPy would keep the strides of dimensions of size 1
        return x.reshape(shape)
    strides = strides_seen_as(x.shape, x.strides, shape)
    return x.reshape(shape) if strides is None else _with_strides(x, shape, strides)


def _with_strides(x: Array, shape: tuple[int, ...], strides: Sequence[int]) -> Array:
    """A view that begins where ``x`` does, with strides in bytes."""
    if x.flags.c_contiguous and x.dtype.kind != "V":  # bfloat16 has no buffer protocol
        return np.ndarray(shape, x.dtype, x, 0, strides)
    return _in_storage(x, shape, byte_offset(x), strides)


def view(x: Array, shape: tuple[int, ...]) -> Array:
    """Reshape without copying; RuntimeError where the strides do not allow it."""
    out = reshape(x, shape)
    if x.flags.c_contiguous or not x.size or np.may_share_memory(x, out):
        return out
    strides = [s // x.itemsize for s in x.strides]
    raise RuntimeError(
        f"view(): view size {list(shape)} is not compatible with input tensor's size "
        f"{list(x.shape)} and stride {strides}. Use .reshape(...) instead."
    )


def view_dtype(x: Array, dtype: np.dtype) -> Array:
    out = x.view(dtype)
    if x.size or out.itemsize == x.itemsize:
        return out
    steps = [step // out.itemsize for step in laid(x).strides[:-1]]
    return _geometry(out, out.shape, (*steps, 1), 0)


def laid(x: Array) -> Array:
    """An array of no elements with strides, which NumPy does not give it, and torch does."""
    if any(x.strides) or not isinstance(x, Array):
        return x
    start = min(storage_offset(x), storage_size(x))  # the imaginary part begins beyond the end
    return _geometry(x, x.shape, strides_of(x.shape), start)


def permute(x: Array, axes: tuple[int, ...]) -> Array:
    return (x if x.size else laid(x)).transpose(axes)


def swapaxes(x: Array, axis1: int, axis2: int) -> Array:
    return (x if x.size else laid(x)).swapaxes(axis1, axis2)


def mT(x: Array) -> Array:
    return (x if x.size else laid(x)).swapaxes(-1, -2)


def expand(x: Array, shape: tuple[int, ...]) -> Array:
    if x.shape == shape:
        return x[...]
    x = x if x.size else laid(x)
    new = len(shape) - x.ndim
    strides = [0] * new
    for here, target, stride in zip(x.shape, shape[new:], x.strides):
        if here != target and here != 1 or new < 0:
            return np.broadcast_to(x, shape)  # which says what is wrong
        strides.append(stride if here == target else 0)
    for axis in range(new - 1, -1, -1) if x.ndim else ():
        if shape[axis] == 1:
            strides[axis] = shape[axis + 1] * strides[axis + 1]
    return _with_strides(x, shape, strides)


def squeeze(x: Array, axes: tuple[int, ...]) -> Array:
    return (x if x.size else laid(x)).squeeze(axes)


def unsqueeze(x: Array, axis: int) -> Array:
    axis = axis + x.ndim + 1 if axis < 0 else axis
    shape = (*x.shape[:axis], 1, *x.shape[axis:])
    if x.flags.c_contiguous and x.size and 1 not in x.shape:
        return x.reshape(shape)
    x = x if x.size else laid(x)
    step = x.itemsize if axis == x.ndim else x.shape[axis] * x.strides[axis]
    return _with_strides(x, shape, (*x.strides[:axis], step, *x.strides[axis:]))


def basic_view(x: Array, items: tuple) -> Array:
    """``x[items]`` for integers, slices, None and an Ellipsis."""
    if None in items:
        items, x = with_new_axes(items, x, unsqueeze)
        if not items:
            return x
    view = x[items]
    return view if view.size else _placed(view, x, items)


def with_new_axes(items: tuple, x: Any, unsqueeze: Callable) -> tuple[tuple, Any]:
    """The items with slices in place of the None among them, or nothing if all is kept, and ``x``
    with an axis for each: torch inserts them before it looks at what follows, which their strides
    tell."""
    found, axis, selects = [], 0, False
    for place, item in enumerate(items):
        if item is Ellipsis:
            axis = x.ndim - sum(rest is not None for rest in items[place + 1 :])
        else:
            if item is None:
                x, item = unsqueeze(x, axis), ALL
            selects = selects or item != ALL
            axis += 1
        found.append(item)
    return tuple(found) if selects else (), x


def _placed(view: Array, x: Array, items: tuple) -> Array:
    """An empty view of ``x`` that begins where torch's does: NumPy's begins where ``x`` does, and
    has no strides if ``x`` is empty."""
    x = x if x.size else laid(x)
    offset, strides, axis = byte_offset(x), [], 0
    for place, item in enumerate(items):
        step = 1
        if item is Ellipsis:
            end = x.ndim - len(items[place + 1 :])
            strides += x.strides[axis:end]
            axis = end
            continue
        size = x.shape[axis]
        if item.__class__ is slice:
            start, _, step = item.indices(size)
            strides.append(x.strides[axis] * step)
        else:
            start = item % size
        offset += start * x.strides[axis]
        axis += 1
    strides += x.strides[axis:]
    memory = owner(x)
    if not memory.flags.c_contiguous or offset < 0:
        return view
    return _in_storage(x, view.shape, offset, strides)


def concat(xs: Any, axis: int) -> Array:
    """The joined arrays, by rows, or with channels last where all have them so."""
    axes = common_format(xs)
    if axes is None:
        return np.ascontiguousarray(np.concatenate(xs, axis))
    back = np.argsort(axes)
    joined = np.concatenate([x.transpose(axes) for x in xs], back[axis])
    return np.ascontiguousarray(joined).transpose(back)


def stack(xs: Any, axis: int) -> Array:
    axis = axis + xs[0].ndim + 1 if axis < 0 else axis
    if axis == xs[0].ndim:
        return concat([unsqueeze(x, axis) for x in xs], axis)
    shape = xs[0].shape
    return concat(xs, axis).reshape(*shape[:axis], len(xs), *shape[axis:])


def split(x: Array, sizes: tuple[int, ...], axis: int) -> tuple[Array, ...]:
    """Views of consecutive pieces of the given sizes along ``axis``."""
    lead = (slice(None),) * axis
    pieces, start = [], 0
    for size in sizes:
        items = (*lead, slice(start, start + size))
        pieces.append(x[items] if size and x.size else basic_view(x, items))
        start += size
    return tuple(pieces)


def unbind(x: Array, axis: int) -> tuple[Array, ...]:
    lead = (slice(None),) * axis
    view = np.ndarray.__getitem__ if x.size else basic_view
    return tuple([view(x, (*lead, i, ...)) for i in range(x.shape[axis])])


def flip(x: Array, axes: tuple[int, ...]) -> Array:
    backwards = [slice(None)] * x.ndim
    for axis in axes:
        backwards[axis] = slice(None, None, -1)
    return copy_(empty_like(x), x[tuple(backwards)])


def roll(x: Array, shifts: tuple[int, ...], axes: tuple[int, ...] | None) -> Array:
    if axes is None:
        return np.roll(np.asarray(x, order="C"), shifts)
    if not x.size:
        return copy(x)
    for shift, axis in zip(shifts, axes, strict=True):
        start = -shift % x.shape[axis]
        lead = (slice(None),) * (axis % x.ndim)
        x = concat((x[(*lead, slice(start, None))], x[(*lead, slice(start))]), axis)
    return x


def tile(x: Array, repeats: tuple[int, ...]) -> Array:
    return np.tile(x, repeats)


def repeat_index(repeats: Array, count: int) -> Array:
    """0, 1, ..., count - 1, the i-th repeated ``repeats[i]`` times."""
    return np.repeat(np.arange(count), repeats)


def _triangle(x: Array, offset: int) -> Array:
    rows, columns = x.shape[-2:]
    return np.arange(rows)[:, None] >= np.arange(-offset, columns - offset)


def tril(x: Array, offset: int) -> Array:
    return np.where(_triangle(x, offset), np.ascontiguousarray(x), np.zeros((), x.dtype))


def tril_(x: Array, offset: int) -> Array:
    x[..., ~_triangle(x, offset)] = 0
    return x


def triu(x: Array, offset: int) -> Array:
    return np.where(_triangle(x, offset - 1), np.zeros((), x.dtype), np.ascontiguousarray(x))


def triu_(x: Array, offset: int) -> Array:
    x[..., _triangle(x, offset - 1)] = 0
    return x


def tril_indices(rows: int, columns: int, offset: int, dtype: np.dtype) -> Array:
    return np.stack(np.nonzero(np.tri(rows, columns, offset, dtype=bool))).astype(dtype)


def triu_indices(rows: int, columns: int, offset: int, dtype: np.dtype) -> Array:
    return np.stack(np.nonzero(~np.tri(rows, columns, offset - 1, dtype=bool))).astype(dtype)


def diagonal(x: Array, offset: int, axis1: int, axis2: int) -> Array:
    out = x.diagonal(offset, axis1, axis2)
    if not out.size or out.shape[-1] == 1:  # NumPy forgets the stride of a dimension of size 1
        x = x if x.size else laid(x)
        others = [x.strides[axis] for axis in range(x.ndim) if axis not in (axis1, axis2)]
        strides = (*others, x.strides[axis1] + x.strides[axis2])
        return _in_storage(x, out.shape, byte_offset(out if out.size else x), strides)
    # NumPy still hands out a read-only view; torch's can be written through.
    out.flags.writeable = x.flags.writeable
    return out


def storage_offset(x: Array) -> int:
    """The number of elements in the storage of ``x`` before its first."""
    return byte_offset(x) // x.itemsize


def storage_size(x: Any) -> int:
    """The number of elements, of the dtype of ``x``, that its storage holds."""
    return owner(x).nbytes // x.itemsize


def as_strided(
    x: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, source: tuple
) -> Array:
    """Any geometry over the storage of ``x``, in elements.

    ``source`` is the geometry of ``x`` itself, which only the derivative needs.
    RuntimeError where the result would leave the storage.
    """
    check_geometry(storage_size(x), shape, strides, offset)
    return _geometry(x, shape, strides, offset)


def check_geometry(room: int, shape: tuple, strides: tuple, offset: int) -> None:
    """RuntimeError where a geometry does not fit in a storage of ``room`` elements."""
    if extent(shape, strides, offset) > room:
        raise RuntimeError(
            f"as_strided(): sizes {list(shape)}, strides {list(strides)} and offset {offset} are "
            f"out of bounds for storage of size {room}"
        )


def _geometry(x: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    size = x.itemsize
    return _in_storage(x, shape, offset * size, [s * size for s in strides])


def _in_storage(x: Array, shape: tuple[int, ...], offset: int, strides: Sequence[int]) -> Array:
    """The view with this offset and these strides, in bytes, over the storage of ``x``."""
    # By way of bytes, since bfloat16 has no buffer protocol.
    storage = owner(x).ravel("K").view(np.uint8)
    start = min(offset, storage.size)  # beyond which no elements may lie either
    return np.ndarray(shape, x.dtype, storage, start, strides)


def _positions(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    out = np.full(shape, offset)
    for axis, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        out += (np.arange(n) * stride).reshape((n,) + (1,) * (len(shape) - axis - 1))
    return out


def as_strided_adjoint(y: Array, source: tuple, target: tuple) -> Array:
    """Add ``y``, laid out as geometry ``target``, into zeros, of which geometry ``source`` is seen.

    A geometry is (shape, strides, offset) in elements. Exchanging the two gives the transpose.
    """
    source, target = from_first(source, target)
    flat = np.zeros(max(extent(*source), extent(*target)), y.dtype)
    add_in_order(flat, _positions(*target).ravel(), y.ravel())
    return _geometry(flat, *source)


def from_first(source: tuple, target: tuple) -> tuple[tuple, tuple]:
    """Two geometries over one storage that begins at the first element of them."""
    first = min(source[2], target[2])
    found = [(s, t, 0 if 0 in s else start - first) for s, t, start in (source, target)]
    return found[0], found[1]


def unfold(x: Array, axis: int, size: int, step: int) -> Array:
    """Windows of ``size`` along ``axis``, ``step`` apart, as a view with one more axis."""
    if not x.ndim:
        return x.reshape(1)[:size]
    return _geometry(x, *_windows(x, axis, size, step), storage_offset(x))


def _windows(x: Any, axis: int, size: int, step: int) -> tuple[tuple, tuple]:
    """The shape and the strides, in elements, of the view that `unfold` gives."""
    count = (x.shape[axis] - size) // step + 1
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)
    strides = tuple(s // x.itemsize for s in (x if x.size else laid(x)).strides)
    return shape, (*strides[:axis], strides[axis] * step, *strides[axis + 1 :], strides[axis])


def unfold_adjoint(y: Array, shape: tuple[int, ...], axis: int, size: int, step: int) -> Array:
    """Sum overlapping windows back into an array of ``shape``.

    As in torch one window after the other, and half precision is rounded after each addition.
    """
    out = np.zeros(shape, y.dtype)
    lead = (slice(None),) * axis
    reach = (y.shape[axis] - 1) * step + 1
    for k in reversed(range(size)):
        out[(*lead, slice(k, k + reach, step))] += y[..., k]
    return out


def real(x: Any) -> Array:
    return x.real


def imag(x: Any) -> Array:
    return x.imag


def view_as_real(x: Any) -> Array:
    """A complex array as a real one whose last axis holds the two parts."""
    return x[..., None].view(x.real.dtype)


def view_as_complex(x: Array) -> Array:
    """The inverse of `view_as_real`; a view where the parts lie side by side."""
    x = x if x.strides[-1] == x.itemsize else np.ascontiguousarray(x)
    return x.view(np.complex64 if x.dtype == np.float32 else np.complex128)[..., 0]
