"""Rows of the ops that order elements. Where several are equal torch leaves the order open, so
samples have no ties except where both frameworks promise one."""

from __future__ import annotations

import numpy as np

from tests.harness.row import FLOATS, INTS, OpRow, Raises, Sample

SORTABLE = FLOATS + INTS


def along(make, *before):
    return [
        Sample(make.distinct(3, 5), *before),
        Sample(make.distinct(3, 5), *before, 0),
        Sample(make.distinct(2, 3, 4), *before, dim=-2),
        Sample(make.distinct(), *before),
    ]


def reduced(*before):
    return lambda make: [
        *along(make, *before),
        Sample(make.distinct(3, 5), *before, 1, True),
    ]


def with_nan(make):
    x = make.distinct(2, 5)
    x[0, 2] = np.nan
    return x


def quantiles(make):
    q = np.asarray([0.1, 0.45, 0.9]).astype(make.dtype)
    return [
        Sample(make.distinct(3, 5), 0.4),
        Sample(make.distinct(3, 5), 0.4, 1),
        Sample(make.distinct(3, 5), 0.0, 0, True),
        Sample(make.distinct(3, 5), 0.3, None, True),
        *(
            Sample(make.distinct(3, 5), q, 1, interpolation=i)
            for i in ("linear", "lower", "higher", "midpoint", "nearest")
        ),
        Sample(make.distinct(3, 5), q),
        Sample(make.distinct(2, 3, 4), q, 1, keepdim=True),
        Sample(make.distinct(), 0.5),
    ]


def quantile_errors(make):
    return [
        Raises(RuntimeError, "[0, 1]", make(3), 1.5),
        Raises(RuntimeError, "interpolation", make(3), 0.5, interpolation="foo"),
        Raises(RuntimeError, "float", make(3, dtype="int64"), 0.5),
        Raises(RuntimeError, "non-empty", make(0), 0.5),
        Raises(IndexError, "got 1", make(3), 0.5, 1),
    ]


ROWS = [
    OpRow(
        "sort",
        lambda make: [
            *along(make),
            Sample(make.distinct(3, 5), descending=True),
        ],
        dtypes=SORTABLE,
        edges=lambda make: [
            Sample(with_nan(make)),
            Sample(with_nan(make), descending=True),
            Sample(np.asarray([2, 1, 2, 1, 3]).astype(make(1).dtype), stable=True),
            Sample(np.asarray([2, 1, 2, 1, 3]).astype(make(1).dtype), descending=True, stable=True),
            Sample(make(0, 3)),
            Sample(make(2, 0)),
        ],
        out=True,
        method="sort",
        errors=lambda make: [
            Raises(IndexError, "got 2", make(2, 3), 2),
            Raises(RuntimeError, "complex64", make(2, dtype="complex64")),
        ],
    ),
    OpRow(
        "argsort",
        lambda make: [*along(make), Sample(make.distinct(3, 5), -1, True)],
        dtypes=SORTABLE,
        differentiable=False,
        method="argsort",
    ),
    OpRow("msort", lambda make: [Sample(make.distinct(3, 5))], out=True, method="msort"),
    OpRow(
        "topk",
        lambda make: [
            *along(make, 1),
            Sample(make.distinct(3, 5), 3, 1, False),
            Sample(make.distinct(3, 5), 2, 0, True, True),
            Sample(make.distinct(3, 5), 0),
            Sample(make.distinct(1000), 7),
            Sample(make.distinct(1000), 7, largest=False),
        ],
        dtypes=("float32", "float64", "int64", "int16"),
        edges=lambda make: [Sample(with_nan(make), 2), Sample(with_nan(make), 2, largest=False)],
        out=True,
        method="topk",
        errors=lambda make: [
            Raises(RuntimeError, "9", make(3), 9),
            Raises(RuntimeError, "-1", make(3), -1),
            Raises(RuntimeError, "bool", make(3, dtype="bool"), 1),
        ],
    ),
    OpRow(
        "kthvalue",
        lambda make: [*reduced(1)(make), Sample(make.distinct(3, 5), 4)],
        dtypes=SORTABLE,
        edges=lambda make: [Sample(with_nan(make), 5), Sample(make(0, 3), 1, 0)],
        out=True,
        method="kthvalue",
        errors=lambda make: [
            Raises(RuntimeError, "9", make(3), 9),
            Raises(RuntimeError, "0", make(3), 0),
            Raises(IndexError, "non-zero", make(0, 3), 1, 0),
            Raises(NotImplementedError, "bool", make(3, dtype="bool"), 1),
        ],
    ),
    *(
        OpRow(
            name,
            lambda make: [
                Sample(make.distinct(3, 5)),
                Sample(make.distinct(4)),
                *(Sample(make.distinct(3, 4), dim) for dim in (0, -1)),
                Sample(make.distinct(3, 5), 1, True),
                Sample(make.distinct()),
            ],
            dtypes=SORTABLE,
            edges=lambda make: [
                Sample(with_nan(make)),
                Sample(with_nan(make), 1),
                Sample(make(0)),
                Sample(np.asarray([1, 1, 3, 0]).astype(make(1).dtype)),
            ],
            method=name,
            errors=lambda make: [
                Raises(IndexError, "non-zero", make(0, 3), 0),
                Raises(IndexError, "got 1", make(3), 1),
                Raises(NotImplementedError, "complex", make(3, dtype="complex64")),
            ],
        )
        for name in ("median", "nanmedian")
    ),
    OpRow(
        "mode",
        reduced(),
        dtypes=SORTABLE,
        edges=lambda make: [
            Sample(np.asarray([[3, 1, 3, 1, 2], [5, 5, 5, 1, 1]]).astype(make(1).dtype)),
        ],
        out=True,
        method="mode",
        errors=lambda make: [Raises(IndexError, "non-zero", make(0, 3), 0)],
    ),
    *(
        OpRow(
            name,
            quantiles,
            dtypes=("float32", "float64"),
            edges=lambda make: [Sample(with_nan(make), 0.5, 1), Sample(with_nan(make), 0.3)],
            out=True,
            tracks_out=True,
            method=name,
            errors=quantile_errors,
        )
        for name in ("quantile", "nanquantile")
    ),
]
