"""Adding at positions that may repeat, in the same order in every run; kernels/accumulation.cu.

A position out of range is reported (backend/cuda/failures.py), and nothing is added there.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from nnkit.backend.cuda import failures
from nnkit.backend.cuda.differences import array_module, contiguous, empty, same_dtype
from nnkit.backend.cuda.launch import THREADS, blocks_for
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.dtype import HALF

I8 = np.dtype(np.int64)
CHUNK = 16  # as in kernels/accumulation.cu


class Runs(ctypes.Structure):
    _fields_ = tuple(
        (n, ctypes.c_int64) for n in ("count", "size", "outer", "inner", "skipped", "averaged")
    )


def add_slices(
    out: Any, index: Any, source: Any, axis: int,
    alpha: float = 1.0, skipped: int = -1, averaged: bool = False, code: int = failures.POSITION,
) -> None:  # fmt: skip
    """``out[..., index[i], ...] += alpha * source[..., i, ...]`` along ``axis``, in the order of i.

    ``out`` is contiguous and of the dtype of ``source``; ``skipped`` is an index to which nothing
    is added, and with ``averaged`` each sum is divided by the number of its terms. Atomic additions
    would need no sort, but their order changes from run to run.
    """
    if not source.size or not out.size:
        return
    outer, inner = math.prod(out.shape[:axis]), math.prod(out.shape[axis + 1 :])
    size = out.shape[axis]
    if out.dtype.kind == "c":
        part = out.dtype.type(0).real.dtype
        out = out.view(part).reshape(outer, size, 2 * inner)
        source = contiguous(source).view(part).reshape(outer, -1, 2 * inner)
        add_slices(out, index, source, 1, alpha, skipped, averaged, code)
        return
    index = contiguous(same_dtype(index, I8)).reshape(-1)
    order = array_module(out).argsort(index, kind="stable")
    runs = Runs(index.size, size, outer, inner, skipped, averaged)
    work = -(-index.size // CHUNK) * outer * inner
    wide = np.dtype(np.float32) if out.dtype in HALF else out.dtype
    first, last = (empty((work,), wide, out) for _ in range(2))
    blocks = (blocks_for(work, THREADS, current_machine().processors),)
    ordered = index[order]
    rest = (first, last, *failures.report(code), runs, np.float64(alpha))
    run = kernel("accumulation", "add_runs", out.dtype)
    run(blocks, (THREADS,), (out, contiguous(source), ordered, order, *rest))
    kernel("accumulation", "join_runs", out.dtype)(blocks, (THREADS,), (out, ordered, *rest))


def add_at(out: Any, places: Any, values: Any) -> None:
    """``out[places[i]] += values[i]`` for flat arrays, repeated places included."""
    add_slices(out, places, values, 0)


def flat_positions(shape: tuple, index: Any, axis: int) -> Any:
    """The flat positions of the elements that ``index`` (in range) names along ``axis``."""
    xp = array_module(index)
    places = xp.zeros((1,) * index.ndim, np.int64)
    stride = 1
    for d in range(len(shape) - 1, -1, -1):
        if d == axis:
            places = places + index * stride
        else:
            along = (-1,) + (1,) * (index.ndim - d - 1)
            places = places + (xp.arange(index.shape[d]) * stride).reshape(along)
        stride *= shape[d]
    return places.reshape(index.shape)
