"""Embedding: rows of a table by index, and their gradients added up deterministically."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cpu.indexing import add_at
from nnkit.backend.dtype import HALF

SMALL = 1 << 14  # elements up to which one flat scatter-add is fastest
MANY = 16  # a row that is met more often gets a sum of its own


def embedding(weight, index, padding_idx, scale_grad_by_freq):
    _check(index, len(weight))
    return weight.take(index, 0)


def embedding_grad(g, index, count, padding_idx, scale_grad_by_freq):
    rows, index = g.reshape(index.size, g.shape[-1]), index.reshape(-1)
    if rows.dtype in HALF:
        rows = rows.astype(np.float32)
    if padding_idx is not None:
        kept = np.flatnonzero(index != padding_idx)
        rows, index = rows[kept], index[kept]
    if scale_grad_by_freq:
        rows = rows / np.bincount(index, minlength=count)[index, None].astype(rows.dtype)
    out = np.zeros((count, rows.shape[1]), g.dtype)
    add_rows(out, index, rows)
    return out


def embedding_renorm_(weight, index, max_norm, norm_type):
    _check(index, len(weight))
    met = np.unique(index)
    rows = weight[met]
    wide = rows.astype(np.float32) if rows.dtype in HALF else rows
    norms = np.linalg.norm(wide, norm_type, 1, True)
    scale = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(wide.dtype)
    weight[met] = wide * scale
    return weight


def bag_max(x, bags, count):
    """The maximum of the rows of each bag, column by column, and the row it stands in; 0 and -1
    for an empty bag. The bags' rows follow each other; of equal ones the first counts."""
    out = np.zeros((count, x.shape[1]), x.dtype)
    rows = np.full(out.shape, -1)
    if x.size:
        starts = np.flatnonzero(np.concatenate(([True], bags[1:] != bags[:-1])))
        full = bags[starts]
        out[full] = np.maximum.reduceat(x, starts, 0)
        hit = (x == out[bags]) | (x != x)
        row = np.where(hit, np.arange(len(x))[:, None], len(x))
        rows[full] = np.minimum.reduceat(row, starts, 0)
    return out, rows


def one_hot(index, classes):
    wrong = index[(index < 0) | (index >= classes)]
    if wrong.size:
        raise RuntimeError(
            f"one_hot(): Class values must be non-negative and smaller than num_classes, "
            f"got {wrong[0]} with {classes} classes"
        )
    out = np.zeros((index.size, classes), np.int64)
    out[np.arange(index.size), index.reshape(-1)] = 1
    return out.reshape(*index.shape, classes)


def _check(index: np.ndarray, count: int) -> None:
    if not index.size:
        return
    # A negative index is a huge unsigned number, so one maximum checks both ends of the range.
    unsigned = index.view(f"u{index.itemsize}")
    if np.maximum.reduce(unsigned, None) >= count:
        raise IndexError(
            f"embedding(): index out of range in self: {index[unsigned >= count][0]} in a table of "
            f"{count} rows"
        )


def add_rows(out: np.ndarray, index: np.ndarray, rows: np.ndarray) -> None:
    """``out[index[i]] += rows[i]`` for each ``i`` in order, repeated indices included.

    Of half precision every sum is rounded, as in torch: there are no sums of their own then.
    """
    width = out.shape[1]
    many = len(index) if out.dtype in HALF else MANY
    if rows.size <= SMALL and out.dtype not in HALF:
        positions = (index * width)[:, None] + np.arange(width)
        add_at(out.reshape(-1), positions.reshape(-1), rows.reshape(-1))
        return
    # Measured: three times as fast as ufunc.at. First the first row that each index meets, then
    # all second ones, ... in each round no index is repeated. Frequent indices would need many.
    order = index.argsort(kind="stable")
    met = index[order]
    starts = np.flatnonzero(np.concatenate(([True], met[1:] != met[:-1])))
    counts = np.diff(np.append(starts, len(met)))
    for start, n in zip(*_above(starts, counts, many), strict=True):
        out[met[start]] += rows[order[start : start + n]].sum(0)
    rare = starts[counts <= many]
    counts = counts[counts <= many]
    for turn in range(counts.max(initial=0)):
        rare = rare[counts > turn]
        counts = counts[counts > turn]
        source = order[rare + turn]
        out[index[source]] += rows[source]


def _above(starts: np.ndarray, counts: np.ndarray, limit: int) -> Any:
    frequent = counts > limit
    return starts[frequent].tolist(), counts[frequent].tolist()
