"""A kernel of the CUDA backend, emulated, against the function of the CPU backend."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tests.cuda.arrays import on_arrays
from tests.cuda.emulation import emulated

F2, F4, F8 = (np.dtype(d) for d in (np.float16, np.float32, np.float64))
BF = np.dtype(ml_dtypes.bfloat16)
TOLERANCE = {F8: 1e-12, F4: 2e-5, F2: 4e-3, BF: 4e-2}


def as_tuple(x: Any) -> tuple:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def assert_same(kernel: Any, reference: Any, *arguments: Any, tolerance: float = 0.0) -> None:
    """Both called with the same arguments; results of the same shape and dtype, and close."""
    with emulated():
        got = as_tuple(on_arrays(kernel)(*arguments))
    expected = as_tuple(reference(*arguments))
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        if e is None:
            assert g is None
            continue
        assert g.shape == e.shape
        assert g.dtype == e.dtype
        near = max(TOLERANCE.get(d, 0) for d in (e.dtype, arguments[0].dtype)) or tolerance
        near = max(near, tolerance)
        np.testing.assert_allclose(
            np.asarray(g, F8), np.asarray(e, F8), rtol=near, atol=near, equal_nan=True
        )
