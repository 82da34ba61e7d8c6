"""Reading and writing at positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nnkit.backend.dtype import int64
from nnkit.backend.index import shape_mismatch, shape_of_indexed
from tests.lists.array import (
    Array,
    broadcast,
    converted,
    elements,
    expanded,
    made,
    places,
    rounded,
    write,
)

INT64 = int64.array


def getitem(x: Array, index: Any) -> Array:
    """A view for integers, slices, None and an Ellipsis."""
    items = index if isinstance(index, tuple) else (index,)
    shape, steps, offset, axis = [], [], x.offset, 0
    for place, entry in enumerate(items):
        if entry is None:
            shape.append(1)
            steps.append(x.width)
        elif entry is Ellipsis:
            end = x.ndim - sum(rest is not None for rest in items[place + 1 :])
            shape += x.shape[axis:end]
            steps += x.steps[axis:end]
            axis = end
        else:
            size, step = x.shape[axis], x.steps[axis]
            if isinstance(entry, slice):
                counted = range(*entry.indices(size))
                shape.append(len(counted))
                steps.append(step * counted.step)
                offset += counted.start * step if counted else 0
            elif -size <= entry < size:
                offset += entry % size * step
            else:
                raise IndexError(
                    f"index {entry} is out of bounds for dimension {axis} with size {size}"
                )
            axis += 1
    return x.seen([*shape, *x.shape[axis:]], [*steps, *x.steps[axis:]], offset)


def nonzero(x: Array) -> Array:
    where = [k for k, value in enumerate(elements(x)) if value]
    rows = []
    for k in where:
        row = []
        for n in reversed(x.shape):
            k, rest = divmod(k, n)
            row.append(rest)
        rows += reversed(row)
    return made(rows, (len(where), x.ndim), INT64)


def _counted(positions: tuple) -> list:
    """Positions without masks: a column of indices for each dimension of one."""
    found = []
    for item in positions:
        if isinstance(item, list):
            found.append(made(item, (len(item),), INT64))
        elif isinstance(item, Array) and item.dtype.kind in "bu":
            rows = nonzero(item)
            found += [made(elements(rows)[d :: item.ndim], rows.shape[:1], INT64)
                      for d in range(item.ndim)]  # fmt: skip
        else:
            found.append(item)
    return found


def _indexed(x: Array, positions: tuple) -> tuple[tuple[int, ...], Sequence[int]]:
    """The shape of ``x[positions]``, and where in memory its elements lie."""
    for dim, item in _masks(positions):
        if len(item.shape) != len(x.shape[dim : dim + item.ndim]) or any(
            n != m for n, m in zip(item.shape, x.shape[dim : dim + item.ndim])
        ):
            raise IndexError(
                f"The shape of the mask {list(item.shape)} at index {dim} does not match the shape "
                f"of the indexed tensor {list(x.shape)}"
            )
    items = _counted(positions)
    shape = shape_of_indexed(x, tuple(items))
    if 0 in shape:
        return shape, []
    axes = [axis for axis, item in enumerate(items) if isinstance(item, Array)]
    common = broadcast(*[items[axis].shape for axis in axes])
    moved = [0] * math.prod(common)
    for axis in axes:
        size, step = x.shape[axis], x.steps[axis]
        for k, value in enumerate(elements(expanded(items[axis], common))):
            if not -size <= value < size:
                raise IndexError(
                    f"index {value} is out of bounds for dimension {axis} with size {size}"
                )
            moved[k] += value % size * step
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    together = bool(axes) and axes[-1] - axes[0] == len(axes) - 1
    first = sum(a < axes[0] for a in kept) if together else 0
    parts = [
        places(tuple([x.shape[a] for a in group]), [x.steps[a] for a in group], 0)
        for group in (kept[:first], kept[first:])
    ]
    start = x.offset
    return shape, [start + a + b + c for a in parts[0] for b in moved for c in parts[1]]


def _masks(positions: tuple) -> list:
    found, dim = [], 0
    for item in positions:
        is_mask = isinstance(item, Array) and item.dtype.kind in "bu"
        if is_mask:
            found.append((dim, item))
        dim += item.ndim if is_mask else 1
    return found


def index(x: Array, positions: tuple) -> Array:
    shape, where = _indexed(x, positions)
    memory = x.memory
    if x.width == 2:
        return made([complex(memory[p], memory[p + 1]) for p in where], shape, x.dtype)
    return made([memory[p] for p in where], shape, x.dtype)


def index_put_(x: Array, value: Any, positions: tuple, accumulate: bool) -> Array:
    shape, where = _indexed(x, positions)
    if not isinstance(value, Array):
        value = made(rounded([value], x.dtype), (), x.dtype)
    lead = value.ndim - len(shape)
    if lead > 0 and value.shape[:lead] == (1,) * lead:
        value = value.seen(value.shape[lead:], value.steps[lead:])
    try:
        values = converted(expanded(value, shape), x.dtype)
    except ValueError:
        raise shape_mismatch(value.shape, shape) from None
    if not accumulate:
        return write(x, values, where)
    for p, added in zip(where, values, strict=True):
        one = Array(x.memory, (), x.dtype, (), p)
        write(one, rounded([elements(one)[0] + added], x.dtype))
    return x


def _larger(a: Any, b: Any) -> Any:
    return a if a != a or a >= b else b


def _smaller(a: Any, b: Any) -> Any:
    return a if a != a or a <= b else b


REDUCTIONS = {
    "sum": lambda a, b: a + b, "mean": lambda a, b: a + b, "prod": lambda a, b: a * b,
    "amax": _larger, "amin": _smaller,
}  # fmt: skip


def scatter_reduce_(
    x: Array, index: Array, source: Array, axis: int, reduce: str, include_self: bool
) -> Array:
    combine = REDUCTIONS[reduce]
    own = Array(x.memory, x.shape or (1,), x.dtype, x.steps or (1,), x.offset)
    shape = index.shape or (1,)
    steps = [0 if d == axis % own.ndim else s for d, s in enumerate(own.steps)]
    if not isinstance(source, Array):
        source = made(rounded([source], x.dtype), (), x.dtype)
    if source.ndim:
        source = source.seen(index.shape, source.steps)
    met: dict[int, list] = {}
    size, step = own.shape[axis], own.steps[axis]
    lines = zip(places(shape, steps, own.offset), elements(index),
                converted(expanded(source, index.shape), x.dtype), strict=True)  # fmt: skip
    for start, k, value in lines:
        if not 0 <= k < size:
            raise RuntimeError(f"index {k} is out of bounds for dimension {axis} with size {size}")
        met.setdefault(start + k * step, []).append(value)
    for p, values in met.items():
        one = Array(x.memory, (), x.dtype, (), p)
        first, rest = (elements(one)[0], values) if include_self else (values[0], values[1:])
        for value in rest:
            first = combine(first, value)
        if reduce == "mean":
            count = len(rest) + 1
            first = first // count if x.dtype.kind in "iu" else first / count
        write(one, rounded([first], x.dtype))
    return x
