"""The parameter `Geometry` of kernels/geometry.cuh: windows over one to three spatial axes."""

from __future__ import annotations

import ctypes
import math

from nnkit.backend.windows import Ints

LARGEST = (1 << 31) - 1  # of the ints that kernels count with


SEVERAL = 4  # planes that a thread treats alike: ``most_planes``


class Divisor(ctypes.Structure):
    """``x // number`` of 31 bits as ``(2 * x * factor >> 32) >> shift``."""

    _fields_ = (("factor", ctypes.c_uint32), ("shift", ctypes.c_uint32))


def divisor(number: int) -> Divisor:
    shift = (number - 1).bit_length()
    return Divisor(-(-(1 << 31 + shift) // number), shift)


class Geometry(ctypes.Structure):
    _fields_ = (
        *(
            (n, ctypes.c_int * 3)
            for n in (
                "input", "kernel", "output", "stride", "padding", "dilation",
                "tap_step", "output_step",
            )
        ),
        ("by_stride", Divisor * 3),
    )  # fmt: skip


def work_on(planes: int, size: int) -> int:
    """The threads that planes of a size can keep busy."""
    return -(-planes // SEVERAL) * size


def geometry(
    input: Ints, kernel: Ints, output: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> Geometry:
    """The geometry of windows, with axes of length 1 in front where there are fewer than three."""
    lead = 3 - len(input)
    values = (input, kernel, output, stride, padding, dilation)
    if max(*map(max, values), math.prod(input), math.prod(output)) > LARGEST:
        raise RuntimeError(f"windows over sizes beyond {LARGEST} are not for the GPU: {values}")
    common = tuple(map(math.gcd, stride, dilation))
    steps = (tuple(s // c for s, c in zip(v, common)) for v in (stride, dilation))
    fills = (1, 1, 1, 1, 0, 1, 1, 1)
    return Geometry(
        *((ctypes.c_int * 3)(*(f,) * lead, *v) for v, f in zip((*values, *steps), fills)),
        (Divisor * 3)(*map(divisor, ((1,) * lead + tuple(stride)))),
    )
