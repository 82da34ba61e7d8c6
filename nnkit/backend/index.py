"""Reading and writing at positions: what the kernels of all backends share.

The positions are a tuple of integer arrays, masks, full slices, and lists for scalar bools (``[0]``
is true, ``[]`` is false); the dimensions that they leave out come last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nnkit.backend.memory import sort_axes, strides_of

ALL = slice(None)


def _is_array(item: Any) -> bool:
    return hasattr(item, "dtype")


def _is_mask(item: Any) -> bool:
    return item.dtype.kind in "bu"  # uint8 is torch's old way to write one


def with_masks(positions: tuple) -> tuple:
    """Positions with bools for the masks of uint8."""
    return tuple([i != 0 if _is_array(i) and i.dtype.kind == "u" else i for i in positions])


class _Divided(NamedTuple):
    """The dimensions that positions leave of an array, and those that they put in the place of the
    rest."""

    before: list[int]  # the dimensions that are kept and come first in the result
    after: list[int]  # those that come last
    indexed: list[int]  # those that are read at positions
    arrays: list[tuple[tuple[int, ...], Sequence[int]]]  # the shapes and steps of the positions


def _divided(x: Any, positions: tuple) -> _Divided:
    kept: list[int] = []
    indexed: list[int] = []
    arrays: list[tuple[tuple[int, ...], Sequence[int]]] = []
    for item in positions:
        dim = len(kept) + len(indexed)
        if isinstance(item, slice):
            kept.append(dim)
        elif _is_array(item) and _is_mask(item):  # the places of the true elements are counted
            count = int((item != 0).sum())
            arrays += [((count,), (1,))] * item.ndim
            indexed += range(dim, dim + item.ndim)
        else:
            arrays.append((item.shape, item.strides) if _is_array(item) else ((len(item),), (1,)))
            indexed.append(dim)
    kept += range(len(kept) + len(indexed), x.ndim)
    together = indexed[-1] - indexed[0] == len(indexed) - 1
    first = sum(dim < indexed[0] for dim in kept) if together else 0
    return _Divided(kept[:first], kept[first:], indexed, arrays)


def _common_shape(arrays: Sequence[tuple[tuple[int, ...], Any]]) -> tuple[int, ...]:
    shape: list[int] = []
    for sizes, _ in arrays:
        shape[:0] = [1] * (len(sizes) - len(shape))
        for k, n in enumerate(sizes, len(shape) - len(sizes)):
            if 1 != shape[k] != n != 1:
                raise IndexError(
                    "shape mismatch: indexing tensors could not be broadcast together with shapes "
                    + ", ".join(str(list(sizes)) for sizes, _ in arrays)
                )
            shape[k] = n if shape[k] == 1 else shape[k]
    return tuple(shape)


def shape_of_indexed(x: Any, positions: tuple) -> tuple[int, ...]:
    """The shape of ``x[positions]``, whatever the positions are.

    Raises:
        IndexError: the shapes of the positions do not broadcast, or there is something to be read
            in a dimension of size 0.
    """
    before, after, indexed, arrays = _divided(x, positions)
    common = _common_shape(arrays)
    if 0 not in common and any(x.shape[dim] == 0 for dim in indexed):
        raise IndexError("index is out of bounds for dimension with size 0")
    return (*(x.shape[d] for d in before), *common, *(x.shape[d] for d in after))


def order_of_indexed(shape: tuple[int, ...], x: Any, positions: tuple) -> tuple[int, ...] | None:
    """The order in memory of the dimensions of ``x[positions]``, which has this shape; None for
    rows.

    As in torch the positions and what is left of ``x`` are walked together. What is left stands
    still along the dimensions of the positions, and these along the others, but for those of size
    1, which a view of the positions has there (`_seen_among`). The compiled twin stands in
    cpu/native/kernels/indexing/gathering.cpp.
    """
    if 0 not in shape and 1 not in shape and x.flags.c_contiguous:
        if all(item.flags.c_contiguous for item in positions if _is_array(item)):
            return None
    before, after, _, arrays = _divided(x, positions)
    common = _common_shape(arrays)
    if 0 in shape and all(x.shape[dim] == 1 for dim in (*before, *after)):
        return None  # all that is walked has one shape, and lies by rows
    steps = x.strides if any(x.strides) else strides_of(x.shape)  # NumPy's of no elements are 0
    walks = [[steps[d] for d in before] + [0] * len(common) + [steps[d] for d in after]]
    ones = (1,) * len(before), (1,) * len(after)
    for sizes, own in arrays:
        missing = len(common) - len(sizes)
        own = [s if n == m else 0 for s, n, m in zip(own, sizes, common[missing:], strict=True)]
        seen = _seen_among(common, [0] * missing + own, *map(len, ones))
        extents = (*ones[0], *common, *ones[1])
        walks.append([s if n == m else 0 for s, n, m in zip(seen, extents, shape, strict=True)])
    return sort_axes(shape, walks)


def _seen_among(
    shape: tuple[int, ...], steps: Sequence[int], before: int, after: int
) -> Sequence[int]:
    """The steps of an array that is seen with dimensions of size 1 before and after its own:
    torch's rule (`computeStride`), by which a dimension of size 1 goes with those inside of it."""
    if 0 in shape or not shape:
        return strides_of(((1,) * before) + shape + (1,) * after)
    step, count = steps[-1], 1
    seen = [step] * after
    for n, own in zip(reversed(shape), reversed(steps), strict=True):
        if n != 1 and own != count * step:
            step, count = own, 1
        seen.append(count * step)
        count *= n
    seen += [count * step] * before
    return seen[::-1]


def shape_mismatch(got: tuple[int, ...], expected: tuple[int, ...]) -> RuntimeError:
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(got)} cannot be broadcast to indexing result "
        f"of shape {list(expected)}"
    )
