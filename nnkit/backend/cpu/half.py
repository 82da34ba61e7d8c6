"""Floats of 16 and 8 bits: kernels compute in float32 and round their results once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.dtype import HALF, float8_e4m3fn, float8_e8m0fnu

SATURATED = float8_e4m3fn.array  # it has no infinity: what is too large becomes its largest number
POWERS = float8_e8m0fnu.array  # of two, without sign; the least one stands for zero


def truth(x: Any) -> Any:
    """An operand; of an array of bools one whose bytes are 0 and 1. Bytes viewed as bools may be
    others, and NumPy, which takes these for true, compares, sorts and converts some as bytes."""
    is_bool = x.__class__ is np.ndarray and x.dtype.kind == "b"
    return np.asarray(np.logical_and(x, x)) if is_bool else x


def rounded(x: Any, dtype: np.dtype) -> np.ndarray:
    """The array in another dtype, as torch casts."""
    x = truth(x) if dtype.isbuiltin == 2 else x  # 2: registered with NumPy, with casts of its own
    if dtype is SATURATED and x.dtype is not dtype:
        x = np.clip(x.astype(np.float32), -448, 448)
    elif dtype is POWERS:
        x = np.maximum(np.abs(x.astype(np.float32)), np.float32(2.0**-127))
    return x.astype(dtype)


def widened(kernel: Callable) -> Callable:
    """``kernel``, given float32 copies of half arrays; its results become halves again."""

    @functools.wraps(kernel)
    def call(*arguments: Any) -> Any:
        half = next((a.dtype for a in arguments if getattr(a, "dtype", None) in HALF), None)
        if half is None:
            return kernel(*arguments)
        wide = (a.astype(np.float32) if getattr(a, "dtype", None) == half else a for a in arguments)
        results = kernel(*wide)
        return tuple(r if r is None else rounded(r, half) for r in results)

    return call
