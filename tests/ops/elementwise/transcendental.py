"""Rows of roots, exponentials, logarithms, trigonometric functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.harness.elementwise import binary, two, unary
from tests.harness.row import (
    ALL,
    BOOL,
    COMPLEX,
    FLOATS,
    INTS,
    SPECIALS,
    Maker,
    OpRow,
    Raises,
    Sample,
)

POSITIVE = (0.2, 3.0)
INSIDE = (-0.9, 0.9)  # of the unit interval
WIDE = FLOATS + COMPLEX + INTS + BOOL  # integers are computed in the default dtype
REAL = FLOATS + INTS + BOOL


# At the poles, the integers from 0 down, torch's trigamma is anything but infinite.
NO_POLES = tuple(x for x in SPECIALS if not (x <= 0 and x == np.floor(x)))
TRIGAMMA: Any = {
    "tolerance": {"float64": (1e-9, 1e-10)},
    "reason": "torch's series for trigamma stops there; ours is held to mpmath elsewhere",
}


def with_number(make: Maker) -> list[Sample]:
    return [Sample(make(2, 3), make(2, 3)), Sample(make(2, 3), 1.5), Sample(1.5, make(2, 3))]


ROWS = [
    unary("sqrt", dtypes=WIDE, domain=POSITIVE),
    unary("rsqrt", dtypes=WIDE, domain=POSITIVE),
    unary("exp", dtypes=WIDE),
    unary("exp2", dtypes=WIDE),
    unary("expm1", dtypes=WIDE),
    unary("log", dtypes=WIDE, domain=POSITIVE),
    unary("log2", dtypes=WIDE, domain=POSITIVE),
    unary("log10", dtypes=WIDE, domain=POSITIVE),
    unary("log1p", dtypes=WIDE, domain=POSITIVE),
    unary("sin", dtypes=WIDE),
    unary("cos", dtypes=WIDE),
    unary("tan", dtypes=WIDE, domain=(-1.2, 1.2)),
    unary("asin", dtypes=WIDE, domain=INSIDE, aliases=("arcsin",)),
    unary("acos", dtypes=WIDE, domain=INSIDE, aliases=("arccos",)),
    unary("atan", dtypes=WIDE, aliases=("arctan",)),
    unary("sinh", dtypes=WIDE),
    unary("cosh", dtypes=WIDE),
    unary("tanh", dtypes=WIDE, aliases=("nn.functional.tanh",)),
    unary("asinh", dtypes=WIDE, aliases=("arcsinh",), inplace_gradient=False),
    unary("acosh", dtypes=WIDE, domain=(1.2, 4.0), aliases=("arccosh",), inplace_gradient=False),
    unary("atanh", dtypes=WIDE, domain=INSIDE, aliases=("arctanh",), inplace_gradient=False),
    unary("erf", dtypes=REAL),
    unary("erfc", dtypes=REAL),
    unary("erfinv", dtypes=REAL, domain=INSIDE),
    unary("sigmoid", dtypes=WIDE, aliases=("nn.functional.sigmoid",)),
    OpRow(
        "logit",
        lambda make: [Sample(make(2, 3)), Sample(make(2, 3), 0.2)],
        domain=(0.05, 0.95),
        elementwise=True,
        out=True,
        method="logit",
        inplace="logit_",
        # The sign of torch's infinite gradient at -0.0 is another one in each dtype.
        specials=tuple(x for x in SPECIALS if not (x == 0 and np.signbit(x))),
        tolerance={"float16": (2e-2, 1e-3), "bfloat16": (2e-1, 1e-2)},
        reason="torch rounds input / (1 - input) to half precision before the logarithm",
    ),
    unary("sinc", dtypes=WIDE, domain=POSITIVE),
    unary("deg2rad", dtypes=REAL),
    unary("rad2deg", dtypes=REAL),
    binary("atan2", samples=two, dtypes=REAL, domain=POSITIVE, aliases=("arctan2",)),
    unary("angle", dtypes=ALL, inplace=()),
    binary("logaddexp", samples=two, inplace=()),
    binary("logaddexp2", samples=two, inplace=()),
    binary("xlogy", samples=with_number, dtypes=REAL, domain=POSITIVE),
    unary("lgamma", dtypes=REAL, domain=POSITIVE),
    unary("digamma", dtypes=REAL, domain=POSITIVE, specials=NO_POLES, **TRIGAMMA),
    OpRow(
        "polygamma",
        lambda make: [Sample(0, make(2, 3)), Sample(1, make(2, 3)), Sample(3, make(2, 3))],
        dtypes=REAL,
        domain=POSITIVE,
        elementwise=True,
        specials=tuple(x for x in NO_POLES if x != np.inf),  # where torch has NaN for 0
        **TRIGAMMA,
        out=True,
        errors=lambda make: [Raises(RuntimeError, "negative", -1, make(2))],
    ),
    OpRow(
        "Tensor.polygamma",
        lambda make: [Sample(make(2, 3), 2)],
        dtypes=REAL,
        domain=POSITIVE,
        inplace="polygamma_",
    ),
    OpRow(
        "mvlgamma",
        lambda make: [Sample(make(2, 3), 1), Sample(make(2, 3), p=3)],
        domain=(1.5, 4.0),
        elementwise=True,
        method="mvlgamma",
        inplace="mvlgamma_",
        errors=lambda make: [Raises(RuntimeError, "p", make(2), 0)],
    ),
]
