"""Pools of arrays without memory, where no reference body tells the shape."""

from __future__ import annotations

import numpy as np

from nnkit.backend.meta.array import Meta, empty


def fractional_max_pool(x: Meta, samples: Meta, kernel: tuple, size: tuple) -> tuple[Meta, Meta]:
    shape = (*x.shape[:2], *size)
    return empty(shape, x.dtype), empty(shape, np.dtype(np.int64))


def max_unpool(x: Meta, indices: Meta, shape: tuple) -> Meta:
    return empty(shape, x.dtype)
