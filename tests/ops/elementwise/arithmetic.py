"""Rows of the arithmetic ops."""

from __future__ import annotations

import numpy as np

from tests.harness.elementwise import binary, one, two, unary
from tests.harness.row import (
    COMPLEX,
    FLOATS,
    NUMBERS,
    REALS,
    SPECIALS,
    Maker,
    OpRow,
    Raises,
    Sample,
)

AWAY_FROM_ZERO = (0.3, 2.5)  # where quotients and logarithms are smooth; integers from 1 to 2


def with_alpha(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3), make(2, 3)),
        Sample(make(2, 3), 2),
        Sample(make(2, 3), make(2, 3), alpha=3),
    ]


def rounding_modes(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3), make(2, 3)),
        Sample(make(2, 3), 2.5),
        Sample(make(2, 3), make(2, 3), rounding_mode="floor"),
        Sample(make(2, 3), make(2, 3), rounding_mode="trunc"),
    ]


def powers(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3), make(2, 3)),
        Sample(make(2, 3), 2),
        Sample(make(2, 3), 3),
        Sample(make(2, 3), 0),
        Sample(2, make(2, 3)),
    ]


def real_powers(make: Maker) -> list[Sample]:
    return [
        *powers(make),
        Sample(make(2, 3), 0.5),
        Sample(make(2, 3), -1.5),
        Sample(1.5, make(2, 3)),
    ]


def three(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3), make(2, 3), make(2, 3)),
        Sample(make(2, 3), make(2, 3), make(2, 3), value=2),
    ]


ROWS = [
    binary("add", samples=with_alpha, dtypes=NUMBERS),
    binary("sub", samples=with_alpha, dtypes=NUMBERS, aliases=("subtract",)),
    OpRow("rsub", with_alpha, dtypes=NUMBERS, elementwise=True),
    binary("mul", dtypes=NUMBERS, aliases=("multiply",)),
    binary(
        "div",
        samples=rounding_modes,
        dtypes=REALS,
        domain=AWAY_FROM_ZERO,
        aliases=("divide",),
        errors=lambda make: [
            Raises(RuntimeError, "rounding_mode", make(2), make(2), rounding_mode="up"),
            Raises(TypeError, "other", make(2)),
        ],
    ),
    binary("true_divide", dtypes=NUMBERS, domain=AWAY_FROM_ZERO),
    binary("floor_divide", dtypes=REALS, differentiable=False, domain=AWAY_FROM_ZERO),
    binary("remainder", dtypes=REALS, domain=AWAY_FROM_ZERO),
    binary("fmod", dtypes=REALS, domain=AWAY_FROM_ZERO),
    binary("pow", samples=real_powers, domain=AWAY_FROM_ZERO),
    binary("float_power", samples=real_powers, domain=AWAY_FROM_ZERO),
    unary("neg", dtypes=NUMBERS, aliases=("negative",)),
    unary("positive", dtypes=NUMBERS, out=False, inplace=()),
    unary("abs", dtypes=REALS, aliases=("absolute",)),
    unary("sign", dtypes=REALS),
    unary("sgn", dtypes=NUMBERS),
    unary("ceil", dtypes=REALS),
    unary("floor", dtypes=REALS),
    unary("trunc", dtypes=REALS, aliases=("fix",)),
    unary("round", dtypes=REALS),
    unary("frac"),
    unary("reciprocal", dtypes=NUMBERS, domain=AWAY_FROM_ZERO),
    unary("square", dtypes=NUMBERS),
    OpRow(
        "lerp",
        lambda make: [*three(make)[:1], Sample(make(2, 3), make(2, 3), 0.3)],
        dtypes=FLOATS + COMPLEX,
        elementwise=True,
        out=True,
        inplace="lerp_",
        method="lerp",
    ),
    OpRow(
        "addcmul",
        three,
        dtypes=NUMBERS,
        elementwise=True,
        out=True,
        inplace="addcmul_",
        method="addcmul",
        # torch multiplies and adds in one rounding, so 1e30 * 1e30 - inf is -inf there, not NaN.
        specials=tuple(x for x in SPECIALS if abs(x) != 1e30),
    ),
    OpRow(
        "addcdiv",
        three,
        dtypes=FLOATS + COMPLEX,
        domain=AWAY_FROM_ZERO,
        elementwise=True,
        out=True,
        inplace="addcdiv_",
        method="addcdiv",
    ),
    binary("hypot", samples=two, domain=AWAY_FROM_ZERO),
    binary("copysign", dtypes=REALS),
    binary("heaviside", samples=two, differentiable=False, dtypes=REALS),
    binary("ldexp", samples=two, keeps="both factors, where torch keeps the result"),
    OpRow(
        "frexp",
        lambda make: (
            [Sample(make(2, 3)), Sample(make(3, low=-1e30, high=1e30))]
            if make.dtype != "float16"
            else [Sample(make(2, 3))]
        ),
        edges=lambda make: [
            Sample(np.array([0, -0.0, np.inf, -np.inf, np.nan, 1, 2, 0.5], make.dtype)),
            Sample(np.array(np.finfo("float32").tiny / 8, "float32")),
            Sample(make(0, 2)),
        ],
        method="frexp",
        out=True,
        errors=lambda make: [Raises(RuntimeError, "int64", np.array([1]))],
    ),
    binary("nextafter", samples=two, dtypes=("float32", "float64")),
    OpRow("conj", one, dtypes=NUMBERS, elementwise=True, method="conj"),
    OpRow("Tensor._conj", one, dtypes=COMPLEX, elementwise=True),
    OpRow("Tensor._neg_view", one, dtypes=NUMBERS, elementwise=True),
    OpRow(
        "conj_physical",
        one,
        dtypes=NUMBERS,
        elementwise=True,
        method="conj_physical",
        inplace="conj_physical_",
        out=True,
        tracks_out=True,
    ),
]
