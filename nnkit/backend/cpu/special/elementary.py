"""Short compositions of NumPy's own functions."""

from __future__ import annotations

import math

import numpy as np

from nnkit.backend.cpu.special.approximation import pointwise


def reciprocal(x, out=None):
    """1 / x, which is infinite at a complex 0."""
    return np.true_divide(1, x, out=out) if x.dtype.kind == "c" else np.reciprocal(x, out=out)


def absolute(x, out=None):
    """|x|, of complex numbers rounded once: their squares are added in double precision."""
    if getattr(x, "dtype", None) != np.complex64:
        return np.absolute(x, out=out)
    size = np.absolute(x, signature="D->d")
    return np.positive(size, out=out, dtype=np.float32, casting="same_kind")


def sign(x, out=None):
    """-1, 0 or 1; 0 at NaN, as in torch."""
    if x.dtype.kind == "b":
        return np.logical_or(x, x, out=out)  # NumPy subtracts no bools
    return np.subtract(np.greater(x, 0), np.less(x, 0), out=out, dtype=x.dtype)


def sgn(x, out=None):
    """sign(x); for complex numbers x / |x|, and 0 at 0."""
    if x.dtype.kind != "c":
        return sign(x, out=out)
    size = absolute(x)
    value = np.empty_like(x) if out is None else out
    np.divide(x.real, size, out=value.real)
    np.divide(x.imag, size, out=value.imag)
    np.copyto(value, 0, where=size == 0)
    return value


def log_sigmoid(x, out=None):
    """log(1 / (1 + exp(-x))), without overflow."""
    return np.subtract(np.minimum(x, 0), log1p(np.exp(-np.abs(x))), out=out)


def sigmoid(x, out=None):
    """1 / (1 + exp(-x))."""
    value = np.negative(x, out=out)
    value = np.exp(value, out=out)
    value = np.add(value, 1, out=out)
    return np.reciprocal(value, out=out)


def frac(x, out=None):
    """x - trunc(x), with the sign of x."""
    return np.subtract(x, np.trunc(x), out=out)


@pointwise
def exponent(x):
    """The power of two next above |x|, as `frexp` has it; 0 where there is none."""
    return np.where(np.isfinite(x), np.frexp(x)[1], 0)


@pointwise
def sinc(x):
    """sin(pi x) / (pi x), 1 at 0, NaN at infinity; the angle is reduced before it is rounded."""
    whole = np.rint(x)
    value = np.sin((x - whole) * math.pi)
    np.negative(value, out=value, where=np.fmod(whole, 2) != 0)
    np.divide(value, x * math.pi, out=value, where=x != 0)
    value[x == 0] = 1
    return value


@pointwise
def entr(x):
    """-x log(x); 0 at 0, -inf below."""
    value = np.full_like(x, -np.inf)
    value[x == 0] = 0
    inside = ~(x <= 0)
    value[inside] = -x[inside] * np.log(x[inside])
    return value


@pointwise
def log1p(x):
    """log(1 + x) without cancellation near 0, after W. Kahan: the rounding error of 1 + x is
    undone by the factor x / ((1 + x) - 1). NumPy's own is the C library's, 15 times slower in
    float32."""
    if x.dtype.kind == "c":
        # |1 + x|**2 - 1, which near 0 is exact where |1 + x| is not.
        excess = x.real * (2 + x.real) + x.imag * x.imag
        size = np.abs(1 + x)
        value = np.empty_like(x)
        value.real = np.where(np.abs(x) < 0.5, 0.5 * np.log1p(excess), np.log(size))
        value.imag = np.arctan2(x.imag, 1 + x.real)
        return value
    if x.dtype != np.float32:
        return np.log1p(x)
    shifted = x + 1
    value = np.log(shifted)
    shifted -= 1
    regular = (shifted != 0) & np.isfinite(x)
    zero = shifted == 0
    np.divide(x, shifted, out=shifted, where=regular)
    np.multiply(value, shifted, out=value, where=regular)
    np.copyto(value, x, where=zero)
    return value


@pointwise
def expm1(x):
    """exp(x) - 1 without cancellation near 0, after W. Kahan: (u - 1) x / log(u) with u = exp(x),
    since the rounding error of u cancels in the quotient."""
    if x.dtype != np.float32:
        return np.expm1(x)
    power = np.exp(x)
    value = power - 1
    regular = (value != 0) & (value != -1) & np.isfinite(value)
    np.log(power, out=power)
    np.divide(x, power, out=power, where=regular)
    np.multiply(value, power, out=value, where=regular)
    np.copyto(value, x, where=value == 0)
    return value
