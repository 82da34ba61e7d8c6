"""Rows of vector norms and distances."""

from __future__ import annotations

import numpy as np

from tests.harness.row import Maker, OpRow, Raises, Sample
from tests.ops.reduction.sums import DOUBLE, INF, special

ORDERS = (2, 1, 3, 0.5, 1.5, -1, INF, -INF)


def norms(make: Maker) -> list[Sample]:
    x = make(3, 4, low=0.2) if "complex" in make.dtype else make.distinct(3, 4) + np.float32(0.06)
    return [
        Sample(x),
        *(Sample(x, p) for p in ORDERS),
        *(Sample(x, p, 1) for p in ORDERS),
        Sample(x, "fro", (0, 1), True),
        Sample(x, p=2, dim=-1, keepdim=True),
        Sample(x, dtype=make.named("complex128" if "complex" in make.dtype else "float64")),
        Sample(make(), 3),
    ]


def norm_edges(make: Maker) -> list[Sample]:
    zeros = np.zeros((2, 2), make.dtype)
    samples = [
        Sample(make(0)),
        Sample(make(0), 1),
        Sample(make(0), INF),
        Sample(make(2, 0), INF, 0),
    ]
    for p in (0, *ORDERS):
        samples += [Sample(zeros, p, 1), Sample(zeros, p), Sample(np.array([0, 1], make.dtype), p)]
        samples += [Sample(x, p) for x in special(make)[:5] if make.dtype in DOUBLE]
    return samples


def pairs(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3), make(2, 3)),
        Sample(make(3), make(2, 3), 3),
        Sample(make(4), make(4), 1),
    ]


ROWS = [
    OpRow(
        "norm",
        norms,
        dtypes=(*DOUBLE, "complex128"),
        edges=norm_edges,
        out=True,
        method="norm",
        errors=lambda make: [
            Raises(RuntimeError, "int64", make(2, dtype="int64")),
            Raises(RuntimeError, "other", make(2, 2), "other"),
            Raises(RuntimeError, "identity", make(0), INF),
            Raises(IndexError, "out of range", make(2, 3), 2, 2),
            Raises(RuntimeError, "at least 2 dimensions", make(3), "nuc", (0, 1)),
        ],
    ),
    OpRow(
        "dist",
        pairs,
        dtypes=DOUBLE,
        method="dist",
        errors=lambda make: [Raises(TypeError, "other", make(2), 3)],
    ),
    OpRow(
        "renorm",
        lambda make: [
            Sample(make(3, 4), 2, 0, 1.0),
            Sample(make(3, 4), 1, 1, 2.0),
            Sample(make(2, 3, 2), 3, -1, 1.5),
            Sample(make(2, 3), 2, 0, 100.0),
        ],
        dtypes=DOUBLE,
        out=True,
        inplace="renorm_",
        method="renorm",
        errors=lambda make: [
            Raises(RuntimeError, "dimensions", make(3), 2, 0, 1.0),
            Raises(RuntimeError, "non-positive-norm", make(2, 3), -1, 0, 1.0),
        ],
    ),
    OpRow(
        "cdist",
        lambda make: [
            Sample(make(3, 2), make(4, 2)),
            Sample(make(2, 3, 2), make(4, 2), p=1),
            Sample(make(2, 3, 2), make(2, 4, 2), 3),
            Sample(make(3, 2), make(4, 2), INF),
            Sample(make(2, 26, 2), make(3, 2)),
            Sample(make(26, 2), make(3, 2), compute_mode="donot_use_mm_for_euclid_dist"),
            Sample(make(3, 2), make(4, 2), compute_mode="use_mm_for_euclid_dist"),
        ],
        dtypes=DOUBLE,
        edges=lambda make: [
            Sample(np.ones((2, 2), make.dtype), np.ones((1, 2), make.dtype)),
            Sample(make(0, 2), make(3, 2)),
            Sample(np.eye(3, dtype=make.dtype), np.ones((2, 3), make.dtype), INF),
            Sample(make(2, 0), make(3, 0), INF),
        ],
        errors=lambda make: [
            Raises(RuntimeError, "x1", make(2), make(2, 2)),
            Raises(RuntimeError, "columns", make(2, 3), make(2, 2)),
            Raises(RuntimeError, "non-negative", make(2, 3), make(2, 3), -1),
        ],
    ),
]
