"""Rows of the ops that search and count."""

from __future__ import annotations

import numpy as np

from tests.harness.row import ALL, FLOATS, INTS, Fixed, OpRow, Raises, Sample

REPEATED = np.array([3, 1, 1, 2, 3, 3, 1])
ROWS_OF = np.array([[1, 2], [1, 2], [0, 1], [1, 2]])
NAN = np.array([1.0, np.nan, np.nan, 1.0], "float32")
# Rows that NaN keeps from being ordered: few and many, as sorted by insertion and in parts.
UNORDERED = [
    np.array([0.0, 1.0, np.nan, 2.0], "float32")[(np.arange(2 * n) ** 2 + n) % 7 % 4].reshape(n, 2)
    for n in (7, 40)
]
# Integers far apart, which are sorted, and close together at the ends of their range.
FAR, LOWEST, HIGHEST = (np.array(v, "int8") for v in ((127, -128, 127), (-127, -128), (127, 126)))


def distinct(make):
    # Fixed: torch's unique raises in backward, ours has no history in the first place.
    repeated = Fixed(REPEATED.astype(make(1).dtype))
    rows = Fixed(ROWS_OF.astype(make(1).dtype))
    return [
        Sample(repeated),
        Sample(repeated, return_inverse=True, return_counts=True),
        Sample(rows, dim=0, return_inverse=True, return_counts=True),
        Sample(rows, return_counts=True),
        Sample(rows, return_inverse=True, dim=-1),
    ]


def searched(make):
    boundaries = np.asarray([-1, 1, 1, 3]).astype(make(1).dtype)
    rows = np.asarray([[-1, 1, 2], [0, 4, 4]]).astype(make(1).dtype)
    return [
        Sample(boundaries, make(2, 3)),
        Sample(boundaries, np.asarray([1, 3, 9]).astype(make(1).dtype), right=True),
        Sample(rows, make(2, 4), side="right"),
        Sample(boundaries, 1, out_int32=True),
        Sample(boundaries[::-1].copy(), make(3), sorter=np.array([3, 2, 1, 0])),
    ]


