"""Which threads share a row: the `TeamKind` of kernels/team.cuh and the launch that it takes."""

from __future__ import annotations

from nnkit.backend.cuda.launch import THREADS, WARP, blocks_for, threads_for

BY_BLOCK, BY_WARP, BY_THREAD = 0, 1, 2
OF_THREAD = 8  # elements of a row that a thread should have, so that its sum costs little


def team_for(rows: int, length: int, inner: int, processors: int) -> tuple[int, int, int]:
    """The kind of team, blocks, and threads of a block; a row's elements lie ``inner`` apart."""
    if inner > 1:
        return BY_THREAD, blocks_for(rows, THREADS, processors), THREADS
    if length <= OF_THREAD * WARP:
        return BY_WARP, blocks_for(rows, THREADS // WARP, processors), THREADS
    return BY_BLOCK, blocks_for(rows, 1, processors), threads_for(-(-length // OF_THREAD))


def kept_for(kind: int, length: int, threads: int) -> int:
    """The number of elements of a row that a thread keeps in registers; 0: the row is too long."""
    return OF_THREAD if length <= OF_THREAD * (WARP if kind == BY_WARP else threads) else 0
