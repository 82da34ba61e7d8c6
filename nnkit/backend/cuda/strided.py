"""The parameter `Walk` of kernels/team.cuh: some axes of a strided array, walked in C order."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from nnkit.backend.cuda.launch import MOST_DIMENSIONS


class Walk(ctypes.Structure):
    _fields_ = (
        ("dimensions", ctypes.c_int64),
        ("sizes", ctypes.c_int64 * MOST_DIMENSIONS),
        ("strides", ctypes.c_int64 * MOST_DIMENSIONS),
    )


def walk_of(shape: Sequence[int], strides: Sequence[int]) -> Walk | None:
    """A walk over these lengths and strides (in elements); None where a `Walk` cannot hold it.

    Neighbouring axes are merged where the strides allow it.
    """
    sizes: list[int] = []
    steps: list[int] = []
    for n, step in zip(shape, strides, strict=True):
        if n == 1:
            continue
        if sizes and steps[-1] == n * step:
            sizes[-1] *= n
            steps[-1] = step
        else:
            sizes.append(n)
            steps.append(step)
    if len(sizes) > MOST_DIMENSIONS:
        return None
    array = ctypes.c_int64 * MOST_DIMENSIONS
    return Walk(len(sizes), array(*sizes), array(*steps))


def walk(x: Any, axes: Sequence[int]) -> Walk | None:
    """A walk over these axes of ``x``."""
    return walk_of([x.shape[a] for a in axes], [x.strides[a] // x.itemsize for a in axes])
