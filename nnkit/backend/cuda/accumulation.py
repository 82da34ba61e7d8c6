"""Adding at flat positions, repeated ones included, in the same order in every run."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cuda.differences import array_module, contiguous
from nnkit.backend.cuda.launch import THREADS, blocks_for
from nnkit.backend.cuda.source import current_machine, kernel


def add_at(out: Any, places: Any, values: Any) -> None:
    """``out[places[i]] += values[i]`` for flat arrays with places in range.

    A stable sort brings equal places together; then one thread adds up what goes to one place.
    Atomic additions would be faster, but their order changes from run to run.
    """
    if not places.size:
        return
    xp = array_module(out)
    order = xp.argsort(places, kind="stable")
    ordered = places[order]
    first = xp.concatenate((xp.ones(1, bool), ordered[1:] != ordered[:-1]))
    starts = xp.flatnonzero(first)
    run = kernel("indexing", "add_segments", out.dtype)
    arguments = (
        out, contiguous(ordered), order, contiguous(starts), contiguous(values),
        np.int64(starts.size), np.int64(places.size),
    )  # fmt: skip
    blocks = blocks_for(starts.size, THREADS, current_machine().processors)
    run((blocks,), (THREADS,), arguments)


def flat_positions(shape: tuple, index: Any, axis: int) -> Any:
    """Where the elements that ``index`` (in range) names along ``axis`` are in a flat array."""
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
