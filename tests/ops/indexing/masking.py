"""Rows of the ops on masks."""

from __future__ import annotations

import numpy as np

from tests.harness.row import ALL, REALS, OpRow, Raises, Sample

HALF = np.array([True, False, True])

ROWS = [
    OpRow(
        "masked_fill",
        lambda make: [
            Sample(make(2, 3), make.mask(2, 3), 2),
            Sample(make(2, 3), HALF, 0),
            Sample(make(3), make.mask(2, 3), 1),
            Sample(make(2, 3), HALF, make()),
        ],
        dtypes=REALS,
        inplace="masked_fill_",
        method="masked_fill",
        errors=lambda make: [
            Raises(RuntimeError, "1 dim", make(3), HALF, make(1)),
            Raises(RuntimeError, "float", make(3), make(3, dtype="float32"), 1.0),
            Raises(RuntimeError, "3", make(2), HALF, 1.0),
        ],
    ),
    OpRow(
        "masked_select",
        lambda make: [
            Sample(make(2, 3), make.mask(2, 3)),
            Sample(make(2, 1), HALF),
            Sample(make(3), ~HALF & HALF),
        ],
        dtypes=ALL,
        out=True,
        method="masked_select",
        errors=lambda make: [
            Raises(RuntimeError, "int64", make(3), np.arange(3)),
            Raises(RuntimeError, "3", make(2), HALF),
        ],
    ),
    OpRow(
        "masked_scatter",
        lambda make: [
            Sample(make(2, 3), make.mask(2, 3), make(7)),
            Sample(make(2, 3), HALF, make(2, 2)),
        ],
        dtypes=ALL,
        inplace="masked_scatter_",
        method="masked_scatter",
        errors=lambda make: [Raises(RuntimeError, "2 true", make(3), HALF, make(1))],
    ),
    OpRow(
        "nonzero",
        lambda make: [
            Sample(make.mask(3, 4)),
            Sample(make.index(5, below=2).astype("float32"), as_tuple=True),
            Sample(np.array(3)),
            Sample(np.array(3), as_tuple=True),
        ],
        dtypes=("int64",),
        differentiable=False,
        out=True,
        method="nonzero",
    ),
    OpRow(
        "nonzero_static",
        lambda make: [
            Sample(make.mask(3, 4), size=4),
            Sample(make.mask(3, 4), size=20, fill_value=7),
            Sample(np.array(3), size=2),
        ],
        dtypes=("int64",),
        differentiable=False,
        out=True,
        method="nonzero_static",
        errors=lambda make: [Raises(RuntimeError, "size", make(2), size=-1)],
    ),
    OpRow(
        "argwhere",
        lambda make: [Sample(make.mask(3, 4)), Sample(np.array(0))],
        dtypes=("int64",),
        differentiable=False,
        method="argwhere",
    ),
    OpRow(
        "Tensor.fill_diagonal_",
        lambda make: [
            Sample(make(3, 4), 2),
            Sample(make(6, 2), 1, wrap=True),
            Sample(make(2, 2, 2), 3),
        ],
        dtypes=ALL,
        errors=lambda make: [
            Raises(RuntimeError, "2", make(3), 1),
            Raises(RuntimeError, "equal", make(2, 2, 3), 1),
        ],
    ),
]
