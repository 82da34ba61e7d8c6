"""Special functions of single numbers, by the shortest ways that are exact to 1e-12."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

INF, NAN = math.inf, math.nan
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def digamma(x: float) -> float:
    if x == 0:
        return -math.copysign(INF, x)
    if x != x or x == -INF or (x < 0 and x == math.floor(x)):
        return NAN
    if x == INF:
        return INF
    if x < 0:
        return digamma(1 - x) - math.pi / math.tan(math.pi * (x - round(x)))
    low = 0.0
    while x < 12:
        low -= 1 / x
        x += 1
    tail = sum(b / (2 * k) / x ** (2 * k) for k, b in enumerate(BERNOULLI, 1))
    return low + math.log(x) - 0.5 / x - tail


def _hurwitz(s: float, q: float) -> float:
    """The sum of (q + k)^-s over k >= 0 for q > 0, s > 1, after Euler and Maclaurin."""
    if q == INF:
        return 0.0
    try:
        value = math.fsum((q + k) ** -s for k in range(12))
    except OverflowError:
        return INF
    end = q + 12
    last = end**-s
    value += last * end / (s - 1) + last / 2
    factor = last * s / end
    for k, bernoulli in enumerate(BERNOULLI, 1):
        value += factor * bernoulli / math.factorial(2 * k)
        factor *= (s + 2 * k - 1) * (s + 2 * k) / (end * end)
    return value


def zeta(s: float, q: float) -> float:
    if s == 1:
        return INF
    if s != s or q != q or s < 1:
        return NAN
    if q > 0:
        return _hurwitz(s, q)
    if q == math.floor(q):
        return INF
    if s != math.floor(s):
        return NAN
    f = q - math.floor(q)
    mirrored = _hurwitz(s, 1 - f) - _hurwitz(s, 1 - q)
    return _hurwitz(s, f) + (mirrored if s % 2 == 0 else -mirrored)


def polygamma_at(x: float, n: int) -> float:
    if n == 0:
        return digamma(x)
    if x == (-INF if n == 1 else INF):
        return NAN
    return (-1) ** (n + 1) * math.gamma(n + 1) * zeta(float(n + 1), x)


def _bessel(x: float, order: int) -> float:
    """exp(-|x|) I(x): the power series, beyond 30 the asymptotic one."""
    a = abs(x)
    if a == INF:
        return 0.0
    term = 1.0
    if a <= 30:
        total = term = (a / 2) ** order
        for k in itertools.count(1):
            term *= a * a / 4 / (k * (k + order))
            total += term
            if term <= 1e-17 * total:
                break
        total *= math.exp(-a)
    else:
        total = 1.0
        for k in range(1, 30):
            following = -term * (4 * order - (2 * k - 1) ** 2) / (8 * k * a)
            if abs(following) > abs(term):
                break
            term = following
            total += term
        total /= math.sqrt(2 * math.pi * a)
    return math.copysign(total, x) if order else total


def i0e(x: float) -> float:
    return x if x != x else _bessel(x, 0)


def i1e(x: float) -> float:
    return x if x != x else _bessel(x, 1)


def _grown(scaled: float, x: float) -> float:
    """Without the factor exp(-|x|); in two halves, since it overflows before the result does."""
    if abs(x) == INF:
        return NAN
    try:
        half = math.exp(abs(x) / 2)
    except OverflowError:
        return math.copysign(INF, scaled)
    return scaled * half * half


def i0(x: float) -> float:
    return _grown(i0e(x), x)


def i1(x: float) -> float:
    return _grown(i1e(x), x)


def erfcx(x: float) -> float:
    """exp(x^2) erfc(x); beyond 5 a continued fraction."""
    if x < 5:
        try:
            return math.exp(x * x) * math.erfc(x)
        except OverflowError:
            return INF
    fraction = x
    for k in range(60, 0, -1):
        fraction = x + k / 2 / fraction
    return 1 / (fraction * math.sqrt(math.pi))


def _root(function: Callable, slope: Callable, x: float) -> float:
    """Newton's method."""
    for _ in range(60):
        step = function(x) / slope(x)
        x -= step
        if abs(step) <= 1e-16 * abs(x):
            break
    return x


def ndtri(p: float) -> float:
    if not 0 < p < 1:
        return math.copysign(INF, p - 0.5) if p in (0, 1) else NAN
    if p > 0.5:
        return -ndtri(1 - p)
    # log ndtr(x) is concave, so from the left of the root Newton's method comes to it.
    start = -math.sqrt(-2 * math.log(p)) if p < 0.1 else 0.0

    def excess(x: float) -> float:
        return log_ndtr(x) - math.log(p)

    def slope(x: float) -> float:
        return math.sqrt(2 / math.pi) / erfcx(-x / math.sqrt(2))

    return _root(excess, slope, start)


