"""The gamma function's logarithm and its derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nnkit.backend.cpu.special.approximation import pointwise, polynomial, table
from nnkit.backend.cpu.special.error import erfc

# lgamma(2 + t) / t in t, -1/2 <= t <= 1/2
_LGAMMA = table(
    "f8",
    2.7880013392491845e-7, -5.8125012505992611e-7, 9.1998980756713947e-7,
    -1.9741884532905585e-6, 4.3847319318293745e-6, -9.4563381206101225e-6,
    2.0505584372896931e-5, -4.4923717083746595e-5, 9.9457674400967638e-5,
    -0.00022315497868931945, 0.00050966951534843731, -0.0011927539009204019,
    0.0028905103310367721, -0.0073855510289379741, 0.020580808427780335,
    -0.06735230105319561, 0.32246703342411324, 0.42278433509846714,
)
# digamma(1 + f) / (f - root) in 2 f - 1, 0 <= f <= 1; the root in two parts
_DIGAMMA = table(
    "f8",
    -8.5055076601326102e-11, 2.4786953456068389e-10, -2.7580994814376998e-10,
    8.6575336728126126e-10, -3.7083753242807276e-9, 1.1039363482759935e-8,
    -3.1629111474084542e-8, 9.5006590343005033e-8, -2.863161166883193e-7,
    8.5913431761142102e-7, -2.5780939540457722e-6, 7.7411560492738052e-6,
    -2.3258242519113285e-5, 6.9950205063848487e-5, -0.00021074841138175561,
    0.0006368880282849916, -0.001935066664861307, 0.0059367952784364786,
    -0.018550615381735008, 0.060135621060193475, -0.2118137106407303, 0.95105587603183289,
)
_ROOT = (0.46163214496836236, -1.5522348162858677e-17)
# B(2 k), k = 1 .. 8 (Bernoulli's numbers)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_STIRLING = table("f8", *reversed([b / (2 * k * (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1)]))
_ASYMPTOTIC = table("f8", *reversed([b / (2 * k) for k, b in enumerate(_BERNOULLI, 1)]))


@pointwise(double=True)
def lgamma(x):
    """log |Gamma(x)|: near 2 a polynomial, shifted there by Gamma(x + 1) = x Gamma(x); from 8 on
    Stirling's series; on the left the reflection formula."""
    size = np.abs(x)
    value = np.empty_like(x)
    large = size >= 8
    a = size[large]
    series = polynomial(1 / (a * a), _STIRLING) / a
    value[large] = (a - 0.5) * (np.log(a) - 1) + (series + 0.5 * math.log(2 * math.pi) - 0.5)
    a = size[~large]
    n = np.rint(a)
    t = a - n
    # log(a) and log(a (a + 1)) keep their precision near the zero at 1: no quotient is formed.
    low = np.where(n < 2, a, 1) * np.where(n < 1, 1 + a, 1)
    high = np.ones_like(a)
    for k in range(2, 8):
        high *= np.where(n > k, t + k, 1)
    shift = np.log(np.where(n < 2, low, high))
    value[~large] = t * polynomial(t, _LGAMMA) + np.where(n < 2, -shift, shift)
    value[np.isinf(x)] = np.inf
    left = x < 0
    if left.any():
        a = size[left]
        value[left] = np.log(math.pi / (a * np.sin(math.pi * np.abs(a - np.rint(a))))) - value[left]
        value[left & (np.rint(x) == x)] = np.inf
    return value


@pointwise(double=True)
def digamma(x):
    """The derivative of lgamma: between 1 and 2 a polynomial, shifted there by
    digamma(x + 1) = digamma(x) + 1 / x; from 10 on the asymptotic series; on the left the
    reflection formula. Infinite at 0, NaN at the negative integers, as in torch."""
    a = np.where(x < 0, 1 - x, x)
    value = np.empty_like(x)
    large = a >= 10
    b = a[large]
    square = 1 / (b * b)
    value[large] = np.log(b) - 0.5 / b - square * polynomial(square, _ASYMPTOTIC)
    b = a[~large]
    n = np.floor(b)
    f = b - n
    near = (f - _ROOT[0] - _ROOT[1]) * polynomial(2 * f - 1, _DIGAMMA)
    for k in range(1, 9):
        near += np.where(n > k, 1 / (f + k), 0)
    value[~large] = near - np.where(n < 1, 1 / b, 0)
    left = x < 0
    if left.any():
        f = x[left] - np.rint(x[left])
        value[left] -= math.pi / np.tan(math.pi * f)
        value[left & (np.rint(x) == x)] = np.nan
    value[x == 0] = -np.copysign(np.inf, x[x == 0])
    return value


