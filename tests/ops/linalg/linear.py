"""Rows of linear and bilinear maps."""

from __future__ import annotations

from tests.harness.row import FLOATS, Maker, OpRow, Raises, Sample
from tests.ops.linalg.products import HALF_SUMS, ROUNDED


def maps(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3), make(4, 3)),
        Sample(make(2, 3), make(4, 3), make(4)),
        Sample(make(3), make(4, 3), make(4)),
        Sample(make(5, 2, 3), make(4, 3), make(4)),
        Sample(make(5, 2, 3), make(4, 3)),
        Sample(make(2, 3), make(3)),
        Sample(make(3), make(3)),
        Sample(make(2, 3), make(4, 3), bias=make(1)),
    ]


ROWS = [
    OpRow(
        "nn.functional.linear",
        maps,
        dtypes=(*FLOATS, "complex128"),
        edges=lambda make: [
            Sample(make(0, 3), make(4, 3), make(4)),
            Sample(make(2, 0), make(4, 0)),
        ],
        tolerance=HALF_SUMS,
        reason=ROUNDED,
        errors=lambda make: [
            Raises(RuntimeError, "2x3 and 5x4", make(2, 3), make(4, 5)),
            Raises(RuntimeError, "bias", make(2, 3), make(4, 3), make(5)),
            Raises(RuntimeError, "Double", make(2, 3), make(4, 3, dtype="float64")),
            Raises(TypeError, "weight", make(2, 3), 3),
        ],
    ),
    OpRow(
        "nn.functional.bilinear",
        lambda make: [
            Sample(make(2, 3), make(2, 4), make(5, 3, 4)),
            Sample(make(2, 6, 3), make(2, 6, 4), make(5, 3, 4), make(5)),
            Sample(make(3), make(4), make(5, 3, 4), make(5)),
        ],
        dtypes=("float32", "float64"),
        aliases=("bilinear",),
        errors=lambda make: [
            Raises(RuntimeError, "[2, 4]", make(2, 3), make(2, 4), make(5, 3, 3)),
        ],
    ),
]
