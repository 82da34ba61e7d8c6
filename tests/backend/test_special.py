"""The special functions against mpmath, in units of the last place, and at their edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.backend.cpu import special

mpmath = pytest.importorskip("mpmath")
mp = mpmath.mp

FLOATS = (np.float32, np.float64)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def _gauss(x):
    return mp.exp(x * x)


# name: the same function of mpmath, the intervals it is sampled on, and the largest error allowed
# in units of the last place in float32 and float64.
REFERENCE = {
    "erf": (mpmath.erf, [(-6, 6), (-1e-3, 1e-3)], 1, 2),
    "erfc": (mpmath.erfc, [(-5, 5), (0, 26)], 4, 4),
    "erfcx": (lambda x: _gauss(x) * mpmath.erfc(x), [(-5, 9), (10, 60)], 5, 6),
    "erfinv": (mpmath.erfinv, [(-1, 1), (0.999, 1), (-1e-3, 1e-3)], 0.51, 3),
    "ndtr": (mpmath.ncdf, [(-37, 5), (-3, 3)], 1, 4),
    "ndtri": (lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), [(0.01, 0.99)], 1, 6),
    "log_ndtr": (
        lambda x: mpmath.log1p(-mpmath.ncdf(-x)) if x > 0 else mpmath.log(mpmath.ncdf(x)),
        [(-37, 37), (-5, 5)], 1, 5,
    ),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), [(-80, 80), (-2, 2)], 3, 3),
    "log_sigmoid": (lambda x: -mpmath.log1p(mpmath.exp(-x)), [(-80, 80), (-2, 2)], 3, 3),
    "reciprocal": (lambda x: 1 / x, [(-10, 10)], 1, 1),
    "sinc": (mpmath.sincpi, [(-0.9, 0.9), (5.1, 5.9)], 3, 3),
    "entr": (lambda x: -x * mpmath.log(x), [(0, 0.9), (1.1, 50)], 3, 3),
    "expm1": (mpmath.expm1, [(-5, 5), (-1e-3, 1e-3), (20, 80)], 3, 1),
    "log1p": (mpmath.log1p, [(-0.99, 5), (-1e-3, 1e-3), (1e3, 1e9)], 3, 1),
    "lgamma": (mpmath.loggamma, [(0, 12), (0.9, 2.1), (0, 1e-6), (20, 1e5)], 1, 6),
    "digamma": (mpmath.digamma, [(0, 12), (1.45, 1.47), (0, 1e-6), (20, 1e5)], 1, 4),
    "i0": (lambda x: mpmath.besseli(0, x), [(-20, 20), (50, 80)], 1, 5),
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), [(-20, 20), (50, 800)], 1, 5),
    "i1": (lambda x: mpmath.besseli(1, x), [(-20, 20), (50, 80)], 1, 5),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), [(-20, 20), (50, 800)], 1, 5),
}  # fmt: skip


def _worst(function, reference, x: np.ndarray) -> float:
    """The largest error in units of the last place of the true value."""
    result = function(x)
    assert result.dtype == x.dtype and result.shape == x.shape
    worst = 0.0
    with mpmath.workdps(40):
        for value, argument in zip(result.tolist(), x.tolist()):
            true = reference(mpmath.mpf(argument))
            unit = float(np.spacing(np.abs(x.dtype.type(float(true)))))
            worst = max(worst, float(abs(mpmath.mpf(value) - true)) / unit)
    return worst


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", REFERENCE)
def test_accuracy(name, dtype):
    reference, intervals, *limits = REFERENCE[name]
    random = np.random.RandomState(0)
    for low, high in intervals:
        x = random.uniform(low, high, 150).astype(dtype)
        assert _worst(getattr(special, name), reference, x) <= limits[dtype == np.float64]


def test_trigamma():
    """By torch's few terms of the asymptotic series, exact to 1e-9 away from the integers."""
    x = np.random.RandomState(1).uniform(-5, 30, 100)
    away = np.floor(x) + np.clip(x - np.floor(x), 0.2, 0.8)
    for dtype, limit in ((np.float32, 3e-6), (np.float64, 1e-9)):
        x = away.astype(dtype)
        expected = [float(mpmath.polygamma(1, float(v))) for v in x]
        np.testing.assert_allclose(special.polygamma(1, x), expected, limit)