def _hurwitz(s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The sum of (q + k)^-s over k >= 0 for q > 0, s > 1, after Euler and Maclaurin."""
    value = np.zeros(np.broadcast_shapes(s.shape, q.shape))
    for k in range(12):
        value += (q + k) ** -s
    end = q + 12
    last = end**-s
    # As torch has it, where all terms are 0 and the factors of the rest are infinite.
    value = np.where((value == 0) & (s > 2.524e13), np.nan, value)
    value += last * end / (s - 1) + last / 2
    factor = last * s / end
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        value += np.where(last == 0, 0.0, factor * (bernoulli / math.factorial(2 * k)))
        factor = factor * ((s + 2 * k - 1) * (s + 2 * k) / (end * end))
    return np.where(np.isposinf(q), 0.0, value)

# The first two coefficients of Temme's expansion, in eta
_TEMME = (
    table(
        "f8",
        -2.1854485106799922e-6, 3.9192631785224378e-5, -0.00017875514403292181,
        0.0003527336860670194, 0.0011574074074074074, -0.014814814814814815, 0.083333333333333333,
        -0.33333333333333333,
    ),
    table(
        "f8",
        -4.0187757201646091e-7, 0.00020576131687242798, -0.00099022633744855967,
        0.0026455026455026455, -0.0034722222222222222, -0.0018518518518518519,
    ),
)  # fmt: skip


def _wide(dtype: np.dtype, *values: Any) -> list[np.ndarray]:
    """Arrays and numbers of a dtype in double precision, in one shape: a number is rounded to the
    dtype first, as an element of an array is."""
    return list(np.broadcast_arrays(*(np.asarray(v, dtype).astype(np.float64) for v in values)))


def zeta(s, q, out=None):
    """Hurwitz's zeta function, the sum of (q + k)^-s over k >= 0. Infinite where s is 1 or q is 0
    or a negative integer; NaN for s < 1 and, unless s is an integer, for other negative q."""
    dtype = np.result_type(s, q)
    s, q = _wide(dtype, s, q)
    value = _hurwitz(s, np.where(q > 0, q, 1))
    left = q < 0
    if left.any():
        t, r = s[left], q[left]
        f = r - np.floor(r)
        # The terms with q + k < 0 are those of another such sum, seen from 1 - f upwards.
        mirrored = _hurwitz(t, 1 - f) - _hurwitz(t, 1 - r)
        value[left] = _hurwitz(t, f) + np.where(t % 2 == 0, mirrored, -mirrored)
        value[left & (np.rint(s) != s)] = np.nan
    value[(q <= 0) & (np.rint(q) == q)] = np.inf
    value[np.isnan(q) | np.isposinf(q) | (s < 1)] = np.nan
    value[s == 1] = np.inf
    if out is None:
        return value.astype(dtype)
    out[...] = value
    return out


def _trigamma(x: np.ndarray) -> np.ndarray:
    """The derivative of digamma. The reflection pi^2 / sin^2(pi x) with the rounded product and
    the few terms of the asymptotic series are torch's, in the precision of x: large, but not
    infinite, at the negative integers."""
    left = x < 0.5
    sine = np.sin(np.where(left, x, 0.5) * x.dtype.type(math.pi))
    value = np.where(left, -(x.dtype.type(math.pi) ** 2) / (sine * sine), x.dtype.type(0))
    x = np.where(left, 1 - x, x)
    for _ in range(6):
        value += 1 / (x * x)
        x = x + 1
    square = 1 / (x * x)
    series = 1 / 6 - square * (1 / 30 - square * (1 / 42))
    value += (1 + 1 / (2 * x) + square * series) / x
    return np.where(left, -value, value)


def polygamma(n, x, out=None):
    """The n-th derivative of digamma, (-1)^(n + 1) n! zeta(n + 1, x)."""
    x = np.asarray(x)
    if n == 0:
        value = digamma(x)
    elif n == 1:
        value = _trigamma(x if x.dtype.itemsize > 2 else x.astype(np.float32))
    else:
        factor = math.gamma(n + 1) if n < 171 else math.inf
        value = (-1) ** (n + 1) * factor * zeta(float(n + 1), x.astype(np.float64))
        # As in torch
        value = np.where(np.isposinf(x), np.nan, value)
    if out is None:
        return value.astype(x.dtype)
    out[...] = value
    return out


def _lower(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The integral up to x over x^a exp(-x), a power series."""
    term = 1 / a
    total, n = term.copy(), a.copy()
    for _ in range(10000):
        n += 1
        term = term * x / n
        total += term
        if not (term > 1e-17 * total).any():
            break
    return total


def _upper(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The integral from x on over x^a exp(-x), a continued fraction (Cephes)."""
    y, z, c = 1 - a, x + 2 - a, 0.0
    p2, q2, p1, q1 = np.ones_like(x), x, x + 1, z * x
    last = value = p1 / q1
    done = np.zeros(value.shape, bool)
    for _ in range(2000):
        y, z, c = y + 1, z + 2, c + 1
        p, q = p1 * z - p2 * y * c, q1 * z - q2 * y * c
        before, last, value = last, value, np.where(done | (q == 0), value, p / q)
        scale = np.where(np.abs(p) > 2.0**52, 2.0**-52, 1)
        p2, p1, q2, q1 = p1 * scale, p * scale, q1 * scale, q * scale
        done |= (value == last) | (value == before)  # it may swing by its last bit
        if done.all():
            break
    return value


def _of_large(a: np.ndarray, x: np.ndarray, upper: bool) -> np.ndarray:
    """The share for large a near x (Temme's uniform expansion, DLMF 8.12), where the series take
    too many terms and their factor is a difference of large numbers."""
    m = (x - a) / a
    eta = np.sign(m) * np.sqrt(2 * np.maximum(m - np.log1p(m), 0))
    near = np.abs(eta) < 0.05
    wide, m = np.where(near, 1, eta), np.where(near, 1, m)
    first = np.where(near, polynomial(eta, _TEMME[0]), 1 / m - 1 / wide)
    second = 1 / wide**3 - (1 / m**2 + 1 / m + 1 / 12) / m
    second = np.where(near, polynomial(eta, _TEMME[1]), second)
    rest = np.exp(-a * eta * eta / 2) / np.sqrt(2 * math.pi * a) * (first + second / a)
    sign = 1 if upper else -1
    return erfc(sign * eta * np.sqrt(a / 2)) / 2 + sign * rest


def _share(a: np.ndarray, x: np.ndarray, upper: bool, out: np.ndarray | None) -> np.ndarray:
    """The share of Gamma(a) that its integral has up to x, or from there on."""
    dtype = np.result_type(a, x)
    a, x = _wide(dtype, a, x)
    value = np.full(a.shape, np.nan)
    inside = (x > 0) & (a > 0) & np.isfinite(a) & np.isfinite(x)
    large = np.asarray(inside & (a > 1e4))  # of one number too
    large[large] = np.abs(x[large] - a[large]) < 0.3 * a[large]
    if large.any():
        value[large] = _of_large(a[large], x[large], upper)
    inside &= ~large
    above = (x > 1) & (x > a)
    for part, share, is_upper in ((inside & above, _upper, True), (inside & ~above, _lower, False)):
        if part.any():
            b, y = a[part], x[part]
            found = share(b, y) * np.exp(b * np.log(y) - y - lgamma(b))
            value[part] = found if upper == is_upper else 1 - found
    whole = ((a == 0) & (x > 0)) | (np.isposinf(x) & (a >= 0) & np.isfinite(a))
    nothing = ((x == 0) & ~(a <= 0)) | (np.isposinf(a) & (x >= 0) & np.isfinite(x))
    value[whole] = 1 - upper
    value[nothing] = upper
    if out is None:
        return value.astype(dtype)
    out[...] = value
    return out


def igamma(a, x, out=None):
    """The lower regularised incomplete gamma function."""
    return _share(a, x, False, out)


def igammac(a, x, out=None):
    """The upper regularised incomplete gamma function, 1 - igamma."""
    return _share(a, x, True, out)
