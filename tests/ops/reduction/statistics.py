"""Rows of covariances and integrals of samples."""

from __future__ import annotations

import numpy as np

from tests.harness.row import Fixed, Maker, OpRow, Raises, Sample

DOUBLE = ("float32", "float64")


def covariances(make: Maker) -> list[Sample]:
    counts, weights = np.array([1, 2, 1, 3]), np.array([0.1, 0.2, 0.3, 0.4], make.dtype)
    return [
        Sample(make(3, 4)),
        Sample(make(4)),
        Sample(make(3, 4), correction=0),
        Sample(make(3, 4), fweights=counts),
        Sample(make(3, 4), aweights=Fixed(weights)),
        Sample(make(3, 4), aweights=Fixed(weights), fweights=counts),
        Sample(make(3, 4), aweights=Fixed(weights), correction=0),
    ]


def samples(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 4)),
        Sample(make(2, 4), dim=0),
        Sample(make(2, 4), dx=0.5),
        Sample(make(2, 3), np.array([0, 1, 3], make.dtype)),
        Sample(make(3, 2), np.array([0, 1, 3], make.dtype), dim=0),
        Sample(make(2, 3), make(2, 3)),
        Sample(make(2, 1)),
    ]


ROWS = [
    OpRow(
        "cov",
        covariances,
        dtypes=DOUBLE,
        method="cov",
        errors=lambda make: [
            Raises(RuntimeError, "3 dimensions", make(2, 2, 2)),
            Raises(RuntimeError, "fweights", make(2, 3), fweights=make(3)),
            Raises(RuntimeError, "2 != 3", make(2, 3), fweights=np.array([1, 2])),
        ],
    ),
    OpRow(
        "corrcoef",
        lambda make: [Sample(make(3, 5)), Sample(make(4))],
        dtypes=DOUBLE,
        method="corrcoef",
        tolerance={"float64": (1e-10, 1e-10), "float32": (1e-5, 1e-5)},
        reason="the gradient of a correlation of 1 is the rounding of a difference of equal terms",
    ),
    OpRow(
        "trapezoid",
        samples,
        dtypes=DOUBLE,
        aliases=("trapz",),
        errors=lambda make: [Raises(RuntimeError, "sample point", make(2, 3), make(2))],
    ),
    OpRow("cumulative_trapezoid", samples, dtypes=DOUBLE),
    OpRow(
        "gradient",
        lambda make: [
            Sample(make(3, 4)),
            Sample(make(3, 4), spacing=0.5, edge_order=2),
            Sample(make(3, 4), dim=(1, 0), spacing=(2, 0.5)),
            Sample(make(5), spacing=(Fixed(np.array([0, 1, 3, 4, 6], make(1).dtype)),)),
            Sample(
                make(2, 4),
                spacing=(Fixed(np.array([0, 1, 3, 4], make(1).dtype)),),
                dim=1,
                edge_order=2,
            ),
            Sample(make(2)),
        ],
        dtypes=("float32", "float64", "complex128", "int64"),
        again="torch divides by the number itself, which is saved in no tensor",
        errors=lambda make: [
            Raises(RuntimeError, "size", make(1)),
            Raises(RuntimeError, "size", make(2), edge_order=2),
            Raises(RuntimeError, "edge_order", make(4), edge_order=3),
            Raises(RuntimeError, "spacing", make(2, 2), spacing=(1.0,)),
            Raises(RuntimeError, "dim", make(2, 2), dim=(0, 0)),
            Raises(TypeError, "input", 1.0),
        ],
    ),
]
