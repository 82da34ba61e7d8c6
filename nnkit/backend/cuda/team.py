"""The threads that share a row: the `TeamKind` of kernels/team.cuh and the launch that it takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cuda.differences import address
from nnkit.backend.cuda.launch import THREADS, VECTOR_BYTES, WARP, blocks_for, threads_for

BY_BLOCK, BY_WARP, BY_THREAD = 0, 1, 2
OF_THREAD = 32  # elements of a row that a thread should have, so that its sum costs little
SHORT = 8  # those of short rows
MOST_THREADS = 512  # of the block that works on one row


def team_for(rows: int, length: int, inner: int, processors: int) -> tuple[int, int, int]:
    """The kind of team, blocks, and threads of a block; a row's elements lie ``inner`` apart."""
    if inner > 1:
        return BY_THREAD, blocks_for(rows, THREADS, processors), THREADS
    if length <= OF_THREAD * WARP:
        # Few rows keep all processors busy in small blocks.
        warps = THREADS // WARP
        while warps > 1 and rows < processors * warps:
            warps //= 2
        return BY_WARP, blocks_for(rows, warps, processors), warps * WARP
    threads = threads_for(-(-length // OF_THREAD), MOST_THREADS)
    return BY_BLOCK, blocks_for(rows, 1, processors), threads


def kept_for(kind: int, length: int, threads: int, dtype: np.dtype) -> int:
    """The number of elements of a row that a thread keeps in registers; 0: the row is too long."""
    members = WARP if kind == BY_WARP else threads
    if length <= SHORT * members:
        return SHORT
    return OF_THREAD if length <= OF_THREAD * members and dtype.itemsize <= 4 else 0


def packed_for(inner: int, length: int, *arrays: Any) -> bool:
    """Whether rows of ``length`` elements, and runs of ``inner`` with one parameter each unless it
    is 1, consist of whole packs in all arrays: those of the rows and of the parameters, or None."""
    given = [a for a in arrays if a is not None]
    width = VECTOR_BYTES // given[0].itemsize
    is_whole = length % width == 0 and (inner == 1 or inner % width == 0)
    return is_whole and not any(address(a) % VECTOR_BYTES for a in given)


def pack_for(length: int, *arrays: Any) -> int:
    """The elements of a load where rows of ``length`` elements of all arrays are whole packs; 1
    where they are not."""
    return VECTOR_BYTES // arrays[0].itemsize if packed_for(1, length, *arrays) else 1
