"""Dropout in one kernel that draws its own Philox words; kernels/random.cu.

Dropout of whole channels, and alpha dropout, are the bodies of backend/reference/dropout.py.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from nnkit.backend.cuda.creation import copy_, empty_like
from nnkit.backend.cuda.launch import THREADS, blocks_for
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.philox import RESIDENT_BLOCKS, THREADS_PER_BLOCK, WORDS, Philox
from nnkit.backend.reference import dropout as body

__all__ = ["dropout"]


class Stream(ctypes.Structure):
    _fields_ = (
        ("seed", ctypes.c_uint64), ("first", ctypes.c_uint64), ("threads", ctypes.c_int64),
    )  # fmt: skip


def drawn(philox: Philox, count: int, of_block: int) -> Stream:
    """The part of a stream that one kernel over ``count`` elements draws, which is taken off it.

    A block of Philox serves ``of_block`` elements.
    """
    threads = THREADS_PER_BLOCK * min(max(-(-count // THREADS_PER_BLOCK), 1), RESIDENT_BLOCKS)
    stream = Stream(philox.seed, philox.offset // WORDS, threads)
    philox.offset += -(-count // (threads * of_block)) * WORDS
    return stream


def stream_of_gpu() -> Philox:
    from nnkit.backend.cuda.runtime import generator

    return generator()


def dropout(x: Any, p: float, feature: bool) -> tuple[Any, Any]:
    if feature or not 0 <= p < 1 or not x.size:
        from nnkit.backend.cuda import BACKEND as B

        return body.dropout(B, x, p, feature)
    # In the order of memory, as the CPU draws: an array whose memory has gaps is copied first.
    out, noise = empty_like(x), empty_like(x)
    source = x if x.strides == out.strides else copy_(empty_like(x), x)
    stream = drawn(stream_of_gpu(), x.size, WORDS)
    blocks = blocks_for(-(-x.size // WORDS), THREADS, current_machine().processors)
    run = kernel("random", "dropout", x.dtype)
    given = (source, out, noise, np.int64(x.size), stream, np.float64(p))
    run((blocks,), (THREADS,), given)
    return out, noise
