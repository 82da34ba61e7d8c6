"""Rows of sums, means, products and variances."""

from __future__ import annotations

import numpy as np

from tests.harness.row import ALL, COMPLEX, FLOATS, Maker, OpRow, Raises, Sample

DOUBLE = ("float32", "float64")
INF, NAN = np.inf, np.nan


def along(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3, 4), 1),
        Sample(make(3, 4)),
        Sample(make(2, 3, 4), (0, -1)),
        Sample(make(2, 3, 4), [0, 1], True),
        Sample(make(2, 3), dim=-1, keepdim=True),
        Sample(make(2, 3), axis=0, keepdims=True),
        Sample(make(2, 3), ()),
        Sample(make(), 0),
        Sample(make()),
    ]


def with_dtype(make: Maker) -> list[Sample]:
    wide = "complex128" if make.dtype in COMPLEX else "float64"
    return [*along(make), Sample(make(2, 3), 0, dtype=make.named(wide))]


def one_dim(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3, 2), 1),
        Sample(make(2, 3)),
        Sample(make(2, 3), -1, True),
        Sample(make(2, 3), dim=0, keepdim=True),
        Sample(make(2, 3), axis=0),
        Sample(make(), 0),
    ]


def spread(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4)),
        Sample(make(2, 3, 4), 1),
        Sample(make(2, 3, 4), (0, 2), False, True),
        Sample(make(3, 4), False),
        Sample(make(3, 4), 0, correction=0),
        Sample(make(5, 2), dim=0, correction=2.5, keepdim=True),
        Sample(make(3, 4), unbiased=False),
    ]


def special(make: Maker) -> list[np.ndarray]:
    rows = ([1, 2, 2], [NAN, 1, NAN], [0, 0, 3], [-INF, -INF, 1], [INF, 1, INF], [INF, 0, -INF])
    return [np.array(row, make.dtype) for row in rows]


def sum_edges(make: Maker) -> list[Sample]:
    empty = [
        Sample(make(0)),
        Sample(make(2, 0), 1),
        Sample(make(2, 0), 0),
        Sample(make(2, 0, 3), (1, 2)),
    ]
    return [*empty, *(Sample(x, 0) for x in special(make)), *(Sample(x) for x in special(make))]


def spread_edges(make: Maker) -> list[Sample]:
    constant = Sample(np.ones((2, 3), make.dtype), 1)
    return [constant, *(Sample(x) for x in special(make))]


def zeros_in(make: Maker) -> list[Sample]:
    """Products whose gradients must not be found by division."""
    none, one, two = make(4, low=0.5), make(4, low=0.5), make(4, low=0.5)
    one[1] = 0
    two[1] = two[3] = 0
    rows = np.stack([none, one, two])
    return [Sample(none), Sample(one), Sample(two), Sample(rows, 1), Sample(rows, 0), Sample(rows)]


def wrong_dims(make: Maker) -> list[Raises]:
    return [
        Raises(IndexError, "out of range", make(2, 3), 2),
        Raises(IndexError, "out of range", make(2, 3), (0, -3)),
        Raises(RuntimeError, "multiple times", make(2, 3), (0, -2)),
        Raises(TypeError, "dim", make(2, 3), "first"),
    ]


def wrong_dim(make: Maker) -> list[Raises]:
    return [
        Raises(IndexError, "out of range", make(2, 3), 2),
        Raises(TypeError, "dim", make(2, 3), "first"),
    ]


def floats_only(make: Maker) -> list[Raises]:
    return [*wrong_dims(make), Raises(RuntimeError, "int64", make(2, dtype="int64"))]


def with_nan(make: Maker) -> list[Sample]:
    x = make(3, 4)
    x[0, 1] = x[2, 0] = NAN
    return [Sample(x), Sample(x, 1), Sample(x, (0, 1), True), Sample(make(2, 3), dim=-1)]


ROWS = [
    OpRow(
        "sum",
        with_dtype,
        dtypes=ALL,
        edges=sum_edges,
        out=True,
        casts_to_out=True,
        method="sum",
        errors=wrong_dims,
        tolerance={"bfloat16": (2**-7, 2**-7), "float16": (2**-10, 2**-10)},
        reason="the terms cancel",
    ),
    OpRow(
        "mean",
        with_dtype,
        dtypes=(*FLOATS, *COMPLEX),
        edges=sum_edges,
        out=True,
        method="mean",
        errors=floats_only,
    ),
    OpRow(
        "nansum",
        with_nan,
        edges=sum_edges,
        out=True,
        casts_to_out=True,
        method="nansum",
        errors=wrong_dims,
    ),
    OpRow("nanmean", with_nan, out=True, method="nanmean", errors=floats_only),
    OpRow(
        "prod",
        one_dim,
        dtypes=("float32", "float64", "int64", "bool", *COMPLEX),
        edges=zeros_in,
        out=True,
        casts_to_out=True,
        method="prod",
        errors=wrong_dim,
    ),
    OpRow(
        "var",
        spread,
        dtypes=(*DOUBLE, *COMPLEX),
        edges=spread_edges,
        out=True,
        method="var",
        errors=floats_only,
    ),
    OpRow(
        "std",
        spread,
        dtypes=(*DOUBLE, *COMPLEX),
        edges=spread_edges,
        out=True,
        method="std",
        errors=floats_only,
    ),
    OpRow("var_mean", spread, dtypes=DOUBLE, errors=floats_only),
    OpRow("std_mean", spread, dtypes=DOUBLE, errors=floats_only),
    OpRow(
        "logsumexp",
        lambda make: [
            Sample(make(3, 4), 1),
            Sample(make(2, 3, 4), (0, -1), True),
            Sample(make(), 0),
            Sample(make(3, dtype="int64"), 0),
        ],
        dtypes=DOUBLE,
        edges=lambda make: [
            *(Sample(x, 0) for x in special(make)),
            Sample(np.full(3, -INF, make.dtype), 0),
            Sample(make(0), 0),
            Sample(make(2, 0), 0),
            Sample(np.array([1e4, 1e4 - 1], make.dtype), 0),
        ],
        out=True,
        method="logsumexp",
        errors=lambda make: [
            Raises(TypeError, "dim", make(2), None),
            Raises(IndexError, "out of range", make(2), 1),
        ],
    ),
]
