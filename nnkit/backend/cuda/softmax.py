"""Softmax and its logarithm along any axis; kernels/softmax.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cuda.differences import contiguous, empty
from nnkit.backend.cuda.launch import THREADS, around_axis, blocks_for
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.cuda.team import kept_for, packed_for, team_for


def softmax(x: Any, axis: int) -> Any:
    return _run(False, axis, x)


def softmax_grad(g: Any, out: Any, axis: int) -> Any:
    return _run(False, axis, g, out)


def log_softmax(x: Any, axis: int) -> Any:
    return _run(True, axis, x)


def log_softmax_grad(g: Any, out: Any, axis: int) -> Any:
    return _run(True, axis, g, out)


def _run(logarithm: bool, axis: int, *arrays: Any) -> Any:
    arrays = tuple(contiguous(a) for a in arrays)
    first = arrays[0]
    result = empty(first.shape, first.dtype, first)
    if not result.size:
        return result
    outer, length, inner = around_axis(first.shape, axis)
    processors = current_machine().processors
    suffix = "_grad" if len(arrays) == 2 else ""
    if inner > 1:
        run = kernel("softmax", f"softmax_slices{suffix}", first.dtype, logarithm)
        slices = outer * inner
        sizes = (np.int64(slices), np.int64(length), np.int64(inner))
        run((blocks_for(slices, THREADS, processors),), (THREADS,), (*arrays, result, *sizes))
        return result
    kind, blocks, threads = team_for(outer, length, 1, processors)
    kept = kept_for(kind, length, threads, first.dtype)
    packed = kept > 0 and packed_for(1, length, *arrays, result)
    run = kernel("softmax", f"softmax_rows{suffix}", first.dtype, logarithm, kind, kept, packed)
    run((blocks,), (threads,), (*arrays, result, np.int64(outer), np.int64(length)))
    return result
