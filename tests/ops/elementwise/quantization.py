"""Rows of fake quantization."""

from __future__ import annotations

import numpy as np

from tests.harness.row import Fixed, Maker, OpRow, Raises, Sample


def levels(make: Maker, zero_point: str = "int32") -> list[Sample]:
    scale = make(3, low=0.05, high=0.3, dtype="float32")
    zero = Fixed(np.array([0, 2, -3], zero_point))
    return [
        Sample(make(2, 3, 4), Fixed(scale), zero, 1, -8, 7),
        Sample(make(3), Fixed(scale), zero, 0, -100, 100),
        Sample(make(0, 3), Fixed(scale), zero, 1, -8, 7),
    ]


def no_channels(make: Maker) -> list[Raises]:
    x = make(2, 3, dtype="float32")
    scale, zero = np.ones(3, np.float32), np.zeros(3, np.int32)
    return [
        Raises(RuntimeError, "scale", x, scale[:2], zero, 1, 0, 7),
        Raises(RuntimeError, "scale", x, scale, zero, 0, 0, 7),
        Raises(RuntimeError, "scale", x, scale.astype(np.float64), zero, 1, 0, 7),
        Raises(RuntimeError, "zero_point", x, scale, zero.astype(np.int64), 1, 0, 7),
        Raises(RuntimeError, "zero_point", x, scale, zero + 9, 1, 0, 7),
        Raises(RuntimeError, "quant_min", x, scale, zero, 1, 7, 0),
        Raises(IndexError, "range", x, scale, zero, 2, 0, 7),
    ]


def no_levels(make: Maker) -> list[Raises]:
    x = make(2, 3, dtype="float32")
    return [
        Raises(RuntimeError, "zero_point", x, 0.1, 9, 0, 7),
        Raises(RuntimeError, "quant_min", x, 0.1, 3, 7, 0),
        Raises(TypeError, "zero_point", x, 0.1, 0.5, 0, 7),
        Raises(NotImplementedError, "fake_quantize", np.arange(3), 0.1, 0, 0, 7),
    ]


ROWS = [
    OpRow(
        "fake_quantize_per_tensor_affine",
        lambda make: [
            Sample(make(2, 3), 0.1, 0, 0, 15),
            Sample(make(2, 3), 0.13, 3, -8, 7),
            Sample(make(2, 3), Fixed(np.array(0.13, np.float32)), np.array(3, np.int32), -8, 7),
            Sample(make(0), 0.1, 0, 0, 15),
        ],
        straight_through=True,
        errors=no_levels,
    ),
    OpRow(
        "fake_quantize_per_channel_affine",
        lambda make: [*levels(make), *levels(make, "float32")],
        straight_through=True,
        errors=no_channels,
    ),
]
