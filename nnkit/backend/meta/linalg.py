"""Products of arrays without memory."""

from __future__ import annotations

import numpy as np

from nnkit.backend.meta.array import Meta, empty


def matmul(x: Meta, y: Meta) -> Meta:
    inner = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] != inner:
        raise ValueError(f"matmul: shapes {x.shape} and {y.shape} do not fit (size mismatch)")
    lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    rows = x.shape[-2:-1] if x.ndim > 1 else ()
    columns = y.shape[-1:] if y.ndim > 1 else ()
    return empty((*lead, *rows, *columns), np.result_type(x.dtype, y.dtype))
