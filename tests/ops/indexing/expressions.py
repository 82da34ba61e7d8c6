"""Rows of index expressions; tests/autograd/test_indexing.py compares many more with torch."""

from __future__ import annotations

import numpy as np

from tests.harness.row import ALL, OpRow, Raises, Sample


def reads(make):
    i = make.index(4, below=3)
    return [
        Sample(make(3, 4), (0, slice(1, 3))),
        Sample(make(3, 4), 1),
        Sample(make(3, 4), -1),
        Sample(make(3, 4), (slice(None), 2)),
        Sample(make(3, 4), (slice(None, None, 2), None, ...)),
        Sample(make(3, 4), i),
        Sample(make(3, 4, 2), (slice(None), i, 1)),
        Sample(make(3, 4, 3), (i, slice(None), i)),
        Sample(make(3, 4, 3), (0, slice(None), i)),
        Sample(make(3, 4), (make.index(2, 2, below=3), make.index(2, below=4))),
        Sample(make(3, 4), make.mask(3, 4)),
        Sample(make(3, 4), (slice(None), make.mask(4))),
        Sample(make(3, 4), [0, 2]),
        Sample(make(3, 4), True),
        Sample(make(3), False),
        Sample(make(), None),
        Sample(make(2, 3), ...),
    ]


def puts(make):
    i = np.array([0, 2])
    return [
        Sample(make(3, 4), (i,), make(2, 4)),
        Sample(make(3, 4), (i, i), make(2)),
        Sample(make(3, 4), (i,), make(4)),
        Sample(make(3, 4), (np.array([1, 1, 0]),), make(3, 4), True),
        Sample(make(3, 4), (make.mask(3, 4),), make()),
    ]


ROWS = [
    OpRow(
        "Tensor.__getitem__",
        reads,
        dtypes=ALL,
        again="torch copies at an index of one bool, nnkit gives a view",
        errors=lambda make: [
            Raises(IndexError, "index 5", make(3, 4), 5),
            Raises(IndexError, "dimension 1 with size 4", make(3, 4), (0, -5)),
            Raises(IndexError, "index 3", make(3, 4), np.array([0, 3])),
            Raises(IndexError, "too many", make(3), (0, 0)),
            Raises(IndexError, "0-dim", make(), 0),
            Raises(IndexError, "mask [2]", make(3, 4), np.array([True, False])),
            Raises(IndexError, "[2], [3]", make(3, 4), (np.arange(2), np.arange(3))),
            Raises(IndexError, "float", make(3), 1.5),
            Raises(IndexError, "float32", make(3), np.array([1.0], "float32")),
            Raises(ValueError, "step", make(3), slice(None, None, -1)),
            Raises(TypeError, "slice", make(3), slice(1.0, 2)),
            Raises(TypeError, "str", make(3), ["a"]),
        ],
    ),
    OpRow(
        "index_put",
        puts,
        dtypes=ALL,
        tolerance={"float16": (0.002, 0.002), "bfloat16": (0.01, 0.02)},
        reason="torch rounds to half precision after every addition, nnkit once",
        inplace="index_put_",
        method="index_put",
        errors=lambda make: [
            Raises(IndexError, "index 9", make(3), (np.array([9]),), make(1)),
            Raises(RuntimeError, "int64", make(3), (np.array([0]),), make(1, dtype="int64")),
            Raises(RuntimeError, "[3]", make(4, 4), (np.array([0]),), make(3)),
        ],
    ),
    OpRow(
        "select",
        lambda make: [Sample(make(2, 3), 0, 1), Sample(make(2, 3), -1, -2)],
        dtypes=ALL,
        method="select",
        errors=lambda make: [
            Raises(IndexError, "index 5", make(2, 3), 0, 5),
            Raises(IndexError, "0-dim", make(), 0, 0),
        ],
    ),
    OpRow(
        "narrow",
        lambda make: [
            Sample(make(4, 3), 0, 1, 2),
            Sample(make(4, 3), 1, -2, 2),
            Sample(make(4), 0, 4, 0),
        ],
        dtypes=ALL,
        method="narrow",
        errors=lambda make: [
            Raises(RuntimeError, "2", make(3), 0, 2, 2),
            Raises(IndexError, "got 4", make(3), 0, 4, 0),
            Raises(RuntimeError, "length", make(3), 0, 0, -1),
            Raises(RuntimeError, "0-dim", make(), 0, 0, 0),
        ],
    ),
    OpRow(
        "narrow_copy", lambda make: [Sample(make(4, 3), 0, 1, 2)], out=True, method="narrow_copy"
    ),
    OpRow(
        "select_scatter",
        lambda make: [Sample(make(2, 3), make(3), 0, 1), Sample(make(2, 3), make(2), -1, -1)],
        method="select_scatter",
        errors=lambda make: [Raises(RuntimeError, "[2]", make(2, 3), make(2), 0, 0)],
    ),
    OpRow(
        "slice_scatter",
        lambda make: [
            Sample(make(4, 3), make(2, 3), 0, 1, 3),
            Sample(make(4, 3), make(4, 2), 1, step=2),
            Sample(make(4), make(2), start=-2, end=9),
        ],
        method="slice_scatter",
        out=True,
        errors=lambda make: [Raises(RuntimeError, "[3]", make(4), make(3), 0, 0, 2)],
    ),
]
