"""The layout of work over a grid of threads: arithmetic on shapes and addresses alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

THREADS = 256  # of a block that has no reason for another number
WARP = 32
VECTOR_BYTES = 16  # the widest load of a thread
BLOCKS_OF_PROCESSOR = 16  # of THREADS each: twice what is resident, so that the last ones overlap
MOST_DIMENSIONS = 8  # that the layout of a strided kernel holds
MOST_PLANS = 4096


class Plans(dict):
    """A cache of plans by the layouts of a call; it is emptied when it has grown large."""

    def keep(self, key: Any, plan: Any) -> Any:
        if len(self) >= MOST_PLANS:
            self.clear()
        self[key] = plan
        return plan


def blocks_for(count: int, of_block: int = THREADS, processors: int = 132) -> int:
    """Blocks of a grid-stride loop over ``count`` items, of which a block takes ``of_block``."""
    return max(1, min(-(-count // of_block), processors * BLOCKS_OF_PROCESSOR))


def threads_for(length: int, most: int = 1024) -> int:
    """Threads of the block that works on one row: whole warps, no more than elements need."""
    return min(most, max(WARP, 1 << (length - 1).bit_length())) if length else WARP


def vector_width(count: int, operands: Sequence[tuple[int, int]]) -> int:
    """The number of elements a thread loads at once, for contiguous operands (address, itemsize).

    Every operand must be aligned to that many of its elements, and the widest must fit in one load;
    ``count`` need not be a multiple: what is left over goes one by one.
    """
    widest = max(size for _, size in operands)
    width = max(1, VECTOR_BYTES // widest)
    while width > 1 and (width > count or any(a % (width * size) for a, size in operands)):
        width //= 2
    return width


def pack_width(
    sizes: Sequence[int], walks: Sequence[Sequence[int]], operands: Sequence[tuple[int, int]]
) -> tuple[int, tuple[bool, ...]]:
    """The number of elements along the last dimension that a thread takes at once, for operands
    (address, itemsize) with these strides, the result first; and which operands stay the same
    along that dimension. 1 where one has strides that do not allow more, or does not fit.
    """
    same = tuple(walk[-1] == 0 for walk in walks)
    width = 1 if same[0] or any(walk[-1] not in (0, 1) for walk in walks) else sizes[-1]
    moving = [(w, o) for w, o, s in zip(walks, operands, same) if not s]
    width = math.gcd(width, *(step for walk, _ in moving for step in walk[:-1]))
    # A power of two that divides it, and fits in one load.
    width = min(width & -width, max(1, VECTOR_BYTES // max(size for _, size in operands)))
    while width > 1 and any(place % (width * size) for _, (place, size) in moving):
        width //= 2
    return (width, same) if width > 1 else (1, (False,) * len(same))


def shared_limit(capability: str) -> int:
    """Bytes of shared memory that a block may have, by compute capability."""
    if capability in ("80", "87"):
        return 163 << 10
    if capability in ("86", "89", "120", "121"):
        return 99 << 10
    return 64 << 10 if int(capability) < 80 else 227 << 10


def fold(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The fewest dimensions over which operands with these strides can be walked alike.

    Dimensions of length 1 go; neighbours are merged where each operand's strides allow it, so that
    contiguous operands come out with one dimension, and one that is broadcast over all of it has
    stride 0. The dimensions are ordered by the strides of the first operand, the largest first.
    """
    kept = [d for d, n in enumerate(shape) if n != 1]
    kept.sort(key=lambda d: -abs(strides[0][d]) if strides else 0)
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for d in kept:
        n = shape[d]
        if sizes and all(walk[-1] == n * by[d] for walk, by in zip(steps, strides)):
            sizes[-1] *= n
            for walk, by in zip(steps, strides):
                walk[-1] = by[d]
            continue
        sizes.append(n)
        for walk, by in zip(steps, strides):
            walk.append(by[d])
    return tuple(sizes), [tuple(walk) for walk in steps]


def element_strides(
    shape: Sequence[int], strides: Sequence[int], itemsize: int, target: Sequence[int]
) -> tuple[int, ...]:
    """Strides in elements of an array that is broadcast to ``target``: 0 where it is repeated."""
    lead = len(target) - len(shape)
    own = [0 if n == 1 else s // itemsize for n, s in zip(shape, strides)]
    return (0,) * lead + tuple(own)


def around_axis(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """(outer, length, inner) of an array seen from one axis; () counts as one element."""
    if not shape:
        return 1, 1, 1
    axis %= len(shape)
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def inverse(order: Sequence[int]) -> tuple[int, ...]:
    """The order of axes that undoes another one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))
