"""Rows of the comparisons, the tests for special values, logic, and `where`."""

from __future__ import annotations

from typing import Any

from tests.harness.elementwise import binary, tensor_and_number, unary
from tests.harness.row import ALL, BOOL, COMPLEX, INTS, REALS, Maker, OpRow, Raises, Sample

WHOLE = INTS + BOOL


def compare(name: str, **options: Any) -> OpRow:
    return binary(name, samples=equal_pairs, differentiable=False, **options)


def equal_pairs(make: Maker) -> list[Sample]:
    """Half of the elements equal, so that strict and non-strict orders differ."""
    x, y = make(2, 3), make(2, 3)
    y[0] = x[0]
    return [Sample(x, y), Sample(x, 1)]


def close_pairs(make: Maker) -> list[Sample]:
    x = make(2, 3)
    y = x.copy()
    y[0] = y[0] + 1
    return [
        Sample(x, y),
        Sample(x, y, 1e-2, 2.0),
        Sample(x, y, rtol=0.0, atol=0.0, equal_nan=True),
    ]


def shifts(make: Maker) -> list[Sample]:
    return [Sample(make(2, 3), make(2, 3, low=0, high=7)), Sample(make(2, 3), 2)]


def choices(make: Maker) -> list[Sample]:
    mask = make.mask(2, 3)
    return [
        Sample(mask, make(2, 3), make(2, 3)),
        Sample(mask, make(2, 3), 2),
        Sample(mask, 1, make(2, 3)),
    ]


def logical(name: str, **options: Any) -> OpRow:
    return binary(name, samples=sparse_pairs, dtypes=ALL, differentiable=False, **options)


def sparse_pairs(make: Maker) -> list[Sample]:
    """Half zeros: what logic looks at."""
    x, y = make(2, 3), make(2, 3)
    x[0], y[:, 0] = 0, 0
    return [Sample(x, y)]


ROWS = [
    compare("eq", dtypes=ALL),
    compare("ne", dtypes=ALL, aliases=("not_equal",)),
    compare("lt", dtypes=REALS + BOOL, aliases=("less",)),
    compare("le", dtypes=REALS + BOOL, aliases=("less_equal",)),
    compare("gt", dtypes=REALS + BOOL, aliases=("greater",)),
    compare("ge", dtypes=REALS + BOOL, aliases=("greater_equal",)),
    unary("isnan", dtypes=ALL, differentiable=False, out=False, inplace=()),
    unary("isinf", dtypes=ALL, differentiable=False, out=False, inplace=()),
    unary("isfinite", dtypes=ALL, differentiable=False, out=False, inplace=()),
    unary("isposinf", dtypes=REALS + BOOL, differentiable=False, inplace=()),
    unary("isneginf", dtypes=REALS + BOOL, differentiable=False, inplace=()),
    unary("isreal", dtypes=ALL, differentiable=False, out=False, inplace=()),
    unary("signbit", dtypes=REALS + BOOL, differentiable=False, inplace=()),
    OpRow(
        "isclose",
        close_pairs,
        dtypes=REALS + COMPLEX,
        differentiable=False,
        elementwise=True,
        method="isclose",
        errors=lambda make: [
            Raises(RuntimeError, "rtol", make(2), make(2), rtol=-1.0),
            Raises(RuntimeError, "atol", make(2), make(2), atol=-1.0),
            Raises(RuntimeError, "did not match", make(2), make(2, dtype="int64")),
        ],
    ),
    logical("logical_and"),
    logical("logical_or"),
    logical("logical_xor"),
    unary("logical_not", dtypes=ALL, differentiable=False),
    binary("bitwise_and", samples=tensor_and_number, dtypes=WHOLE, differentiable=False),
    binary("bitwise_or", samples=tensor_and_number, dtypes=WHOLE, differentiable=False),
    binary("bitwise_xor", samples=tensor_and_number, dtypes=WHOLE, differentiable=False),
    unary("bitwise_not", dtypes=WHOLE, differentiable=False),
    binary("bitwise_left_shift", samples=shifts, dtypes=INTS, differentiable=False),
    binary("bitwise_right_shift", samples=shifts, dtypes=INTS, differentiable=False),
    OpRow(
        "where",
        choices,
        dtypes=ALL,
        elementwise=True,
        out=True,
        errors=lambda make: [Raises(RuntimeError, "condition", make(2), make(2), make(2))],
    ),
    OpRow("allclose", close_pairs, dtypes=REALS + COMPLEX, differentiable=False, method="allclose"),
    OpRow(
        "equal",
        lambda make: [*equal_pairs(make)[:1], Sample(*[make(2, 3)] * 2), Sample(make(2), make(3))],
        dtypes=ALL,
        differentiable=False,
        method="equal",
    ),
]
