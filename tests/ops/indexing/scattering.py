"""Rows of the ops that read and write at a position of their own for each element."""

from __future__ import annotations

import numpy as np

from tests.harness.row import ALL, FLOATS, NUMBERS, REALS, OpRow, Raises, Sample


def unique_index(make, *shape, below):
    """An index whose columns hold no position twice."""
    columns = [make.random.permutation(below)[: shape[0]] for _ in range(int(np.prod(shape[1:])))]
    return np.stack(columns, -1).reshape(shape)


def scatters(make):
    return [
        Sample(make(4, 3), 0, unique_index(make, 2, 3, below=4), make(2, 3)),
        Sample(make(4, 3), 0, unique_index(make, 2, 2, below=4), make(2, 2)),
        Sample(make(3), -1, np.array([2, 0]), make(2)),
    ]


def adds(make):
    return [
        Sample(make(4, 3), 0, make.index(5, 3, below=4), make(5, 3)),
        Sample(make(4, 3), 1, make.index(2, 5, below=3), make(2, 5)),
        Sample(make(3), 0, make.index(7, below=3), make(7)),
    ]


def reductions(make):
    """Without zeros and ties, where the product and the maximum have no second derivative."""
    index = np.array([[0, 2, 0], [0, 1, 3]])
    return [
        Sample(make.distinct(4, 3) + make(4, 3, low=0.06, high=0.06), 0, index,
               make.distinct(2, 3) * 3 + make(2, 3, low=1, high=1), reduce, include_self=own)
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    ]  # fmt: skip


def shape_errors(make):
    i = np.array([[0]])
    return [
        Raises(RuntimeError, "index 5", make(2, 3), 1, i + 5, make(1, 1)),
        Raises(RuntimeError, "index -1", make(2, 3), 1, i - 1, make(1, 1)),
        Raises(RuntimeError, "[2, 1]", make(2, 3), 1, np.zeros((2, 1), int), make(1, 1)),
        Raises(RuntimeError, "dtype", make(2, 3), 1, i, make(1, 1, dtype="int64")),
        Raises(IndexError, "got 3", make(2, 3), 3, i, make(1, 1)),
    ]


ROWS = [
    OpRow(
        "gather",
        lambda make: [
            Sample(make(4, 3), 0, make.index(2, 3, below=4)),
            Sample(make(4, 3), 1, make.index(3, 5, below=3)),
            Sample(make(4, 3), -1, make.index(4, 2, below=3, dtype="int32")),
            Sample(make(2, 3, 4), 1, make.index(1, 2, 3, below=3)),
            Sample(make(), 0, np.array(0)),
        ],
        dtypes=ALL,
        out=True,
        method="gather",
        errors=lambda make: [
            Raises(RuntimeError, "index 5", make(2, 3), 1, np.array([[5]])),
            Raises(RuntimeError, "index -1", make(2, 3), 1, np.array([[-1]])),
            Raises(RuntimeError, "float64", make(2, 3), 1, np.array([[0.0]])),
            Raises(RuntimeError, "dimensions", make(2, 3), 1, np.array([0])),
            Raises(RuntimeError, "[5, 2]", make(2, 3), 1, np.zeros((5, 2), int)),
            Raises(IndexError, "got 3", make(2, 3), 3, np.array([[0]])),
        ],
    ),
    OpRow(
        "scatter",
        lambda make: [*scatters(make), Sample(make(4, 3), 0, make.index(2, 3, below=4), 1.5)],
        dtypes=FLOATS,
        edges=lambda make: [
            Sample(make(4, 3), 1, make.index(0, 3, below=3), make(0, 3)),
            Sample(make(4, 3), 1, make.index(0, below=3), 1.5),
        ],
        out=True,
        inplace="scatter_",
        method="scatter",
        errors=shape_errors,
    ),
    OpRow(
        "scatter_add",
        adds,
        dtypes=REALS,
        out=True,
        inplace="scatter_add_",
        method="scatter_add",
        errors=shape_errors,
    ),
    OpRow(
        "scatter_reduce",
        reductions,
        dtypes=("float32", "float64"),
        out=True,
        inplace="scatter_reduce_",
        method="scatter_reduce",
        errors=lambda make: [
            Raises(RuntimeError, "foo", make(2), 0, np.array([0]), make(1), "foo"),
            Raises(RuntimeError, "index 2", make(2), 0, np.array([2]), make(1), "sum"),
            Raises(
                NotImplementedError,
                "bool",
                make(2, dtype="bool"),
                0,
                np.array([0]),
                make(1, dtype="bool"),
                "mean",
            ),
        ],
    ),
    OpRow(
        "take_along_dim",
        lambda make: [
            Sample(make(4, 3), make.index(1, 3, below=4), 0),
            Sample(make(1, 3), make.index(2, 3, below=3), 1),
            Sample(make(4, 3), make.index(5, below=12)),
        ],
        dtypes=NUMBERS,
        out=True,
        method="take_along_dim",
        errors=lambda make: [
            Raises(RuntimeError, "1 for indices", make(2, 3), np.array([0]), 1),
        ],
    ),
    OpRow(
        "take",
        lambda make: [Sample(make(4, 3), make.index(2, 2, below=12) - 6)],
        dtypes=ALL,
        out=True,
        method="take",
        errors=lambda make: [
            Raises(IndexError, "index 12", make(3, 4), np.array([12])),
            Raises(IndexError, "index -13", make(3, 4), np.array([-13])),
        ],
    ),
    OpRow(
        "put",
        lambda make: [
            Sample(make(4, 3), np.array([[0, -1], [5, 7]]), make(2, 2)),
            Sample(make(4, 3), np.array([0, 0, 11]), make(3), True),
        ],
        inplace="put_",
        method="put",
        errors=lambda make: [
            Raises(IndexError, "index 9", make(3), np.array([9]), make(1)),
            Raises(IndexError, "1 and 2", make(3), np.array([0, 1]), make(1)),
            Raises(RuntimeError, "dtype", make(3), np.array([0]), make(1, dtype="int64")),
        ],
    ),
]
