"""Rows of special functions: Bessel's, the normal distribution's, incomplete gamma functions."""

from __future__ import annotations

import numpy as np

from tests.harness.elementwise import unary
from tests.harness.row import BOOL, FLOATS, INTS, SPECIALS, Maker, OpRow, Raises, Sample

REAL = FLOATS + INTS + BOOL
DOUBLE = ("float32", "float64", *INTS, *BOOL)
POSITIVE = (0.2, 3.0)


def with_number(make: Maker) -> list[Sample]:
    return [Sample(make(2, 3), make(2, 3)), Sample(make(2, 3), 1.5), Sample(1.5, make(2, 3))]


def _function(name: str, dtypes: tuple[str, ...] = REAL, **options) -> OpRow:
    return OpRow(
        f"special.{name}",
        lambda make: [Sample(make(2, 3)), Sample(make())],
        dtypes=dtypes,
        elementwise=True,
        out=True,
        **options,
    )


WITHOUT_DERIVATIVE = (
    "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 modified_bessel_i0 modified_bessel_i1"
    " modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 scaled_modified_bessel_k1"
    " spherical_bessel_j0"
)
POLYNOMIALS = (
    *(f"{shift}chebyshev_polynomial_{k}" for shift in ("", "shifted_") for k in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l"),
    "legendre_polynomial_p",
)


def _degrees(make: Maker) -> list[Sample]:
    dtype = make(1).dtype
    degree = np.arange(0 if dtype.kind in "bu" else -2, 12).reshape(-1, 1).astype(dtype)
    return [
        Sample(make(5), 3),
        Sample(make(2, 3), make(2, 3)),
        Sample(make(5), degree),
        Sample(0.3, degree),
    ]


def _known_points(make: Maker) -> list[Sample]:
    # Not NaN, at which torch returns whatever lies in memory.
    x = np.array([-1, 0, 0.5, 1, np.inf, -np.inf], make(1).dtype)
    degree = np.array([0, 1, 2, 7, 20, np.nan, np.inf], make(1).dtype)
    return [Sample(x, degree.reshape(-1, 1)), Sample(make(0, 2), 2)]


ROWS = [
    *(_function(name, DOUBLE, differentiable=False) for name in WITHOUT_DERIVATIVE.split()),
    *(
        OpRow(
            f"special.{name}",
            _degrees,
            dtypes=DOUBLE,
            differentiable=False,
            out=True,
            edges=lambda make: _known_points(make) if make.dtype in FLOATS else [],
            errors=lambda make: [Raises(TypeError, "input", "text", 2)],
            tolerance={"float32": (2e-4, 2e-5)},
            reason="its cosines of large angles and its recurrences gather rounding errors",
        )
        for name in POLYNOMIALS
    ),
    unary("i0", dtypes=REAL, aliases=("special.i0",)),
    _function(
        "i0e",
        tolerance={"bfloat16": (2e-2, 1e-6)},
        reason="torch evaluates its series in half precision",
    ),
    _function("i1"),
    _function("i1e"),
    _function("entr", domain=POSITIVE),
    _function("erfcx", DOUBLE),
    _function("ndtr"),
    # At -1e30 two terms of the derivative cancel, to whatever rounding left of them.
    _function("log_ndtr", DOUBLE, specials=tuple(x for x in SPECIALS if x != -1e30)),
    _function("ndtri", ("float32", "float64"), domain=(0.05, 0.95)),
    OpRow(
        "special.zeta",
        lambda make: [Sample(1.5, make(2, 3)), Sample(3, make(2, 3))],
        dtypes=DOUBLE,
        domain=(1.5, 9.0),
        out=True,
    ),
    OpRow(
        "special.xlog1py",
        with_number,
        dtypes=REAL,
        domain=POSITIVE,
        elementwise=True,
        out=True,
    ),
    *(
        OpRow(
            name,
            lambda make: [
                Sample(np.full((2, 3), 1.5, make(1).dtype), make(2, 3)),
                Sample(make(2, 3), make(3)),
            ],
            dtypes=FLOATS,
            domain=POSITIVE,
            differentiable=False,
            out=True,
            method=name,
            inplace=f"{name}_",
            aliases=(alias,),
        )
        for name, alias in (("igamma", "special.gammainc"), ("igammac", "special.gammaincc"))
    ),
]
