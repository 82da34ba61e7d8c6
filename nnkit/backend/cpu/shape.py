"""Shape kernels: views wherever the memory layout allows one, copies otherwise.

`reshape`, `permute`, `expand`, `getitem` and their like share memory with their input; which
ones do is decided by NumPy's strides, and `view` is the form that refuses to copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cpu.accumulation import add_at
from nnkit.backend.cpu.creation import copy, overwrite
from nnkit.backend.cpu.memory import byte_offset
from nnkit.backend.dtype import HALF
from nnkit.backend.memory import common_format, extent, owner, steps_of, strides_of
from nnkit.backend.windows import padded_geometry

Array = np.ndarray


def reshape(x: Array, shape: tuple[int, ...]) -> Array:
    if x.shape == shape and 1 in shape:
        # NumPy would keep the strides of dimensions of size 1, which torch makes anew.
        x = x.squeeze()
    return x.reshape(shape)


def view(x: Array, shape: tuple[int, ...]) -> Array:
    """Reshape without copying; RuntimeError where the strides do not allow it."""
    out = reshape(x, shape)
    if x.flags.c_contiguous or not x.size or np.may_share_memory(x, out):
        return out
    strides = [s // x.itemsize for s in x.strides]
    raise RuntimeError(
        f"view(): a tensor of size {list(x.shape)} and stride {strides} cannot be seen as "
        f"{list(shape)} without copying; use reshape()"
    )


def view_dtype(x: Array, dtype: np.dtype) -> Array:
    out = x.view(dtype)
    if x.size or out.itemsize == x.itemsize:
        return out
    steps = [step // out.itemsize for step in laid(x).strides[:-1]]
    return _geometry(out, out.shape, (*steps, 1), 0)


def laid(x: Array) -> Array:
    """An array of no elements with strides, which NumPy does not give it, and torch does."""
    if any(x.strides):
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
    if x.shape == shape:  # NumPy forgets the strides of dimensions of size 1
        return x[...]
    if not x.flags.c_contiguous or x.dtype.kind == "V":  # bfloat16 has no buffer protocol
        out = np.broadcast_to(x, shape)
        out.flags.writeable = x.flags.writeable  # who may write is decided above the door
        return out
    # The same in a fifth of the time, which small tensors feel.
    new = len(shape) - x.ndim
    strides = [0] * new
    for here, target, stride in zip(x.shape, shape[new:], x.strides):
        if here != target and here != 1:
            return np.broadcast_to(x, shape)  # which says what is wrong
        strides.append(stride if here == target else 0)
    return np.ndarray(shape, x.dtype, x, 0, strides)


def squeeze(x: Array, axes: tuple[int, ...]) -> Array:
    return x.squeeze(axes)


def unsqueeze(x: Array, axis: int) -> Array:
    axis = axis + x.ndim + 1 if axis < 0 else axis
    return x[(slice(None),) * axis + (None,)]


def concat(xs: Any, axis: int) -> Array:
    """By rows, or with channels last where all have them so."""
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
        pieces.append(x[(*lead, slice(start, start + size))])
        start += size
    return tuple(pieces)


def unbind(x: Array, axis: int) -> tuple[Array, ...]:
    lead = (slice(None),) * axis
    return tuple(x[(*lead, i, ...)] for i in range(x.shape[axis]))


def flip(x: Array, axes: tuple[int, ...]) -> Array:
    backwards = [slice(None)] * x.ndim
    for axis in axes:
        backwards[axis] = slice(None, None, -1)
    return overwrite(x, x[tuple(backwards)])


def roll(x: Array, shifts: tuple[int, ...], axes: tuple[int, ...] | None) -> Array:
    if axes is None:
        return np.roll(np.ascontiguousarray(x), shifts)
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


def triu(x: Array, offset: int) -> Array:
    return np.where(_triangle(x, offset - 1), np.zeros((), x.dtype), np.ascontiguousarray(x))


def tril_indices(rows: int, columns: int, offset: int, dtype: np.dtype) -> Array:
    return np.stack(np.nonzero(np.tri(rows, columns, offset, dtype=bool))).astype(dtype)


def triu_indices(rows: int, columns: int, offset: int, dtype: np.dtype) -> Array:
    return np.stack(np.nonzero(~np.tri(rows, columns, offset - 1, dtype=bool))).astype(dtype)


def diagonal(x: Array, offset: int, axis1: int, axis2: int) -> Array:
    out = x.diagonal(offset, axis1, axis2)
    if out.size and out.shape[-1] == 1:  # NumPy forgets the stride of a dimension of size 1
        steps = list(steps_of(x))
        step = steps[axis1] + steps[axis2]
        others = np.delete(steps, (axis1, axis2))
        return _geometry(x, out.shape, (*others, step), storage_offset(out))
    # NumPy still hands out a read-only view; torch's can be written through.
    out.flags.writeable = x.flags.writeable
    return out


def diagonal_adjoint(
    y: Array, shape: tuple[int, ...], offset: int, axis1: int, axis2: int
) -> Array:
    """Zeros of ``shape`` with ``y`` on the diagonal."""
    out = np.zeros(shape, y.dtype)
    diagonal(out, offset, axis1, axis2)[...] = y
    return out


def storage_offset(x: Array) -> int:
    """How many elements ``x`` starts after the beginning of its storage."""
    return byte_offset(x) // x.itemsize


def storage_size(x: Any) -> int:
    """How many elements of the dtype of ``x`` its storage holds."""
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
            f"as_strided(): size {list(shape)}, stride {list(strides)} and offset {offset} reach "
            f"beyond the storage of {room} elements"
        )


def _geometry(x: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    # By way of bytes, since bfloat16 has no buffer protocol.
    storage = owner(x).ravel("K").view(np.uint8)
    size = x.itemsize
    start = min(offset * size, storage.size)  # beyond which no elements may lie either
    return np.ndarray(shape, x.dtype, storage, start, tuple(s * size for s in strides))


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
    add_at(flat, _positions(*target).ravel(), y.ravel())
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
    strides = tuple(s // x.itemsize for s in x.strides)
    return shape, (*strides[:axis], strides[axis] * step, *strides[axis + 1 :], strides[axis])


def unfold_adjoint(y: Array, shape: tuple[int, ...], axis: int, size: int, step: int) -> Array:
    """Sum overlapping windows back into an array of ``shape``."""
    if not shape:
        return np.asarray(y.sum(dtype=y.dtype))
    out = np.zeros(shape, np.float32 if y.dtype in HALF else y.dtype)
    lead = (slice(None),) * axis
    reach = (y.shape[axis] - 1) * step + 1
    for k in range(size):
        out[(*lead, slice(k, k + reach, step))] += y[..., k]
    return out.astype(y.dtype, copy=False)


def pad(x: Array, widths: tuple[tuple[int, int], ...], value: Any) -> Array:
    """Surround with ``value``; a negative width crops."""
    shape, inner, kept = padded_geometry(x.shape, widths)
    out = np.full(shape, value, x.dtype)
    out[inner] = x[kept]
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
