"""Rows of products of vectors, matrices and batches of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.harness.row import FLOATS, Maker, OpRow, Raises, Sample

WIDE = ("float32", "float64", "int64", "complex128")
ALL_WIDTHS = (*FLOATS, "int32", "int64", "uint8", "complex64", "complex128")
HALF_SUMS = {"float16": (2**-10, 2**-9), "bfloat16": (2**-7, 2**-6)}
ROUNDED = "sums of products of either sign, rounded once at the end"


def products(make: Maker) -> list[Sample]:
    pairs = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (4, 3, 2)),
    ]
    return [Sample(make(*a), make(*b)) for a, b in pairs]


def empty_products(make: Maker) -> list[Sample]:
    pairs = [
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
        ((0,), (0,)),
        ((0, 2, 3), (0, 3, 2)),
        ((3, 0, 2), (2, 4)),
    ]
    samples = [Sample(make(*a), make(*b)) for a, b in pairs]
    infinite = np.array([[np.inf, 1], [0, np.nan]], make.dtype)
    return [*samples, Sample(infinite, infinite)]


def product_errors(make: Maker) -> list[Raises]:
    return [
        Raises(RuntimeError, "2x3 and 4x5", make(2, 3), make(4, 5)),
        Raises(RuntimeError, "at least 1D", make(), make(2)),
        Raises(RuntimeError, "Double", make(2, 3), make(3, 2, dtype="float64")),
        Raises(RuntimeError, "batch", make(2, 3, 4), make(3, 4, 2)),
        Raises(RuntimeError, "multiplied", make(3), make(4, 2)),
        Raises(RuntimeError, "multiplied", make(2, 3), make(2)),
        Raises(NotImplementedError, "bool", make(2, dtype="bool"), make(2, dtype="bool")),
        Raises(TypeError, "other", make(2, 3), 3),
    ]


def vectors(make: Maker) -> list[Sample]:
    return [Sample(make(4), make(4)), Sample(make(1), make(1))]


def vector_errors(make: Maker) -> list[Raises]:
    return [
        Raises(RuntimeError, "1D", make(2, 2), make(2)),
        Raises(RuntimeError, "number of elements", make(2), make(3)),
        Raises(RuntimeError, "Double", make(2), make(2, dtype="float64")),
    ]


def added(*shapes: tuple) -> Any:
    def samples(make: Maker) -> list[Sample]:
        base = [make(*shape) for shape in shapes]
        scales = {"beta": 2, "alpha": 1.5} if make.dtype == "int64" else {"beta": 0.5, "alpha": 2.0}
        return [
            Sample(*base),
            Sample(*base, **scales),
            Sample(*base, beta=0),
            Sample(make(1), *base[1:], alpha=2),
        ]

    return samples


def ignored_nan(make: Maker, *shapes: tuple) -> list[Sample]:
    return [Sample(np.full(4, np.nan, make.dtype), *(make(*s) for s in shapes), beta=0)]


def added_errors(*shapes: tuple) -> Any:
    def errors(make: Maker) -> list[Raises]:
        factors = [make(*shape) for shape in shapes]
        return [
            Raises(RuntimeError, "expanded", make(7), *factors),
            Raises(RuntimeError, "Double", make(1, dtype="float64"), *factors),
        ]

    return errors


ROWS = [
    OpRow(
        "matmul",
        products,
        keeps="operands whose batches are broadcast, of which torch keeps copies",
        dtypes=ALL_WIDTHS,
        edges=empty_products,
        out=True,
        method="matmul",
        errors=product_errors,
        tolerance=HALF_SUMS,
        reason=ROUNDED,
    ),
    OpRow(
        "mm",
        lambda make: [Sample(make(2, 3), make(3, 4))],
        dtypes=ALL_WIDTHS,
        out=True,
        method="mm",
        edges=empty_products,
        tolerance=HALF_SUMS,
        reason=ROUNDED,
        errors=lambda make: [
            Raises(RuntimeError, "2 dimensions", make(3), make(3, 2)),
            Raises(RuntimeError, "2x3 and 4x5", make(2, 3), make(4, 5)),
        ],
    ),
    OpRow(
        "bmm",
        lambda make: [Sample(make(5, 2, 3), make(5, 3, 4))],
        dtypes=ALL_WIDTHS,
        out=True,
        method="bmm",
        edges=empty_products,
        tolerance=HALF_SUMS,
        reason=ROUNDED,
        errors=lambda make: [
            Raises(RuntimeError, "3 dimensions", make(3, 2), make(3, 2, 2)),
            Raises(RuntimeError, "[2, 4]", make(2, 3, 4), make(3, 4, 5)),
        ],
    ),
    OpRow(
        "mv",
        lambda make: [Sample(make(2, 3), make(3))],
        dtypes=WIDE,
        out=True,
        method="mv",
        errors=lambda make: [
            Raises(RuntimeError, "2 dimensions", make(3), make(3)),
            Raises(RuntimeError, "multiplied", make(2, 3), make(2)),
        ],
    ),
    OpRow("dot", vectors, dtypes=WIDE, out=True, method="dot", errors=vector_errors),
    OpRow("vdot", vectors, dtypes=WIDE, out=True, method="vdot", errors=vector_errors),
    OpRow(
        "inner",
        lambda make: [
            Sample(make(3), make(3)),
            Sample(make(2, 3), make(4, 3)),
            Sample(make(2, 3), make()),
            Sample(make(2, 5, 3), make(3)),
        ],
        dtypes=WIDE,
        out=True,
        tracks_out=True,
        method="inner",
        errors=lambda make: [Raises(RuntimeError, "[2, 3]", make(2, 3), make(4, 5))],
    ),
    OpRow(
        "outer",
        lambda make: [Sample(make(2), make(3))],
        dtypes=WIDE,
        out=True,
        method="outer",
        aliases=("ger",),
        errors=lambda make: [
            Raises(RuntimeError, "1-D", make(2, 2), make(3)),
            Raises(RuntimeError, "vec2", make(2), make(3, 3)),
        ],
    ),
    OpRow(
        "addmm",
        added((2, 4), (2, 3), (3, 4)),
        dtypes=WIDE,
        out=True,
        inplace="addmm_",
        edges=lambda make: ignored_nan(make, (2, 3), (3, 4)),
        method="addmm",
        errors=added_errors((2, 3), (3, 4)),
    ),
    OpRow(
        "baddbmm",
        added((5, 2, 4), (5, 2, 3), (5, 3, 4)),
        dtypes=WIDE,
        out=True,
        edges=lambda make: ignored_nan(make, (5, 2, 3), (5, 3, 4)),
        inplace="baddbmm_",
        method="baddbmm",
        errors=added_errors((5, 2, 3), (5, 3, 4)),
    ),
    OpRow(
        "addbmm",
        added((2, 4), (5, 2, 3), (5, 3, 4)),
        dtypes=WIDE,
        out=True,
        inplace="addbmm_",
        method="addbmm",
        errors=added_errors((5, 2, 3), (5, 3, 4)),
    ),
    OpRow(
        "addmv",
        added((2,), (2, 3), (3,)),
        dtypes=WIDE,
        out=True,
        inplace="addmv_",
        method="addmv",
        errors=added_errors((2, 3), (3,)),
    ),
    OpRow(
        "addr",
        added((2, 3), (2,), (3,)),
        dtypes=("float32", "float64", "complex128"),
        out=True,
        inplace="addr_",
        method="addr",
        errors=lambda make: [
            Raises(RuntimeError, "expanded", make(7), make(2), make(3)),
            Raises(RuntimeError, "vec1", make(2, 3), make(2, 2), make(3)),
        ],
    ),
]