def erfinv(x: float) -> float:
    if not abs(x) < 1:
        return math.copysign(INF, x) if abs(x) == 1 else NAN
    if abs(x) > 0.5:
        tail = (1 - abs(x)) / 2
        return math.copysign(ndtri(tail) / math.sqrt(2), x)
    return _root(lambda y: math.erf(y) - x, lambda y: 2 / math.sqrt(math.pi) * math.exp(-y * y), x)


def log_ndtr(x: float) -> float:
    if x > -1:
        return math.log1p(-math.erfc(x / math.sqrt(2)) / 2)
    return math.log(erfcx(-x / math.sqrt(2)) / 2) - x * x / 2


def _share(a: float, x: float, upper: bool) -> float:
    """The share of Gamma(a) that its integral has up to x, or from there on."""
    if x != x or a != a or a < 0 or x < 0:
        return NAN
    if (a == 0 and x > 0) or (x == INF and a < INF):
        return 1.0 - upper
    if (x == 0 and a > 0) or (a == INF and x < INF):
        return float(upper)
    if x == 0 or a == INF:
        return NAN
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x > 1 and x > a:  # Legendre's continued fraction, after Lentz
        b = x + 1 - a
        c, d = 1e300, 1 / b
        found = d
        for n in range(1, 5000):
            b += 2
            d = 1 / (n * (a - n) * d + b)
            c = b + n * (a - n) / c
            found *= c * d
            if abs(c * d - 1) < 1e-16:
                break
        return scale * found if upper else 1 - scale * found
    term = total = 1 / a
    for n in itertools.count(1):
        term *= x / (a + n)
        total += term
        if term <= 1e-17 * total:
            break
    return 1 - scale * total if upper else scale * total


def _degree(n: float) -> int:
    return int(n) if -1 < n < 4e18 else -1


def _polynomial(first: Callable, following: Callable, high: Callable | None = None) -> Callable:
    """The classical polynomials by their recurrences; ``high`` gives those of a high degree."""

    def value(x: float, n: float) -> float:
        degree = _degree(n)
        if degree <= 0:
            return float(degree == 0)
        if high is not None:
            found = high(x, degree)
            if found is not None:
                return found
        p, q = 1.0, first(x)
        for k in range(1, degree):
            p, q = q, following(k, x, p, q)
            if q != q:
                break
        return q

    return value


def _by_angle(highest: int, function: Callable) -> Callable:
    def high(x: float, n: int) -> float | None:
        return function(math.acos(x), n) if n > highest and abs(x) < 1 else None

    return high


def _chebyshev(k: int, x: float, p: float, q: float) -> float:
    return 2 * x * q - p


FUNCTIONS: dict[str, Callable] = {
    "digamma": digamma, "zeta": zeta, "polygamma_at": polygamma_at,
    "i0": i0, "i0e": i0e, "i1": i1, "i1e": i1e,
    "erfcx": erfcx, "erfinv": erfinv, "ndtri": ndtri,
    "igamma": lambda a, x: _share(a, x, False), "igammac": lambda a, x: _share(a, x, True),
    "chebyshev_polynomial_t": _polynomial(
        lambda x: x, _chebyshev, _by_angle(6, lambda a, n: math.cos(n * a))
    ),
    "chebyshev_polynomial_u": _polynomial(
        lambda x: 2 * x, _chebyshev,
        _by_angle(8, lambda a, n: math.sin((n + 1) * a) / math.sin(a)),
    ),
    "chebyshev_polynomial_v": _polynomial(
        lambda x: 2 * x - 1, _chebyshev,
        _by_angle(8, lambda a, n: math.cos((n + 0.5) * a) / math.cos(a / 2)),
    ),
    "chebyshev_polynomial_w": _polynomial(
        lambda x: 2 * x + 1, _chebyshev,
        _by_angle(8, lambda a, n: math.sin((n + 0.5) * a) / math.sin(a / 2)),
    ),
    "hermite_polynomial_h": _polynomial(
        lambda x: 2 * x, lambda k, x, p, q: 2 * (x * q - k * p)
    ),
    "hermite_polynomial_he": _polynomial(lambda x: x, lambda k, x, p, q: x * q - k * p),
    "laguerre_polynomial_l": _polynomial(
        lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * q - k * p) / (k + 1)
    ),
    "legendre_polynomial_p": _polynomial(
        lambda x: x, lambda k, x, p, q: ((2 * k + 1) * x * q - k * p) / (k + 1)
    ),
}  # fmt: skip