@pytest.mark.parametrize("n", [0, 2, 5])
def test_polygamma(n):
    random = np.random.RandomState(n)
    for dtype, limit in ((np.float32, 1), (np.float64, 8)):
        x = random.uniform(0.05, 30, 100).astype(dtype)
        error = _worst(lambda x: special.polygamma(n, x), lambda x: mpmath.polygamma(n, x), x)
        assert error <= limit
    # On the left it has zeros, beside which only the absolute error is small.
    x = random.uniform(-5, 0, 50)
    np.testing.assert_allclose(
        special.polygamma(n, x), [float(mpmath.polygamma(n, v)) for v in x], 1e-12, 1e-12
    )


@pytest.mark.parametrize("name", ["lgamma", "digamma"])
def test_left_of_zero(name):
    """Reflection: right in relation to the terms that are added, also near the zeros."""
    x = np.random.RandomState(0).uniform(-20, 0, 100)
    reference = {
        "lgamma": lambda v: mpmath.log(abs(mpmath.gamma(v))), "digamma": mpmath.digamma,
    }[name]  # fmt: skip
    expected = [float(reference(mpmath.mpf(v))) for v in x]
    np.testing.assert_allclose(getattr(special, name)(x), expected, 1e-13, 1e-13)


def test_zeta():
    s, q = np.meshgrid([1.5, 2.0, 3.0, 10.5], [0.1, 1.0, 2.5, 40.0])
    with mpmath.workdps(40):
        expected = [float(mpmath.zeta(a, b)) for a, b in zip(s.ravel(), q.ravel())]
    np.testing.assert_allclose(special.zeta(s, q).ravel(), expected, 1e-14)
    np.testing.assert_allclose(special.zeta(3.0, np.array([-2.5])), float(mpmath.zeta(3, -2.5)))
    edges = special.zeta(np.array([1.0, 0.5, 2.0, 2.0, 2.5]), np.array([2.0, 2.0, 0.0, -3.0, -0.5]))
    np.testing.assert_array_equal(edges, [np.inf, np.nan, np.inf, np.inf, np.nan])


