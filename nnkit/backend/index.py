"""What an index expression means: torch's rules, worked out on shapes alone.

`split_index` divides an index into a *basic* part (integers, slices, None), which any NumPy-like
library answers with a view, and an *advanced* part (integer arrays and masks) to be applied to
that view. Integers belong to the basic part, as in torch, so they do not move the dimensions of
the advanced part to the front as they do in NumPy.
"""

from __future__ import annotations

import operator
from typing import Any

from nnkit.backend.memory import sort_axes

ALL = slice(None)


def _is_array(item: Any) -> bool:
    return hasattr(item, "dtype") and hasattr(item, "ndim")


def _is_mask(item: Any) -> bool:
    # uint8 is torch's old way to write a mask.
    return item.dtype.kind == "b" or (item.dtype.kind == "u" and item.dtype.itemsize == 1)


def _consumed(item: Any) -> int:
    """How many dimensions an item of the index uses up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return item.ndim if _is_array(item) and _is_mask(item) else 1


def _checked_integer(item: Any, dim: int, shape: tuple[int, ...]) -> int:
    size = shape[dim]
    number = operator.index(item)
    if not -size <= number < size:
        if not -(1 << 63) <= number < 1 << 63:
            raise ValueError(f"Overflow when unpacking long long: index {number}")
        raise IndexError(f"index {number} is out of bounds for dimension {dim} with size {size}")
    return number


def _checked_slice(item: slice) -> slice:
    if item.step is not None and operator.index(item.step) <= 0:
        raise ValueError(f"slice step must be greater than zero, got {item.step}")
    return item


def _checked_array(item: Any, dim: int, shape: tuple[int, ...]) -> Any:
    kind = item.dtype.kind
    if not _is_mask(item):
        if kind != "i":
            raise IndexError(
                "tensors used as indices must be long, int, byte or bool tensors, "
                f"got {item.dtype} at dimension {dim}"
            )
        return item
    if shape[dim : dim + item.ndim] != item.shape:
        k = next(k for k, n in enumerate(item.shape) if shape[dim + k] != n)
        raise IndexError(
            f"The shape of the mask {list(item.shape)} at index {k} does not match the shape of "
            f"the indexed tensor {list(shape)} at index {dim + k}"
        )
    return item if kind == "b" else item != 0


def split_index(index: Any, shape: tuple[int, ...]) -> tuple[tuple, tuple | None]:
    """The basic part of ``index`` and, over the view it gives, the advanced part or None.

    The basic part ends in an Ellipsis, so that it always gives an array. The advanced part
    holds arrays, full slices, and lists for scalar bools (``[0]`` is true, ``[]`` is false).

    Raises:
        IndexError: an integer or a mask does not fit, too many items, an item of another type.
        ValueError: a slice with a step that is not positive.
    """
    items = index if isinstance(index, tuple) else (index,)
    ndim = len(shape)
    used = sum(map(_consumed, items))
    if used > ndim:
        if not ndim:
            raise IndexError("a 0-dim tensor has no dimension to index: use item() for its number")
        raise IndexError(f"too many indices for tensor of dimension {ndim}: got {used}")
    basic: list = []
    advanced: list = []
    is_advanced = False
    dim = 0
    for item in items:
        if isinstance(item, slice):
            basic.append(_checked_slice(item))
            advanced.append(ALL)
            dim += 1
        elif item is None:
            basic.append(None)
            advanced.append(ALL)
        elif item is Ellipsis:
            skipped = ndim - used
            basic += [ALL] * skipped
            advanced += [ALL] * skipped
            dim += skipped
            used = ndim  # a second Ellipsis stands for nothing
        elif isinstance(item, bool) or (_is_array(item) and not item.ndim and _is_mask(item)):
            basic.append(None)
            advanced.append([0] if item else [])
            is_advanced = True
        elif _is_array(item) and item.ndim:
            item = _checked_array(item, dim, shape)
            consumed = _consumed(item)
            basic += [ALL] * consumed
            advanced.append(item)
            is_advanced = True
            dim += consumed
        elif hasattr(item, "__index__") and (not _is_array(item) or item.dtype.kind == "i"):
            basic.append(_checked_integer(item, dim, shape))
            dim += 1
        else:
            raise IndexError(
                "only integers, slices, ellipsis, None and integer or bool tensors are valid "
                f"indices, got {getattr(item, 'dtype', type(item).__name__)}"
            )
    return (*basic, Ellipsis), tuple(advanced) if is_advanced else None


def order_of_indexed(shape: tuple[int, ...], view: Any, advanced: tuple) -> tuple[int, ...] | None:
    """The order in memory of the dimensions of ``view[advanced]``, which has this shape; None for
    rows.

    As in torch the positions and what is left of ``view`` are walked together, which stands still
    along the dimensions of the positions.
    """
    flags = [item.flags for item in advanced if _is_array(item) and not _is_mask(item)]
    if view.flags.c_contiguous and all(f.c_contiguous for f in flags):
        return None
    positions: list[Any] = []
    places: list[int] = []  # of the indexed dimensions
    kept: list[int] = []
    dim = 0
    for item in advanced:
        if item is ALL:
            kept.append(dim)
            dim += 1
        elif _is_array(item) and not _is_mask(item):
            positions.append(item)
            places.append(dim)
            dim += 1
        else:  # of a mask the positions are counted, one array for each of its dimensions
            count = item.ndim if _is_array(item) else 1
            places += range(dim, dim + count)
            dim += count
    together = places[-1] - places[0] == len(places) - 1
    kept += range(dim, view.ndim)
    before = sum(d < places[0] for d in kept) if together else 0
    end = len(shape) - (len(kept) - before)
    steps = [view.strides[d] for d in kept]
    walks = [[*steps[:before], *[0] * (end - before), *steps[before:]]]
    for item in positions:
        start = end - item.ndim
        own = [s if n == m else 0 for s, n, m in zip(item.strides, item.shape, shape[start:])]
        walks.append([*[0] * start, *own, *[0] * (len(shape) - end)])
    return sort_axes(shape, walks)


def shape_mismatch(got: tuple[int, ...], expected: tuple[int, ...]) -> RuntimeError:
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(got)} cannot be broadcast to indexing result "
        f"of shape {list(expected)}"
    )
