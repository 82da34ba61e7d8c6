"""Views of arrays without memory: NumPy takes them of the geometry alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.cpu import shape as cpu
from nnkit.backend.memory import common_format, strides_in_elements, strides_of, strides_seen_as
from nnkit.backend.meta.array import Meta, empty, in_order


def _view(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The view, or the views, that a kernel of the CPU takes."""

    def take(x: Meta, *statics: Any) -> Any:
        found = kernel(x.geometry, *statics)
        if isinstance(found, tuple):
            return tuple(map(x.seen, found))
        return x if found is x.geometry else x.seen(found)

    return take


permute, swapaxes, mT, expand = map(_view, (cpu.permute, cpu.swapaxes, cpu.mT, cpu.expand))
squeeze, unsqueeze, split, unbind = map(_view, (cpu.squeeze, cpu.unsqueeze, cpu.split, cpu.unbind))
diagonal, unfold, as_strided = map(_view, (cpu.diagonal, cpu.unfold, cpu.as_strided))
view_dtype, real, imag = map(_view, (cpu.view_dtype, cpu.real, cpu.imag))
view_as_real = _view(cpu.view_as_real)


def reshape(x: Meta, shape: tuple) -> Meta:
    if -1 in shape:
        shape = np.empty(x.shape, np.dtype("V0")).reshape(shape).shape
    steps = strides_of(shape)
    if x.size and x.ndim:
        seen = strides_seen_as(x.shape, x.geometry.strides, shape)
        if seen is None:
            return empty(shape, x.dtype)
        steps = tuple(step // x.dtype.itemsize for step in seen)
    offset = cpu.storage_offset(x.geometry)
    return x.seen(cpu._geometry(x.geometry, shape, steps, offset))


def view(x: Meta, shape: tuple) -> Meta:
    out = reshape(x, shape)
    if out.storage is not x.storage:
        raise RuntimeError(
            f"view(): view size {list(shape)} is not compatible with input tensor's size "
            f"{list(x.shape)} and stride {list(strides_in_elements(x))}. Use .reshape(...) instead."
        )
    return out


def view_as_complex(x: Meta) -> Meta:
    if x.strides[-1] == x.itemsize:
        return x.seen(cpu.view_as_complex(x.geometry))
    return empty(x.shape[:-1], np.result_type(x.dtype, np.complex64))


def concat(xs: Any, axis: int) -> Meta:
    first = xs[0]
    shape = list(first.shape)
    shape[axis] = sum(x.shape[axis] for x in xs)
    return in_order(tuple(shape), first.dtype, common_format(xs))


def storage_offset(x: Meta) -> int:
    return cpu.storage_offset(x.geometry)


def storage_size(x: Meta) -> int:
    return cpu.storage_size(x.geometry)


def tile(x: Meta, repeats: tuple) -> Meta:
    new = max(len(repeats) - x.ndim, 0)
    shape = (*[1] * new, *x.shape)
    repeats = (*[1] * (len(shape) - len(repeats)), *repeats)
    return empty(tuple([n * r for n, r in zip(shape, repeats, strict=True)]), x.dtype)


def _below(rows: int, columns: int, offset: int) -> int:
    """How many elements of a matrix are on or below a diagonal."""
    return sum(min(max(row + offset + 1, 0), columns) for row in range(rows))


def tril_indices(rows: int, columns: int, offset: int, dtype: np.dtype) -> Meta:
    return empty((2, _below(rows, columns, offset)), dtype)


def triu_indices(rows: int, columns: int, offset: int, dtype: np.dtype) -> Meta:
    return empty((2, rows * columns - _below(rows, columns, offset - 1)), dtype)


def repeat_index(repeats: Meta, count: int) -> Meta:
    raise NotImplementedError("repeat_interleave(): the repeats decide the size, and have no data")
