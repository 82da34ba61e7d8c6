"""Reading and writing at positions: what the kernels of all backends share.

The positions are a tuple of integer arrays, masks, full slices, and lists for scalar bools (``[0]``
is true, ``[]`` is false); the dimensions that they leave out come last.
"""

from __future__ import annotations

from typing import Any

from nnkit.backend.memory import sort_axes

ALL = slice(None)


def _is_array(item: Any) -> bool:
    return hasattr(item, "dtype")


def _is_mask(item: Any) -> bool:
    return item.dtype.kind == "b"


def with_masks(positions: tuple) -> tuple:
    """Positions with bools for the uint8 that are torch's old way to write a mask."""
    return tuple([i != 0 if _is_array(i) and i.dtype.kind == "u" else i for i in positions])


def order_of_indexed(shape: tuple[int, ...], x: Any, positions: tuple) -> tuple[int, ...] | None:
    """The order in memory of the dimensions of ``x[positions]``, which has this shape; None for
    rows.

    As in torch the positions and what is left of ``x`` are walked together, which stands still
    along the dimensions of the positions.
    """
    flags = [item.flags for item in positions if _is_array(item) and not _is_mask(item)]
    if x.flags.c_contiguous and all(f.c_contiguous for f in flags):
        return None
    arrays: list[Any] = []
    places: list[int] = []  # of the indexed dimensions
    kept: list[int] = []
    dim = 0
    for item in positions:
        if item is ALL:
            kept.append(dim)
            dim += 1
        elif _is_array(item) and not _is_mask(item):
            arrays.append(item)
            places.append(dim)
            dim += 1
        else:  # of a mask the positions are counted, one array for each of its dimensions
            count = item.ndim if _is_array(item) else 1
            places += range(dim, dim + count)
            dim += count
    together = places[-1] - places[0] == len(places) - 1
    kept += range(dim, x.ndim)
    before = sum(d < places[0] for d in kept) if together else 0
    end = len(shape) - (len(kept) - before)
    steps = [x.strides[d] for d in kept]
    walks = [[*steps[:before], *[0] * (end - before), *steps[before:]]]
    for item in arrays:
        start = end - item.ndim
        own = [s if n == m else 0 for s, n, m in zip(item.strides, item.shape, shape[start:])]
        walks.append([*[0] * start, *own, *[0] * (len(shape) - end)])
    return sort_axes(shape, walks)


def shape_mismatch(got: tuple[int, ...], expected: tuple[int, ...]) -> RuntimeError:
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(got)} cannot be broadcast to indexing result "
        f"of shape {list(expected)}"
    )