INF, NAN = np.inf, np.nan
EDGES = {
    "erf": {0.0: 0.0, INF: 1.0, -INF: -1.0, 30.0: 1.0},
    "erfc": {INF: 0.0, -INF: 2.0, 0.0: 1.0, 30.0: 0.0},
    "erfcx": {INF: 0.0, -INF: INF, 0.0: 1.0},
    "erfinv": {0.0: 0.0, 1.0: INF, -1.0: -INF, 1.5: NAN, -INF: NAN},
    "ndtr": {INF: 1.0, -INF: 0.0, 0.0: 0.5},
    "log_ndtr": {INF: 0.0, -INF: -INF},
    "log_sigmoid": {INF: 0.0, -INF: -INF, -1000.0: -1000.0},
    "sigmoid": {INF: 1.0, -INF: 0.0, 0.0: 0.5, -1000.0: 0.0},
    "frac": {1.75: 0.75, -1.75: -0.75, 3.0: 0.0},
    "sign": {0.0: 0.0, -2.5: -1.0, INF: 1.0, -INF: -1.0, NAN: 0.0},
    "sgn": {0.0: 0.0, -2.5: -1.0, NAN: 0.0},
    "sinc": {0.0: 1.0, 1.0: 0.0, INF: NAN, 0.5: 2 / np.pi},
    "entr": {0.0: 0.0, -1.0: -INF, INF: -INF, 1.0: 0.0},
    "expm1": {0.0: 0.0, INF: INF, -INF: -1.0, 200.0: np.expm1(200.0), 1e-30: 1e-30},
    "log1p": {0.0: 0.0, INF: INF, -1.0: -INF, -2.0: NAN, 1e-30: 1e-30},
    "lgamma": {0.0: INF, 1.0: 0.0, 2.0: 0.0, -3.0: INF, INF: INF, -INF: INF},
    "digamma": {0.0: -INF, -1.0: NAN, INF: INF, -INF: NAN},
    "i0": {0.0: 1.0, INF: NAN},
    "i0e": {0.0: 1.0, INF: 0.0},
    "i1": {0.0: 0.0},
    "i1e": {0.0: 0.0, INF: 0.0, -INF: 0.0},
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", EDGES)
def test_edges(name, dtype):
    edges = {NAN: NAN, **EDGES[name]}
    result = getattr(special, name)(np.array(list(edges), dtype))
    np.testing.assert_allclose(result, np.array(list(edges.values()), dtype), 1e-6, 1e-45)


def test_signed_zero():
    zero = np.array([-0.0])
    for name in ("erf", "erfinv", "expm1", "log1p", "i1"):
        assert np.signbit(getattr(special, name)(zero)).all(), name


TWO_OPERANDS = {"igamma", "igammac", "polygamma", "zeta"} | {
    name for name in special.__all__ if "_polynomial_" in name
}


@pytest.mark.parametrize("name", sorted(set(special.__all__) - TWO_OPERANDS))
def test_called_like_a_ufunc(name):
    """Any shape and layout; ``out`` may be the input, a strided array, or larger than a block."""
    function = getattr(special, name)
    x = np.random.RandomState(0).uniform(0.1, 0.9, (210, 100)).astype(np.float32)
    expected = function(x.copy())
    np.testing.assert_array_equal(function(np.asfortranarray(x)), expected)
    np.testing.assert_array_equal(function(x[::2, 1::3]), expected[::2, 1::3])
    np.testing.assert_array_equal(function(x[0, 0]), expected[0, 0])
    assert function(x[:0]).shape == (0, 100)
    strided = np.zeros((210, 200), np.float32)[:, ::2]
    assert function(x, out=strided) is strided
    np.testing.assert_array_equal(strided, expected)
    assert function(x, out=x) is x
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("upper", [False, True])
def test_incomplete_gamma(upper: bool) -> None:
    a = np.repeat([0.1, 0.5, 1.0, 3.0, 20.0, 300.0], 9)
    x = a * np.tile([1e-3, 0.1, 0.5, 0.9, 1.0, 1.1, 1.5, 2.0, 5.0], 6)
    bounds = [(s, mp.inf) if upper else (0, s) for s in x]
    true = [float(mpmath.gammainc(s, *ends, regularized=True)) for s, ends in zip(a, bounds)]
    found = (special.igammac if upper else special.igamma)(a, x)
    np.testing.assert_allclose(found, true, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("a", [1.1e4, 1e6, 1e8, 1e10])
def test_incomplete_gamma_of_large(a: float, upper: bool) -> None:
    deviations = np.array([-7.0, -3.0, -0.5, -1e-3, 0.0, 0.3, 1.0, 3.0, 7.0])
    x = a + deviations * math.sqrt(a)

    def density(t: Any) -> Any:
        return mpmath.exp((a - 1) * mpmath.log(t) - t - mpmath.loggamma(a))

    with mpmath.workdps(30):
        edges = [mpmath.mpf(a) + k * mpmath.sqrt(a) for k in (-40, -20, -10, 0, 10, 20, 40)]
        true = []
        for s in x:
            inside = [e for e in edges if (e > s if upper else e < s)]
            ends = [mpmath.mpf(s), *inside] if upper else [*inside, mpmath.mpf(s)]
            true.append(float(mpmath.quad(density, [max(e, 0) for e in ends])))
    name = "igammac" if upper else "igamma"
    compiled = getattr(nnkit, name)(nnkit.full((9,), a, dtype=nnkit.float64), nnkit.tensor(x))
    np.testing.assert_allclose(getattr(special, name)(np.full(9, a), x), true, rtol=1e-10)
    np.testing.assert_allclose(compiled.numpy(), true, rtol=1e-10)


def test_moduli_and_signs_of_complex64():
    """The nearest numbers to the moduli, and quotients of these."""
    random = np.random.RandomState(0)
    z = (random.standard_normal(1000) + 1j * random.standard_normal(1000)).astype(np.complex64)
    moduli = np.abs(z.astype(np.complex128)).astype(np.float32)
    np.testing.assert_array_equal(special.absolute(z), moduli)
    sign = special.sgn(z)
    np.testing.assert_array_equal(sign.real, z.real / moduli)
    np.testing.assert_array_equal(sign.imag, z.imag / moduli)
    for zero in (complex(0.0, -0.0), complex(-0.0, 0.0)):
        assert str(special.sgn(np.array([zero]))[0]) == "0j"
