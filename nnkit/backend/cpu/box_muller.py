"""Normals from uniforms, bit for bit as PyTorch's CPU kernels compute them.

With u1 in (0, 1] and u2 in [0, 1) the Box-Muller transform gives two normals::

    sqrt(-2 log u1) cos(2 pi u2)        sqrt(-2 log u1) sin(2 pi u2)

PyTorch's float32 kernel uses Cephes' polynomials for log, sin and cos with fused multiply-adds. A
fused multiply-add rounds once: here the product and the sum are made in float64, where the product
of two float32 is exact, and then rounded to float32. The result does not depend on the machine's
mathematical library, so the same seed gives the same bits everywhere.
"""

from __future__ import annotations

import math

import numpy as np
from numpy import add, bitwise_and, bitwise_xor, copyto, left_shift, multiply

_f4 = np.float32


def _single(*values: float) -> tuple[float, ...]:
    return tuple(float(_f4(v)) for v in values)


# Cephes logf: log(1 + x) = x - x^2/2 + x^3 P(x), and log 2 in two parts.
_LOG = _single(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1,
               1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
               3.3333331174e-1)  # fmt: skip
_LN2_LOW, _LN2_HIGH = _single(-2.12194440e-4, 0.693359375)
_SQRT_HALF = _f4(0.707106781186547524)
# Cephes sinf and cosf on [-pi/4, pi/4], and -pi/4 in three parts.
_SIN = _single(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _single(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_MINUS_QUARTER_PI = _single(-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
_FOUR_OVER_PI = _f4(1.27323954473516)
_TWO_PI = _f4(2 * np.pi)

PAIRS = 16384  # a block's work arrays stay in the second-level cache


class Workspace:
    """The scratch arrays for up to ``pairs`` pairs, shared by all blocks of one draw."""

    def __init__(self, pairs: int) -> None:
        self.double = np.empty((4, pairs))
        self.single = np.empty((2, pairs), _f4)
        self.word = np.empty((2, pairs), np.int32)
        self.flag = np.empty(pairs, np.bool_)

    def cut(self, pairs: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return (
            self.double[:, :pairs],
            self.single[:, :pairs],
            self.word[:, :pairs],
            self.flag[:pairs],
        )


def _round(x: np.ndarray, single: np.ndarray) -> None:
    """Round float64 ``x`` to float32 values, leaving them in both arrays."""
    copyto(single, x, "same_kind")
    copyto(x, single)


def _horner(y: np.ndarray, x: np.ndarray, coefficients: tuple, single: np.ndarray) -> None:
    """y = x P(x), a fused multiply-add for each coefficient, then a rounded product."""
    multiply(x, coefficients[0], y)
    for c in coefficients[1:]:
        add(y, c, y)
        _round(y, single)
        multiply(y, x, y)
    _round(y, single)


def _log(u: np.ndarray, double: np.ndarray, single: np.ndarray, word: np.ndarray, flag) -> None:
    """u = log(u) in place, for float32 u in (0, 1]."""
    x, y, z, exponent = double
    m, n = single
    i, j = word
    bits = u.view(np.int32)
    np.right_shift(bits, 23, i)
    bitwise_and(bits, 0x7FFFFF, j)
    np.bitwise_or(j, 0x3F000000, j)
    mantissa = j.view(_f4)  # in [1/2, 1), doubled below sqrt(1/2)
    np.less(mantissa, _SQRT_HALF, flag)
    np.subtract(i, flag, i)
    np.subtract(i, 126, i)
    copyto(exponent, i)
    copyto(i, flag)
    left_shift(i, 23, i)
    add(j, i, j)
    np.subtract(mantissa, _f4(1), m)
    copyto(x, m)
    multiply(m, m, n)
    copyto(z, n)
    _horner(y, x, _LOG, n)
    multiply(exponent, _LN2_LOW, x)
    _round(x, n)
    multiply(y, z, y)
    add(y, x, y)
    _round(y, n)
    multiply(z, -0.5, z)
    add(y, z, y)
    copyto(n, y, "same_kind")
    add(m, n, m)
    multiply(exponent, _LN2_HIGH, exponent)
    add(exponent, m, exponent)
    copyto(u, exponent, "same_kind")


def _sin_cos(angle: np.ndarray, double: np.ndarray, single: np.ndarray, word: np.ndarray):
    """sin and cos of float32 angles in [0, 2 pi], in the two arrays of ``single``."""
    x, y, z, octant = double
    n, w = single
    j, k = word
    multiply(angle, _FOUR_OVER_PI, n)
    copyto(j, n, "unsafe")
    add(j, 1, j)
    bitwise_and(j, -2, j)
    copyto(x, angle)
    copyto(octant, j)
    for part in _MINUS_QUARTER_PI:
        multiply(octant, part, y)
        add(x, y, x)
        _round(x, n)
    multiply(n, n, w)
    copyto(z, w)
    _horner(y, z, _SIN, w)
    multiply(y, x, y)
    add(y, x, y)
    copyto(n, y, "same_kind")
    _horner(y, z, _COS, w)
    multiply(y, z, y)
    multiply(z, -0.5, z)
    add(y, z, y)
    copyto(w, y, "same_kind")
    add(w, _f4(1), w)
    # In the second and fourth quarter sine and cosine change places: exchange by exclusive or.
    sine, cosine = n.view(np.int32), w.view(np.int32)
    left_shift(j, 30, k)
    np.right_shift(k, 31, k)
    change = angle.view(np.int32)
    bitwise_xor(sine, cosine, change)
    bitwise_and(change, k, change)
    bitwise_xor(sine, change, sine)
    bitwise_xor(cosine, change, cosine)
    # The sign bits: the sine's from octant 4 on, the cosine's in octants 2 to 5.
    bitwise_and(j, 4, k)
    left_shift(k, 29, k)
    bitwise_xor(sine, k, sine)
    add(j, 2, j)
    bitwise_and(j, 4, k)
    left_shift(k, 29, k)
    bitwise_xor(cosine, k, cosine)
    return n, w


def box_muller(out: np.ndarray, mean: float, std: float, space: Workspace) -> None:
    """Turn float32 uniforms in [0, 1) into normals, in place, in groups of 16.

    The first eight of a group are 1 - u1 and become the cosine halves, the other eight are u2 and
    become the sine halves. ``out.size`` is a multiple of 16, at most ``2 * PAIRS``.
    """
    pairs = out.size // 2
    double, single, word, flag = space.cut(pairs)
    groups = out.view("V32")  # eight float32 at once: a strided copy per eight, not per one
    u1, angle = np.empty(pairs, _f4), np.empty(pairs, _f4)
    copyto(u1.view("V32"), groups[0::2])
    copyto(angle.view("V32"), groups[1::2])
    np.subtract(_f4(1), u1, u1)
    _log(u1, double, single, word, flag)
    multiply(u1, _f4(-2), u1)
    radius = np.sqrt(u1, u1)
    multiply(angle, _TWO_PI, angle)
    sine, cosine = _sin_cos(angle, double, single, word)
    for half, normal in enumerate((cosine, sine)):
        multiply(normal, radius, normal)
        scale_single(normal, mean, std, double[0])
        copyto(groups[half::2], normal.view("V32"))


def scale_single(x: np.ndarray, mean: float, std: float, double: np.ndarray) -> None:
    """x = fma(x, std, mean) in place for float32 x, with mean and std rounded to float32."""
    if std != 1 or mean != 0:
        multiply(x, float(_f4(std)), double, dtype=np.float64)
        add(double, float(_f4(mean)), double)
        copyto(x, double, "same_kind")


def fma(x: np.ndarray, scale: float, shift: float) -> np.ndarray:
    """x * scale + shift for float64 x, rounded once (Dekker's product, Knuth's sum)."""
    if shift == 0:
        return x * scale
    if scale == 1 or not (math.isfinite(scale) and math.isfinite(shift)):
        return x * scale + shift
    if max(abs(scale), abs(shift)) > 2.0**990:  # whose halves would overflow
        return fma(x, scale * 2.0**-64, shift * 2.0**-64) * 2.0**64
    x_high = x * 134217729.0
    x_high -= x_high - x
    x_low = x - x_high
    scale_high = scale * 134217729.0
    scale_high -= scale_high - scale
    scale_low = scale - scale_high
    product = x * scale
    rest = x_high * scale_high - product
    rest += x_high * scale_low
    rest += x_low * scale_high
    rest += x_low * scale_low
    total = product + shift
    back = total - product
    rest += (product - (total - back)) + (shift - back)
    return total + rest
