"""Rows of numbers at equal distances."""

from __future__ import annotations

import math

from tests.harness.row import INTS, Maker, OpRow, Raises, Sample

NUMBERS = ("float32", "float64", *INTS)


def steps(make: Maker) -> list[Sample]:
    return [
        Sample(5),
        Sample(0),
        Sample(2.5),
        Sample(1, 4),
        Sample(1, 2, 0.3),
        Sample(5, 0, -2),
        Sample(end=3),
        Sample(start=1, end=3),
        Sample(0, 3, step=2),
        Sample(1, 8, 2, dtype=make.named()),
        Sample(0, 100, 7, dtype=make.named()),
        Sample(make(1, dtype="int64", low=4, high=4).reshape(())),
    ]


def spaced(make: Maker) -> list[Sample]:
    return [
        Sample(0, 1, 5),
        Sample(-3, 10, steps=7),
        Sample(0, 1, 1),
        Sample(0, 1, 0),
        Sample(5, -5, 11, dtype=make.named("float64")),
        Sample(0, 10, 4, dtype=make.named()),
        Sample(2.5, 2.5, 3),
    ]


ROWS = [
    OpRow(
        "arange",
        steps,
        dtypes=NUMBERS,
        differentiable=False,
        errors=lambda make: [
            Raises(RuntimeError, "nonzero", 0, 3, 0),
            Raises(RuntimeError, "sign", 3, 0),
            Raises(RuntimeError, "sign", 0, 3, -1),
            Raises(RuntimeError, "inf", 0, math.inf),
            Raises(RuntimeError, "nan", 0, math.nan),
            Raises(TypeError, "end", "three"),
            Raises(TypeError, "end"),
            Raises(TypeError, "expected", 1, 2, 3, 4),
            Raises(NotImplementedError, "bool", 3, dtype=make.named("bool")),
        ],
    ),
    OpRow(
        "linspace",
        spaced,
        dtypes=NUMBERS,
        differentiable=False,
        errors=lambda make: [
            Raises(RuntimeError, "-1", 0, 1, -1),
            Raises(TypeError, "steps", 0, 1),
            Raises(TypeError, "steps", 0, 1, 2.5),
            Raises(RuntimeError, "overflow", -1.0, 1, 3, dtype=make.named("uint8")),
            Raises(RuntimeError, "overflow", 0, 1e5, 2, dtype=make.named("float16")),
        ],
    ),
    OpRow(
        "logspace",
        lambda make: [
            Sample(0, 2, 3),
            Sample(0, 3, steps=4, base=2),
            Sample(-1, 1, 5, dtype=make.named("float64")),
            Sample(0, 2, 3, dtype=make.named()),
            Sample(0, 1, 0),
        ],
        dtypes=NUMBERS,
        differentiable=False,
        errors=lambda make: [
            Raises(RuntimeError, "-1", 0, 1, -1),
            Raises(RuntimeError, "overflow", 300, 1, 2, dtype=make.named("uint8")),
        ],
    ),
]
