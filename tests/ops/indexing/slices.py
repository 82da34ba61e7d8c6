"""Rows of the ops on whole slices of one dimension, named by a vector of indices."""

from __future__ import annotations

import numpy as np

from tests.harness.row import ALL, NUMBERS, REALS, OpRow, Raises, Sample

TWO = np.array([2, 0])


def reductions(make):
    return [
        Sample(make.distinct(4, 3) + make(4, 3, low=0.06, high=0.06), 0, np.array([0, 2, 0]),
               make.distinct(3, 3) * 3 + make(3, 3, low=1, high=1), reduce, include_self=own)
        for reduce in ("prod", "mean", "amax", "amin")
        for own in (True, False)
    ]  # fmt: skip


ROWS = [
    OpRow(
        "index_select",
        lambda make: [
            Sample(make(4, 3), 0, make.index(5, below=4)),
            Sample(make(4, 3), -1, make.index(2, below=3, dtype="int32")),
            Sample(make(4, 3), 0, np.array(1)),
            Sample(make(), 0, np.array([0])),
        ],
        dtypes=ALL,
        out=True,
        method="index_select",
        errors=lambda make: [
            Raises(IndexError, "index 5", make(3), 0, np.array([5])),
            Raises(IndexError, "index -1", make(3), 0, np.array([-1])),
            Raises(IndexError, "vector", make(3), 0, np.array([[0]])),
            Raises(RuntimeError, "float64", make(3), 0, np.array([0.0])),
        ],
    ),
    OpRow(
        "index_add",
        lambda make: [
            Sample(make(4, 3), 0, make.index(5, below=4), make(5, 3)),
            Sample(make(4, 3), 1, TWO, make(4, 2), alpha=2),
            Sample(make(), 0, np.array([0]), make()),
        ],
        dtypes=NUMBERS,
        out=True,
        inplace="index_add_",
        method="index_add",
        errors=lambda make: [
            Raises(RuntimeError, "index 5", make(3, 2), 0, np.array([5]), make(1, 2)),
            Raises(RuntimeError, "(1)", make(3), 0, np.array([0]), make(2)),
            Raises(RuntimeError, "[1, 2]", make(3, 4), 0, np.array([0]), make(1, 2)),
        ],
    ),
    OpRow(
        "index_copy",
        lambda make: [
            Sample(make(4, 3), 0, TWO, make(2, 3)),
            Sample(make(4, 3), 1, TWO, make(4, 2)),
        ],
        dtypes=ALL,
        out=True,
        inplace="index_copy_",
        method="index_copy",
        errors=lambda make: [
            Raises(IndexError, "index 5", make(3), 0, np.array([5]), make(1)),
            Raises(IndexError, "(1)", make(3), 0, np.array([0]), make(2)),
        ],
    ),
    OpRow(
        "index_reduce",
        reductions,
        dtypes=("float32", "float64"),
        out=True,
        inplace="index_reduce_",
        method="index_reduce",
        errors=lambda make: [
            Raises(RuntimeError, "sum", make(3), 0, np.array([0]), make(1), "sum"),
            Raises(IndexError, "dimension 0", make(3), 0, np.array([3]), make(1), "prod"),
            Raises(IndexError, "size 3", make(2, 3), 1, np.array([-1]), make(2, 1), "mean"),
        ],
    ),
    OpRow(
        "index_fill",
        lambda make: [
            Sample(make(4, 3), 0, TWO, 2),
            Sample(make(4, 3), -1, np.array([-1]), 0),
            Sample(make(4, 3), 0, TWO, make()),
        ],
        dtypes=REALS,
        inplace="index_fill_",
        method="index_fill",
        errors=lambda make: [
            Raises(IndexError, "index 5", make(3), 0, np.array([5]), 1.0),
            Raises(RuntimeError, "1 dim", make(3), 0, np.array([0]), make(1)),
        ],
    ),
]
