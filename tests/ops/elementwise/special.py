"""Rows of special functions: Bessel's, the normal distribution's, incomplete gamma functions."""

from __future__ import annotations

import numpy as np

from tests.harness.elementwise import unary
from tests.harness.row import BOOL, FLOATS, INTS, SPECIALS, Maker, OpRow, Sample

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


ROWS = [
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
