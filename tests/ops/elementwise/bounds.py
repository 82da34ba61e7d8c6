"""Rows of the bounds: extremes of two, clamping, replacing what is not finite."""

from __future__ import annotations

from tests.harness.elementwise import binary, two
from tests.harness.row import REALS, Maker, OpRow, Raises, Sample


def bounds(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3), -1, 1),
        Sample(make(2, 3), min=0),
        Sample(make(2, 3), max=1),
        Sample(make(2, 3), make(2, 3, high=0), make(2, 3, low=0)),
        Sample(make(2, 3), 1, -1),
    ]


ROWS = [
    OpRow(
        "clamp",
        bounds,
        dtypes=REALS,
        elementwise=True,
        out=True,
        inplace="clamp_",
        method="clamp",
        aliases=("clip",),
        broadcasts=False,  # torch's gradient fails for bounds that are larger than the input
        edges=lambda make: [Sample(make(2, 3), make(3), make(2, 1)), Sample(make(2, 3), make(1))],
        errors=lambda make: [Raises(RuntimeError, "min", make(2))],
    ),
    binary("clamp_min", dtypes=REALS),
    binary("clamp_max", dtypes=REALS),
    binary("maximum", samples=two, dtypes=REALS, inplace=()),
    binary("minimum", samples=two, dtypes=REALS, inplace=()),
    binary("fmax", samples=two, dtypes=REALS, inplace=()),
    binary("fmin", samples=two, dtypes=REALS, inplace=()),
    OpRow(
        "nan_to_num",
        lambda make: [Sample(make(2, 3)), Sample(make(2, 3), nan=1.0, posinf=2.0, neginf=-2.0)],
        dtypes=REALS,
        elementwise=True,
        out=True,
        inplace="nan_to_num_",
        method="nan_to_num",
    ),
]
