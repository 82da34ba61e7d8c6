"""Rows of windows as columns and back, and of the shuffles."""

from __future__ import annotations

from typing import Any

from tests.harness.row import COMPLEX, FLOATS, INTS, Maker, OpRow, Raises, Sample

F = "nn.functional."


def windows(make: Maker) -> list[Sample]:
    x = make(2, 2, 4, 3)
    return [
        Sample(x, 2),
        Sample(x, (3, 2), 1, (1, 0), [2, 1]),
        Sample(x[0], 2, dilation=2, padding=1),
    ]


def columns(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 8, 6), (4, 3), 2),
        Sample(make(1, 12, 4), (4, 3), (3, 2), 1, (1, 0), [2, 1]),
        Sample(make(4, 12), (4, 3), 2, dilation=2, padding=1),
    ]


def no_window(make: Maker) -> list[Raises]:
    x = make(1, 2, 4, 4)
    return [
        Raises(RuntimeError, "batched", make(1, 1, 2, 4, 4), 2),
        Raises(RuntimeError, "non-zero dimensions", make(1, 0, 4, 4), 2),
        Raises(RuntimeError, "sliding blocks", x, 5),
        Raises(RuntimeError, "kernel_size", x, 0),
        Raises(RuntimeError, "kernel_size", x, (1, 1, 1)),
        Raises(TypeError, "kernel_size", x, 2.5),
        Raises(RuntimeError, "padding", x, 2, padding=-1),
        Raises(RuntimeError, "dilation", x, 2, dilation=0),
        Raises(RuntimeError, "stride", x, 2, stride=0),
    ]


def no_columns(make: Maker) -> list[Raises]:
    x = make(1, 8, 9)
    return [
        Raises(RuntimeError, "batched", make(1, 1, 8, 9), 4, 2),
        Raises(RuntimeError, "divisible", make(1, 7, 9), 4, 2),
        Raises(RuntimeError, "sliding blocks", make(1, 8, 8), 4, 2),
        Raises(RuntimeError, "kernel_size", x, 4, 0),
        Raises(TypeError, "output_size", x, 4.5, 2),
    ]


def shuffled(make: Maker) -> list[Sample]:
    return [Sample(make(2, 8, 2, 3), 2), Sample(make(9, 1, 2), 3), Sample(make(1, 2, 4, 2, 1), 2)]


def unshuffled(make: Maker) -> list[Sample]:
    return [Sample(make(2, 2, 4, 6), 2), Sample(make(1, 3, 6), 3), Sample(make(1, 2, 1, 2, 2), 2)]


def regrouped(make: Maker) -> list[Sample]:
    return [Sample(make(2, 6, 2, 1), 3), Sample(make(1, 4, 2), 2)]


def wrong_factor(bad: tuple[int, ...], noun: str) -> Any:
    return lambda make: [
        Raises(RuntimeError, noun, make(*bad), 2),
        Raises(RuntimeError, "positive", make(*bad), 0),
        Raises(RuntimeError, "3 dimensions", make(4, 4) if noun != "groups" else make(4, 2), 2),
        Raises(TypeError, "int", make(*bad), 2.0),
    ]


ROWS = [
    OpRow(F + "unfold", windows, dtypes=FLOATS + COMPLEX, errors=no_window),
    OpRow(
        F + "fold",
        columns,
        dtypes=FLOATS + COMPLEX,
        errors=no_columns,
        tolerance={"float16": (2**-10, 1e-2), "bfloat16": (2**-7, 5e-2)},
        reason="torch adds numbers of half precision in half precision",
    ),
    OpRow(
        "pixel_shuffle",
        shuffled,
        aliases=(F + "pixel_shuffle",),
        dtypes=FLOATS + INTS,
        errors=wrong_factor((1, 6, 2, 3), "upscale_factor"),
    ),
    OpRow(
        "pixel_unshuffle",
        unshuffled,
        aliases=(F + "pixel_unshuffle",),
        dtypes=FLOATS + INTS,
        errors=wrong_factor((1, 2, 5, 6), "downscale_factor"),
    ),
    OpRow(
        "channel_shuffle",
        regrouped,
        aliases=(F + "channel_shuffle",),
        dtypes=FLOATS + INTS,
        errors=wrong_factor((1, 5, 2, 3), "groups"),
    ),
]
