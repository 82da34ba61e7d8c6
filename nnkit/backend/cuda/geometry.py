"""The parameter `Geometry` of kernels/geometry.cuh: windows over one to three spatial axes."""

from __future__ import annotations

import ctypes

from nnkit.backend.windows import Ints

LARGEST = (1 << 31) - 1  # of the ints that kernels count with


class Geometry(ctypes.Structure):
    _fields_ = tuple(
        (n, ctypes.c_int * 3)
        for n in ("input", "kernel", "output", "stride", "padding", "dilation")
    )


def geometry(
    input: Ints, kernel: Ints, output: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> Geometry:
    """The geometry of windows, with axes of length 1 in front where there are fewer than three."""
    lead = 3 - len(input)
    values = (input, kernel, output, stride, padding, dilation)
    if max(map(max, values)) > LARGEST:
        raise RuntimeError(f"windows over sizes beyond {LARGEST} are not for the GPU: {values}")
    fills = (1, 1, 1, 1, 0, 1)
    return Geometry(
        *((ctypes.c_int * 3)(*(f,) * lead, *v) for v, f in zip(values, fills, strict=True))
    )
