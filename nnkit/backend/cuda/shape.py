"""Shapes on the GPU: mostly the CPU's functions, which are methods that CuPy's arrays have too."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from nnkit.backend.cpu import shape as host
from nnkit.backend.cpu.shape import imag, mT, permute, real, squeeze, swapaxes  # noqa: F401
from nnkit.backend.cuda.accumulation import add_at
from nnkit.backend.cuda.creation import array, copy_, empty_like, zeros
from nnkit.backend.cuda.differences import address, array_module, contiguous, on_bits, storage
from nnkit.backend.memory import extent


@on_bits
def reshape(x: Any, shape: tuple) -> Any:
    return x.reshape(shape)


def view(x: Any, shape: tuple) -> Any:
    """Reshape without copying; RuntimeError where the strides do not allow it."""
    out = reshape(x, shape)
    if not x.size or address(out) == address(x):
        return out
    strides = [s // x.itemsize for s in x.strides]
    raise RuntimeError(
        f"view(): view size {list(shape)} is not compatible with input tensor's size "
        f"{list(x.shape)} and stride {strides}. Use .reshape(...) instead."
    )


def view_dtype(x: Any, dtype: np.dtype) -> Any:
    return x.view(dtype)


def expand(x: Any, shape: tuple) -> Any:
    return array_module(x).broadcast_to(x, shape)


def unsqueeze(x: Any, axis: int) -> Any:
    axis = axis + x.ndim + 1 if axis < 0 else axis
    shape = (*x.shape[:axis], 1, *x.shape[axis:])
    if x.flags.c_contiguous:
        return reshape(x, shape)
    step = x.itemsize if axis == x.ndim else x.shape[axis] * x.strides[axis]
    return x.__class__(shape, x.dtype, x.data, (*x.strides[:axis], step, *x.strides[axis:]))


def split(x: Any, sizes: tuple[int, ...], axis: int) -> tuple:
    """Views of consecutive pieces of the given sizes along ``axis``."""
    lead, ends = (slice(None),) * axis, list(accumulate(sizes))
    return tuple([x[(*lead, slice(end - size, end))] for size, end in zip(sizes, ends)])


def unbind(x: Any, axis: int) -> tuple:
    lead = (slice(None),) * axis
    return tuple([x[(*lead, i)] for i in range(x.shape[axis])])


def concat(xs: Any, axis: int) -> Any:
    shape = list(xs[0].shape)
    axis %= len(shape)
    shape[axis] = sum(x.shape[axis] for x in xs)
    out = xs[0].__class__(tuple(shape), xs[0].dtype)
    start = 0
    for x in xs:
        copy_(out[(slice(None),) * axis + (slice(start, start + x.shape[axis]),)], x)
        start += x.shape[axis]
    return out


def flip(x: Any, axes: tuple) -> Any:
    backwards = [slice(None)] * x.ndim
    for axis in axes:
        backwards[axis] = slice(None, None, -1)
    return copy_(empty_like(x), x[tuple(backwards)] if axes else x)


@on_bits
def roll(x: Any, shifts: tuple, axes: tuple | None) -> Any:
    return array_module(x).roll(x, shifts, axes)


@on_bits
def tile(x: Any, repeats: tuple) -> Any:
    return array_module(x).tile(x, repeats)


def repeat_index(repeats: Any, count: int) -> Any:
    """0, 1, ..., count - 1, the i-th repeated ``repeats[i]`` times."""
    xp = array_module(repeats)
    ends = xp.cumsum(xp.broadcast_to(repeats, (count,)))  # one number may stand for all
    total = int(ends[-1]) if count else 0
    return xp.searchsorted(ends, xp.arange(total), side="right")


def _triangle(x: Any, offset: int) -> Any:
    xp = array_module(x)
    rows, columns = x.shape[-2:]
    return xp.arange(rows)[:, None] >= xp.arange(columns) - offset


def _zero(x: Any) -> Any:
    """Zero as a number that leaves the dtype as it is."""
    return x.dtype.type(0).item()


def tril(x: Any, offset: int) -> Any:
    from nnkit.backend.cuda import BACKEND as B

    return B.where(_triangle(x, offset), x, _zero(x))


def triu(x: Any, offset: int) -> Any:
    from nnkit.backend.cuda import BACKEND as B

    return B.where(_triangle(x, offset - 1), _zero(x), x)


def tril_indices(rows: int, columns: int, offset: int, dtype: np.dtype) -> Any:
    return array(host.tril_indices(rows, columns, offset, dtype), None)


def triu_indices(rows: int, columns: int, offset: int, dtype: np.dtype) -> Any:
    return array(host.triu_indices(rows, columns, offset, dtype), None)


def diagonal(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    return x.diagonal(offset, axis1, axis2)


def storage_offset(x: Any) -> int:
    return (address(x) - storage(x)[0]) // x.itemsize


def storage_size(x: Any) -> int:
    return storage(x)[1] // x.itemsize


def _geometry(x: Any, shape: tuple, strides: tuple, offset: int) -> Any:
    """Any geometry, in elements, over the memory of ``x``, which begins at its storage's start."""
    size = x.itemsize
    pointer = x.data + (storage(x)[0] + offset * size - address(x))
    return x.__class__(shape, x.dtype, pointer, tuple(s * size for s in strides))


def as_strided(x: Any, shape: tuple, strides: tuple, offset: int, source: tuple) -> Any:
    """Any geometry over the storage of ``x``; RuntimeError where it would leave the storage."""
    host.check_geometry(storage_size(x), shape, strides, offset)
    return _geometry(x, shape, strides, offset)


def as_strided_adjoint(y: Any, source: tuple, target: tuple) -> Any:
    """Add ``y``, laid out as geometry ``target``, into zeros; see geometry ``source`` of them."""
    source, target = host.from_first(source, target)
    flat = zeros((max(extent(*source), extent(*target)),), y.dtype)
    add_at(flat, array(host._positions(*target).ravel(), None), reshape(y, (-1,)))
    return _geometry(flat, *source)


def unfold(x: Any, axis: int, size: int, step: int) -> Any:
    """Windows of ``size`` along ``axis``, ``step`` apart, as a view with one more axis."""
    if not x.ndim:
        return x.reshape(1)[:size]
    return _geometry(x, *host._windows(x, axis, size, step), storage_offset(x))


def view_as_real(x: Any) -> Any:
    """A complex array as a real one whose last axis holds the two parts."""
    part = np.dtype(np.float32 if x.dtype == np.complex64 else np.float64)
    return x[..., None].view(part)


def view_as_complex(x: Any) -> Any:
    """The inverse of `view_as_real`; a view where the parts lie side by side."""
    x = x if x.strides[-1] == x.itemsize else contiguous(x)
    return x.view(np.complex64 if x.dtype == np.float32 else np.complex128)[..., 0]
