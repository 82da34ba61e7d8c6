"""Tools of the special functions: polynomials, and a loop over blocks that stay in cache.

The coefficients in the modules beside this one are Chebyshev interpolants (for erf in float32
a minimax quotient), computed with 60 digits and cut where the rest falls below the precision.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np

BLOCK = 16384  # elements; half of this costs twice the call overhead, twice of it leaves the cache


def table(dtype: str, *coefficients: float) -> list[np.ndarray]:
    """Coefficients as 0-dim arrays, which NumPy adds in half the time of a Python number."""
    return [np.array(c, dtype) for c in coefficients]


def polynomial(x: np.ndarray, coefficients: Sequence[np.ndarray]) -> np.ndarray:
    """Horner's scheme; the highest power comes first."""
    first, second, *others = coefficients
    value = x * first
    value += second
    for coefficient in others:
        value *= x
        value += coefficient
    return value


def pointwise(kernel: Callable | None = None, *, double: bool = False) -> Callable:
    """Turn ``kernel(block) -> values`` of a one-dimensional block into a function like a ufunc.

    With ``double`` the kernel sees float64 whatever the input, and the result is rounded once.
    """
    if kernel is None:
        return functools.partial(pointwise, double=double)

    @functools.wraps(kernel)
    def function(x, out=None):
        x = np.asarray(x)
        flat = x.reshape(-1)
        if out is not None and out.flags.c_contiguous and out.shape == x.shape:
            target = out
        else:
            target = np.empty(x.shape, x.dtype)
        values = target.reshape(-1)
        for start in range(0, flat.size, BLOCK):
            block = flat[start : start + BLOCK]
            values[start : start + BLOCK] = kernel(block.astype(np.float64) if double else block)
        if out is None or target is out:
            return target
        out[...] = target
        return out

    return function
