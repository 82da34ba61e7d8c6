"""Rows of softmax and its logarithm."""

from __future__ import annotations

from tests.harness.row import Maker, OpRow, Raises, Sample

F = "nn.functional."
ROUNDED = {"float16": (2**-10, 2e-3), "bfloat16": (2**-7, 2e-2)}
REASON = "torch rounds maximum and logarithm to half precision before it subtracts them"


def along_dims(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), 1),
        Sample(make(3, 4), 0),
        Sample(make(2, 3, 4), -2),
        Sample(make(5), 0),
        Sample(make(2, 40, 3), 1),
        Sample(make(2, 3), 1, dtype=make.named("float64")),
    ]


def extremes(make: Maker) -> list[Sample]:
    rows = make(4, 3)
    rows[0, 0], rows[1, 1], rows[2] = float("inf"), float("nan"), float("-inf")
    large = make(2, 3) * 1000
    return [
        Sample(rows, 1),
        Sample(large, 1),
        Sample(make(), 0),
        Sample(make(), -1),
        Sample(make(0, 3), 1),
        Sample(make(0, 3), 0),
        Sample(make(3, 0), 1),
    ]


def wrong(make: Maker) -> list[Raises]:
    return [
        Raises(IndexError, "got 2", make(2, 3), 2),
        Raises(NotImplementedError, "int64", make(2, 3, dtype="int64"), 1),
        Raises(NotImplementedError, "complex64", make(2, 3, dtype="complex64"), 1),
        Raises(TypeError, "NoneType", make(2, 3), None),
        Raises(TypeError, "input", 3.0, 1),
    ]


def by_keyword(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), dim=1),
        Sample(make(3, 4), 0),
        Sample(make(2, 3), -1, dtype=make.named("float64")),
    ]


ROWS = [
    OpRow(
        "softmax",
        along_dims,
        edges=extremes,
        out=True,
        tracks_out=True,
        method="softmax",
        errors=wrong,
    ),
    OpRow(
        "log_softmax",
        along_dims,
        edges=extremes,
        out=True,
        tracks_out=True,
        method="log_softmax",
        errors=wrong,
        tolerance=ROUNDED,
        reason=REASON,
    ),
    OpRow(F + "softmax", by_keyword, edges=extremes),
    OpRow(F + "log_softmax", by_keyword, edges=extremes, tolerance=ROUNDED, reason=REASON),
    OpRow(F + "softmin", by_keyword, edges=extremes),
    OpRow(
        F + "gumbel_softmax",
        lambda make: [
            Sample(make(3, 4)),
            Sample(make(3, 4), 0.5, dim=0),
            Sample(make(5), hard=True),
        ],
        dtypes=("float32",),
        errors=lambda make: [Raises(IndexError, "3", make(2, 3), dim=3)],
    ),
]
