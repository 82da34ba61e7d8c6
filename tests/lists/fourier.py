"""The discrete Fourier transform, as it is defined."""

from __future__ import annotations

import cmath
import math

from tests.lists.array import Array
from tests.lists.reduction import along, lines


def fft_c2c(x: Array, axes: tuple, scale: float, inverse: bool) -> Array:
    out = x
    for axis in axes:
        n = x.shape[axis]
        turn = 2j * math.pi / max(n, 1) * (1 if inverse else -1)
        roots = [cmath.exp(turn * k) for k in range(n)]
        found = [
            [sum(v * roots[j * k % n] for k, v in enumerate(line)) for j in range(n)]
            for line in lines(out, axis)
        ]
        out = along(found, x.shape, axis, x.dtype)
    values = [[scale * v for v in line] for line in lines(out, 0)] if x.ndim else []
    return along(values, x.shape, 0, x.dtype)
