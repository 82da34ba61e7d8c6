"""Rows of running totals."""

from __future__ import annotations

import numpy as np

from tests.harness.row import ALL, COMPLEX, INTS, Maker, OpRow, Raises, Sample
from tests.ops.reduction.sums import DOUBLE, special, wrong_dim, zeros_in


def running(make: Maker) -> list[Sample]:
    return [
        Sample(make(5), 0),
        Sample(make(3, 4), 1),
        Sample(make(2, 3, 4), dim=-2),
        Sample(make(2, 3), axis=0),
        Sample(make(), 0),
        Sample(make(), -1),
    ]


def with_dtype(make: Maker) -> list[Sample]:
    wide = "complex128" if make.dtype in COMPLEX else "float64"
    return [*running(make), Sample(make(3), 0, dtype=make.named(wide))]


def running_edges(make: Maker) -> list[Sample]:
    """No elements, then NaN and zeros, then infinities."""
    return [Sample(make(0), 0), Sample(make(2, 0), 0), Sample(make(1), 0)] + [
        Sample(x, 0) for x in special(make)
    ]


def records(make: Maker) -> list[Sample]:
    return [Sample(make.distinct(5), 0), Sample(make.distinct(3, 4), -1), Sample(make(), 0)]


def record_edges(make: Maker) -> list[Sample]:
    ties = np.array([[1, 0, 1], [1, 2, 0], [0, 2, 1]], make.dtype)
    return [Sample(ties, 0), Sample(ties, 1), *running_edges(make)]


def complex_input(make: Maker) -> list[Raises]:
    return [
        *wrong_dim(make),
        Raises(NotImplementedError, "complex64", make(2, dtype="complex64"), 0),
    ]


ROWS = [
    OpRow(
        "diff",
        lambda make: [
            Sample(make(5)),
            Sample(make(2, 4), 2),
            Sample(make(4, 2), 1, 0, make(1, 2), make(2, 2)),
            Sample(make(2, 2), 5),
            Sample(make(3), 0),
        ],
        dtypes=ALL,
        out=True,
        method="diff",
        errors=lambda make: [
            Raises(RuntimeError, "one-dimensional", make()),
            Raises(RuntimeError, "-1", make(3), -1),
        ],
    ),
    OpRow(
        "cumsum",
        with_dtype,
        dtypes=(*DOUBLE, *INTS, "bool", "complex128"),
        edges=running_edges,
        out=True,
        casts_to_out=True,
        inplace="cumsum_",
        method="cumsum",
        errors=wrong_dim,
    ),
    OpRow(
        "cumprod",
        with_dtype,
        dtypes=(*DOUBLE, "int64", "bool", "complex128"),
        out=True,
        casts_to_out=True,
        edges=lambda make: (
            [Sample(s.args[0], -1) for s in zeros_in(make)] + running_edges(make)[:6]
        ),
        inplace="cumprod_",
        method="cumprod",
        errors=wrong_dim,
    ),
    OpRow(
        "logcumsumexp",
        running,
        dtypes=DOUBLE,
        out=True,
        method="logcumsumexp",
        edges=lambda make: [
            *running_edges(make)[:6],
            Sample(np.array([16, -16, 0, 17], make.dtype), 0),
        ],
        errors=lambda make: [
            *wrong_dim(make),
            Raises(NotImplementedError, "int64", make(2, dtype="int64"), 0),
        ],
    ),
    OpRow(
        "cummax",
        records,
        dtypes=tuple(d for d in ALL if d not in COMPLEX),
        edges=record_edges,
        out=True,
        method="cummax",
        errors=complex_input,
    ),
    OpRow(
        "cummin",
        records,
        dtypes=tuple(d for d in ALL if d not in COMPLEX),
        edges=record_edges,
        out=True,
        method="cummin",
        errors=complex_input,
    ),
]
