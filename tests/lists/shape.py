"""Views: other geometries on the same list."""

from __future__ import annotations

import math
from typing import Any

from nnkit.backend.memory import extent, owner, strides_of, strides_seen_as
from tests.lists.array import Array, elements, made


def reshape(x: Array, shape: tuple) -> Array:
    if -1 in shape:
        known = -math.prod(shape)
        if not known or x.size % known:
            raise ValueError(f"cannot reshape array of size {x.size} into shape {shape}")
        shape = tuple([x.size // known if n == -1 else n for n in shape])
    if math.prod(shape) != x.size:
        raise ValueError(f"cannot reshape array of size {x.size} into shape {shape}")
    if not x.size or x.c_contiguous:
        return x.seen(shape, [s * x.width for s in strides_of(shape)])
    steps = strides_seen_as(x.shape, x.steps, shape)
    return made(elements(x), shape, x.dtype) if steps is None else x.seen(shape, steps)


def storage_offset(x: Array) -> int:
    return x.offset // x.width


def storage_size(x: Array) -> int:
    return owner(x).nbytes // x.itemsize


def as_strided(x: Array, shape: tuple, strides: tuple, offset: int, source: Any) -> Array:
    room = storage_size(x)
    if extent(shape, strides, offset) > room:
        raise RuntimeError(
            f"as_strided(): size {list(shape)}, stride {list(strides)} and offset {offset} reach "
            f"beyond the storage of {room} elements"
        )
    return x.seen(shape, [s * x.width for s in strides], offset * x.width)


def concat(xs: Any, axis: int) -> Array:
    first = xs[0]
    axis %= first.ndim
    shape = list(first.shape)
    shape[axis] = sum(x.shape[axis] for x in xs)
    pieces = []
    for x in xs:
        values, row = elements(x), math.prod(x.shape[axis:])
        pieces.append([values[i : i + row] for i in range(0, x.size, row)] if row else None)
    rows = zip(*[p for p in pieces if p is not None], strict=True)
    return made([v for row in rows for part in row for v in part], shape, first.dtype)


def view_dtype(x: Array, dtype: Any) -> Array:
    if dtype == x.dtype:
        return x.seen(x.shape, x.steps)
    if dtype.kind == "c" and x.dtype.kind == "f" and dtype.itemsize == 2 * x.itemsize:
        return view_as_complex(x.seen((*x.shape[:-1], x.shape[-1] // 2, 2), (*x.steps[:-1], 2, 1)))
    raise NotImplementedError("a number in a list has no bytes that could be read as another")


def parts_of(x: Array) -> Any:
    return x.dtype.type(0).real.dtype


def view_as_real(x: Array) -> Array:
    return x.seen((*x.shape, 2), (*x.steps, 1), dtype=parts_of(x))


def view_as_complex(x: Array) -> Array:
    if x.steps[-1] != 1:
        x = made(elements(x), x.shape, x.dtype)
    dtype = (x.dtype.type(0) + 0j).dtype
    return x.seen(x.shape[:-1], x.steps[:-1], dtype=dtype)