ROWS = [
    OpRow(
        "unique",
        distinct,
        dtypes=("float32", "float64", *INTS, "bool"),
        differentiable=False,
        edges=lambda make: [
            Sample(Fixed(NAN)),
            Sample(Fixed(make(0))),
            *(Sample(Fixed(v), return_inverse=True) for v in (FAR, LOWEST, HIGHEST)),
            *(Sample(Fixed(v), return_inverse=True, dim=0) for v in UNORDERED),
            *(Sample(Fixed(v.T), return_counts=True, dim=1) for v in UNORDERED),
        ],
        errors=lambda make: [Raises(NotImplementedError, "complex", make(2, dtype="complex64"))],
        method="unique",
    ),
    OpRow(
        "unique_consecutive",
        distinct,
        dtypes=("float32", "float64", *INTS, "bool"),
        differentiable=False,
        edges=lambda make: [Sample(Fixed(NAN)), Sample(Fixed(make(0)))],
        method="unique_consecutive",
    ),
    OpRow(
        "searchsorted",
        searched,
        dtypes=("float32", "float64", "int64"),
        differentiable=False,
        out=True,
        errors=lambda make: [
            Raises(RuntimeError, "[3, 4]", make(3, 4), make(2, 4)),
            Raises(RuntimeError, "up", make(3), make(2), side="up"),
            Raises(RuntimeError, "opposites", make(3), make(2), side="left", right=True),
            Raises(RuntimeError, "sorter", make(3), make(2), sorter=np.arange(2)),
            Raises(NotImplementedError, "bool", make(3, dtype="bool"), make(2, dtype="bool")),
        ],
    ),
    OpRow(
        "bucketize",
        lambda make: [
            Sample(make(2, 3), np.asarray([-1, 0, 1]).astype(make(1).dtype)),
            Sample(np.array(1.0), np.asarray([-1.0, 1]), right=True),
            Sample(1, np.asarray([0.0, 1]), out_int32=True),
        ],
        dtypes=("float32", "float64", "int64"),
        differentiable=False,
        out=True,
        errors=lambda make: [Raises(RuntimeError, "2", make(3), make(2, 2))],
    ),
    OpRow(
        "bincount",
        lambda make: [
            Sample(make.index(9, below=4, dtype=make.dtype)),
            Sample(make.index(9, below=4, dtype=make.dtype), minlength=6),
            Sample(make.index(3, below=4, dtype=make.dtype), np.array([1, 0.5, 2], "float32")),
            Sample(make.index(3, below=4, dtype=make.dtype), np.array([1, 5, 2])),
            Sample(make.index(0, below=4, dtype=make.dtype)),
        ],
        dtypes=INTS,
        differentiable=False,
        method="bincount",
        errors=lambda make: [
            Raises(RuntimeError, "negative", np.array([-1])),
            Raises(RuntimeError, "1-d", np.array([[1]])),
            Raises(NotImplementedError, "float32", make(2, dtype="float32")),
            Raises(RuntimeError, "-1", np.array([1]), minlength=-1),
            Raises(RuntimeError, "[2]", np.array([1]), np.array([1, 2], "float32")),
        ],
    ),
    OpRow(
        "histc",
        lambda make: [
            Sample(make(20), 5),
            Sample(make(4, 5), bins=4, min=-1, max=1),
            Sample(make(3) * 0, 3),
        ],
        dtypes=("float32", "float64"),
        differentiable=False,
        out=True,
        method="histc",
        errors=lambda make: [
            Raises(RuntimeError, "0", make(3), 0),
            Raises(RuntimeError, "larger", make(3), 3, 2, 1),
            Raises(NotImplementedError, "int64", make(3, dtype="int64")),
            Raises(RuntimeError, "finite", NAN, 3),
        ],
    ),
    OpRow(
        "histogram",
        lambda make: [
            Sample(Fixed(make(20)), 5),
            Sample(Fixed(make(4, 5)), bins=4, range=(-1.0, 1.0)),
            Sample(Fixed(make(20)), 4, weight=Fixed(make(20)), density=True),
            Sample(Fixed(make(20)), Fixed(np.asarray([-2, 0, 0.5, 1]).astype(make(1).dtype))),
        ],
        dtypes=("float32", "float64"),
        differentiable=False,
        method="histogram",
        errors=lambda make: [
            Raises(RuntimeError, "0", make(3), 0),
            Raises(RuntimeError, "[2]", make(3), 2, weight=make(2)),
            Raises(RuntimeError, "2 numbers", make(3), 2, range=(0.0, 1.0, 2.0)),
            Raises(NotImplementedError, "int64", make(3, dtype="int64"), 2),
            Raises(NotImplementedError, "bfloat16", make(3, dtype="bfloat16"), 2),
        ],
    ),
    OpRow(
        "histogramdd",
        lambda make: [
            Sample(Fixed(make(20, 2)), 3),
            Sample(Fixed(make(20, 2)), [3, 2], range=[-1.0, 1.0, 0.0, 2.0]),
            Sample(Fixed(make(4, 5, 3)), 2, weight=Fixed(make(4, 5)), density=True),
            Sample(
                Fixed(make(20, 2)),
                [
                    Fixed(np.asarray([-2, 0, 0.5, 1]).astype(make.dtype)),
                    Fixed(np.asarray([-1, 1]).astype(make.dtype)),
                ],
            ),
        ],
        dtypes=("float32", "float64"),
        differentiable=False,
        errors=lambda make: [
            Raises(RuntimeError, "each of the 2", make(3, 2), [2, 2, 2]),
            Raises(RuntimeError, "> 0", make(3, 2), 0),
            Raises(RuntimeError, "[2]", make(3, 2), 2, weight=make(2)),
            Raises(RuntimeError, "4 numbers", make(3, 2), 2, range=(0.0, 1.0)),
            Raises(RuntimeError, "2 dimensions", make(3), 2),
            Raises(TypeError, "element 0", make(3, 2), [0.5, 0.5]),
            Raises(TypeError, "bins", make(3, 2), make(3)),
            Raises(NotImplementedError, "int64", make(3, 2, dtype="int64"), 2),
        ],
    ),
    OpRow(
        "unravel_index",
        lambda make: [
            Sample(make.index(2, 3, below=24), (2, 3, 4)),
            Sample(np.array(5), (6,)),
            Sample(make.index(0, below=1), (2, 2)),
        ],
        dtypes=("int64",),
        differentiable=False,
        errors=lambda make: [
            Raises(TypeError, "float", make(3, dtype="float32"), (3,)),
            Raises(ValueError, "-1", np.array([0]), (-1,)),
        ],
    ),
    OpRow(
        "isin",
        lambda make: [
            Sample(make.index(3, 3, below=5, dtype="float32"), np.array([1, 3], "float32")),
            Sample(make.index(5, below=5), make.index(2, below=5), invert=True),
            Sample(make.index(5, below=5), 2),
            Sample(2, make.index(5, below=5), assume_unique=True),
        ],
        dtypes=("float32",),
        differentiable=False,
        out=True,
        errors=lambda make: [Raises(RuntimeError, "complex", make(2, dtype="complex64"), 1)],
    ),
    OpRow(
        "count_nonzero",
        lambda make: [
            Sample(make.index(3, 4, below=2).astype(make(1).dtype)),
            Sample(make.index(3, 4, below=2).astype(make(1).dtype), 0),
            Sample(make.index(3, 4, below=2).astype(make(1).dtype), (0, -1)),
        ],
        dtypes=tuple(d for d in ALL if d not in FLOATS[2:]),
        differentiable=False,
        method="count_nonzero",
        errors=lambda make: [Raises(IndexError, "got 2", make(2, 3), 2)],
    ),
]
