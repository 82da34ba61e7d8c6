"""The classical orthogonal polynomials, by their recurrences in the degree.

The degree is cut to an integer. A negative one, or what is no number, gives 0. Chebyshev's
polynomials of a high degree between -1 and 1 are what defines them, cosines and sines of the angle.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

_BEYOND_INTEGERS = 4e18


def _by_recurrence(
    x: np.ndarray,
    degree: np.ndarray,
    first: np.ndarray,
    following: Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """From the polynomials 1 and ``first``; ``following(k, x, p, q)`` is that of degree k + 1, from
    those of degree k - 1 and k."""
    value = np.where(degree < 0, 0, np.where(degree == 0, 1, first)).astype(x.dtype)
    place = np.flatnonzero(degree > 1)
    x, degree, q = x[place], degree[place], first[place]
    p, k = np.ones_like(x), 1
    while place.size:
        p, q = q, following(k, x, p, q).astype(x.dtype, copy=False)
        k += 1
        done = (degree == k) | np.isnan(q)
        if done.any():
            value[place[done]] = q[done]
            place, x, degree, p, q = (a[~done] for a in (place, x, degree, p, q))
    return value


def _polynomial(kernel: Callable) -> Callable:
    """A function like a ufunc of two arrays from ``kernel(x, degree)`` of flat ones."""

    @functools.wraps(kernel)
    def function(x, n, out=None):
        dtype = np.result_type(x, n)
        wide = np.result_type(dtype, np.float32)
        x, n = np.broadcast_arrays(np.asarray(x, wide), n)
        exact = n.astype(np.float64)
        known = (exact > -1) & (exact < _BEYOND_INTEGERS)
        degree = np.where(known, exact, -1).astype(np.int64)
        value = kernel(x.ravel(), degree.ravel()).reshape(x.shape).astype(dtype, copy=False)
        if out is None:
            return value
        out[...] = value
        return out

    return function


def _chebyshev(
    x: np.ndarray, degree: np.ndarray, first: np.ndarray, highest: int, high: Callable
) -> np.ndarray:
    """``high(angle, degree)`` from the degree ``highest`` on, and where x is 1 or -1."""
    inside = (degree > highest) & (np.abs(x) < 1)
    value = _by_recurrence(
        x, np.where(inside, 0, degree), first, lambda k, x, p, q: (x + x) * q - p
    )
    value[inside] = high(np.arccos(x[inside]), degree[inside])
    return value


@_polynomial
def chebyshev_polynomial_t(x, degree):
    """T_n(x) = cos(n arccos(x))."""
    return _chebyshev(x, degree, x, 6, lambda a, n: np.cos(n * a))


@_polynomial
def chebyshev_polynomial_u(x, degree):
    """U_n(x) = sin((n + 1) a) / sin(a), a = arccos(x)."""
    return _chebyshev(x, degree, x + x, 8, lambda a, n: np.sin((n + 1) * a) / np.sin(a))


@_polynomial
def chebyshev_polynomial_v(x, degree):
    """V_n(x) = cos((n + 1/2) a) / cos(a / 2), a = arccos(x)."""
    first = x + x - x.dtype.type(1)
    return _chebyshev(x, degree, first, 8, lambda a, n: np.cos((n + 0.5) * a) / np.cos(a / 2))


@_polynomial
def chebyshev_polynomial_w(x, degree):
    """W_n(x) = sin((n + 1/2) a) / sin(a / 2), a = arccos(x)."""
    first = x + x + x.dtype.type(1)
    return _chebyshev(x, degree, first, 8, lambda a, n: np.sin((n + 0.5) * a) / np.sin(a / 2))


def _hermite(x: np.ndarray, degree: np.ndarray, scale: int) -> np.ndarray:
    """Beyond the degree at which the numbers overflow it is NaN, as in torch."""
    beyond = degree > (128 if x.dtype == np.float32 else 512)
    value = _by_recurrence(
        x, np.where(beyond, 0, degree), scale * x, lambda k, x, p, q: scale * (x * q - k * p)
    )
    value[beyond] = np.nan
    return value


@_polynomial
def hermite_polynomial_h(x, degree):
    """The physicists' polynomial, H_{n+1}(x) = 2 x H_n(x) - 2 n H_{n-1}(x)."""
    return _hermite(x, degree, 2)


@_polynomial
def hermite_polynomial_he(x, degree):
    """The probabilists' polynomial, He_{n+1}(x) = x He_n(x) - n He_{n-1}(x)."""
    return _hermite(x, degree, 1)


@_polynomial
def laguerre_polynomial_l(x, degree):
    """(n + 1) L_{n+1}(x) = (2 n + 1 - x) L_n(x) - n L_{n-1}(x)."""
    value = _by_recurrence(
        x, degree, 1 - x, lambda k, x, p, q: ((2 * k + (1 - x)) * q - k * p) / (k + 1)
    )
    return np.where((x == 0) & (degree >= 0), 1, value).astype(x.dtype)


@_polynomial
def legendre_polynomial_p(x, degree):
    """(n + 1) P_{n+1}(x) = (2 n + 1) x P_n(x) - n P_{n-1}(x)."""
    return _by_recurrence(
        x, degree, x, lambda k, x, p, q: ((2 * k + 1) * x * q - k * p) / (k + 1)
    )
