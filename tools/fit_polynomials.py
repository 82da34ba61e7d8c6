"""Computes the coefficients of `nnkit/backend/cpu/native/math_*.h`.

``python -m tools.fit_polynomials`` prints the polynomials and quotients that interpolate each
function at Chebyshev nodes, highest power first, with the largest error as a power of two. The
nodes of a tail crowd at its low end, where the function's error counts most. Needs mpmath.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
from mpmath import mp, mpf

Number = Any  # mpmath's number is no type for a type checker
Function = Callable[[Number], Number]


def nodes(low: Number, high: Number, count: int, crowding: float = 1) -> list[Number]:
    """Chebyshev nodes; with ``crowding`` above 1 they are drawn to the low end."""
    unit = [(mpmath.cospi(mpf(2 * k + 1) / (2 * count)) + 1) / 2 for k in range(count)]
    return [low + (high - low) * u ** mpf(crowding) for u in unit]


def interpolate(
    function: Function, points: list[Number], denominator: int = 0
) -> list[list[Number]]:
    """The polynomial through the points, or P / Q with Q(0) = 1 of degree ``denominator``."""
    degree = len(points) - 1 - denominator
    rows, values = [], [function(x) for x in points]
    for x, value in zip(points, values):
        powers = [x**k for k in range(degree + 1)]
        rows.append(powers + [-value * x**k for k in range(1, denominator + 1)])
    solution = list(mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix(values)))
    below = [mpf(1), *solution[degree + 1 :]][::-1]
    return [solution[: degree + 1][::-1], below]


def fit(
    name: str,
    function: Function,
    low: Number,
    high: Number,
    degree: int,
    digits: int,
    denominator: int = 0,
    crowding: float = 1,
    weight: Function = lambda x: mpf(1),
) -> None:
    """Print the coefficients; ``weight(x)`` is the share of the result that the fit makes up."""
    points = nodes(mpf(low), mpf(high), degree + denominator + 1, crowding)
    above, below = interpolate(function, points, denominator)
    samples = nodes(mpf(low), mpf(high), 500, crowding)
    worst = max(
        abs(mpmath.polyval(above, x) / mpmath.polyval(below, x) - function(x)) * weight(x)
        for x in samples
    )
    print(f"{name}: error 2^{mpmath.nstr(mpmath.log(worst, 2), 4)}")
    for row in (above, below) if denominator else (above,):
        print("    " + ", ".join(str(mpmath.nstr(c, digits)) for c in row))


def main() -> None:
    mp.dps = 60
    single, wide, double = 10, 13, 17  # wide: in double precision, for results of float
    half = mpmath.log(2) / 2 * mpf("1.0005")
    for digits, degree in ((single, 5), (double, 9)):
        fit("(exp(r) - 1 - r) / r^2", lambda r: (mpmath.expm1(r) - r) / r**2, -half, half, degree,
            digits, weight=lambda r: r**2)  # fmt: skip
    fit("(exp(r) - 1) / r", lambda r: mpmath.expm1(r) / r if r else mpf(1), -half, half, 6, wide)
    fit("(2^r - 1) / r", lambda r: mpmath.expm1(r * mpmath.log(2)) / r, mpf("-0.5001"),
        mpf("0.5001"), 5, single, weight=abs)  # fmt: skip

    def root(function: Function) -> Function:
        return lambda z: function(mpmath.sqrt(z))

    high = mpmath.sqrt(2) - 1  # log(1 + f) is wanted for f up to here, and for all shares
    near = (high / (2 + high)) ** 2 * mpf("1.001")
    for end, degree, digits in ((near, 6, double), (near, 3, wide), (mpf(1) / 9, 5, wide)):
        fit("(2 atanh(s) - 2 s) / s^3 in s^2", root(lambda s: 2 * (mpmath.atanh(s) - s) / s**3), 0,
            end, degree, digits, weight=lambda z: z / 2)  # fmt: skip
    fit("(2 atanh(s) - 2 s - 2 / 3 s^3) / s^5 in s^2",
        root(lambda s: 2 * (mpmath.atanh(s) - s - s**3 / 3) / s**5), mpf("1e-12"), near, 7, double,
        weight=lambda z: z * z / 2)  # fmt: skip
    sinh = root(lambda x: (mpmath.sinh(x) - x) / x**3)
    fit("(sinh(x) - x) / x^3 in x^2", sinh, mpf("1e-12"), mpf("1.001"), 6, double,
        weight=lambda z: z)  # fmt: skip
    tanh = root(lambda x: (mpmath.tanh(x) - x) / x**3)
    fit("(tanh(x) - x) / x^3 in x^2", tanh, 0, mpf("0.625") ** 2, 2, double, 3,
        weight=lambda z: z)  # fmt: skip

    quarter = (mpmath.pi / 4 * mpf("1.0005")) ** 2
    fit("(sin(r) - r) / r^3 in r^2", root(lambda r: (mpmath.sin(r) - r) / r**3), 0, quarter, 3,
        single, weight=lambda z: z)  # fmt: skip
    fit("(cos(r) - 1 + r^2 / 2) / r^4 in r^2",
        root(lambda r: (mpmath.cos(r) - 1 + r**2 / 2) / r**4), 0, quarter, 2, single,
        weight=lambda z: z**2)  # fmt: skip

    tiny = mpf("1e-12")
    eighth = (mpmath.sqrt(2) - 1) ** 2 * mpf("1.001")  # of pi
    for end, degree, digits in ((mpf(1), 9, single), (eighth, 11, double)):
        fit("(atan(t) - t) / t^3 in t^2", root(lambda t: (mpmath.atan(t) - t) / t**3), tiny, end,
            degree, digits, weight=lambda z: z)  # fmt: skip
    for degree, digits in ((5, single), (13, double)):
        fit("(asin(x) - x) / x^3 in x^2", root(lambda x: (mpmath.asin(x) - x) / x**3), tiny,
            mpf("0.25") * mpf("1.001"), degree, digits, weight=lambda z: z)  # fmt: skip

    erf = root(lambda x: mpmath.erf(x) / x)
    fit("erf(x) / x in x^2", erf, 0, mpf("0.9") ** 2, 5, single)
    fit("erf(x) / x in x^2", erf, 0, 1, 11, double)
    fit("log2(erfc(x))", lambda x: mpmath.log(mpmath.erfc(x), 2), mpf("0.9"), 4, 7, single,
        crowding=1.5, weight=mpmath.erfc)  # fmt: skip

    def scaled(x: Number) -> Number:
        return mpmath.exp(x * x) * mpmath.erfc(x)

    fit("exp(x^2) erfc(x)", scaled, 0, mpf("10.1"), 5, single, 6, 2, lambda x: 1 / scaled(x))
    fit("exp(x^2) erfc(x)", scaled, 1, mpf("5.95"), 6, double, 7, 3, lambda x: mpmath.exp(-x * x))


if __name__ == "__main__":
    main()
