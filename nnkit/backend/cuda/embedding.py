"""Embedding and its gradient; kernels/embedding.cu and accumulation.cu."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nnkit.backend.cuda import failures
from nnkit.backend.cuda.accumulation import I8, add_slices
from nnkit.backend.cuda.creation import copy_, zeros
from nnkit.backend.cuda.differences import contiguous, empty, same_dtype
from nnkit.backend.cuda.launch import THREADS, WARP, blocks_for
from nnkit.backend.cuda.source import current_machine, kernel


def _as_index(index: Any) -> Any:
    return contiguous(same_dtype(index, I8))


def _blocks(count: int, of_block: int = THREADS) -> tuple[int]:
    return (blocks_for(count, of_block, current_machine().processors),)


def embedding(weight: Any, index: Any, padding_idx: Any, scale_grad_by_freq: bool) -> Any:
    weight, index = contiguous(weight), _as_index(index)
    width = math.prod(weight.shape[1:])
    out = empty((*index.shape, *weight.shape[1:]), weight.dtype, weight)
    if out.size:
        sizes = (np.int64(index.size), np.int64(len(weight)), np.int64(width))
        given = (weight, index, out, *sizes, *failures.report(failures.EMBEDDING))
        blocks = _blocks(index.size, THREADS // WARP)
        kernel("embedding", "embedding_rows", weight.dtype)(blocks, (THREADS,), given)
    return out


def embedding_grad(
    g: Any, index: Any, count: int, padding_idx: int | None, scale_grad_by_freq: bool
) -> Any:
    width = g.shape[-1]
    out = zeros((count, width), g.dtype)
    skipped = -1 if padding_idx is None else padding_idx
    rows = contiguous(g).reshape(index.size, width)
    add_slices(out, index, rows, 0, 1.0, skipped, scale_grad_by_freq, failures.EMBEDDING)
    return out


def embedding_renorm_(weight: Any, index: Any, max_norm: float, norm_type: float) -> Any:
    target, index = contiguous(weight), _as_index(index)
    is_met = zeros((len(weight),), np.dtype(np.uint8))
    if index.size and target.size:
        rows = np.int64(len(weight))
        given = (index, is_met, np.int64(index.size), rows, *failures.report(failures.EMBEDDING))
        kernel("embedding", "mark_rows")(_blocks(index.size), (THREADS,), given)
        given = (target, is_met, rows, np.int64(weight.shape[1]))
        scalars = (np.float64(max_norm), np.float64(norm_type))
        run = kernel("embedding", "renormalize_rows", weight.dtype)
        run(_blocks(len(weight), THREADS // WARP), (THREADS,), (*given, *scalars))
    if target is not weight:
        copy_(weight, target)
    return weight


def bag_max(x: Any, bags: Any, count: int) -> tuple[Any, Any]:
    """The maximum of the rows of each bag, column by column, and the row it stands in; 0 and -1
    for an empty bag. The bags' rows follow each other; of equal ones the first counts."""
    x, bags = contiguous(x), _as_index(bags)
    out, rows = (empty((count, x.shape[1]), d, x) for d in (x.dtype, I8))
    if out.size:
        sizes = (np.int64(len(x)), np.int64(count), np.int64(x.shape[1]))
        run = kernel("embedding", "bag_maxima", x.dtype)
        run(_blocks(out.size), (THREADS,), (x, bags, out, rows, *sizes))
    return out, rows


def one_hot(index: Any, classes: int) -> Any:
    index = _as_index(index)
    out = empty((*index.shape, classes), I8, index)
    if out.size:
        given = (
            index,
            out,
            np.int64(index.size),
            np.int64(classes),
            *failures.report(failures.CLASS),
        )
        kernel("embedding", "one_hot_rows")(_blocks(out.size), (THREADS,), given)
    return out
