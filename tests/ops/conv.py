"""Rows of the convolutions and the transposed convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.harness.row import COMPLEX, FLOATS, INTS, Maker, OpRow, Raises, Sample

SIZES = ((5,), (3, 4), (2, 2, 3))
KERNELS = ((3,), (3, 2), (2, 1, 2))
Samples = Callable[[Maker], Sequence[Sample]]

# One product has few terms here, but they differ in sign, so that a sum may be far smaller than
# what it is made of.
TOLERANCE = {"float32": (5e-6, 1e-5), "complex64": (5e-6, 2e-5)}
REASON = "torch sums the products in another order"


def convolutions(axes: int) -> Samples:
    size, kernel = SIZES[axes - 1], KERNELS[axes - 1]
    one, two = (1,) * axes, (2,) * axes

    def make_samples(make: Maker) -> list[Sample]:
        # One volume is enough: differences are taken one element at a time.
        x = make(1 if axes == 3 else 2, 2, *size)
        weight, bias = make(3, 2, *kernel), make(3)
        samples = [
            Sample(x, weight),
            Sample(x, weight, bias, stride=2, padding=1),
            Sample(x, make(4, 1, *kernel), make(4), 1, [1] * axes, groups=2),
            Sample(x, make(3, 2, *one), bias),
            Sample(x[0], make(2, 2, *two), padding="same"),
            Sample(make(1, 2, *two), make(3, 2, *two), padding="valid"),
        ]
        if make.dtype not in INTS:  # which torch cannot dilate
            samples.append(Sample(x, make(2, 1, *kernel), None, groups=2, dilation=2, padding=2))
        return samples

    return make_samples


def transposed(axes: int) -> Samples:
    size, kernel = ((4,), (2, 3), (1, 2, 2))[axes - 1], KERNELS[axes - 1]

    def samples(make: Maker) -> list[Sample]:
        x = make(1 if axes == 3 else 2, 2, *size)
        weight, bias = make(2, 2, *kernel), make(2)
        return [
            Sample(x, weight),
            Sample(x, weight, bias, stride=2, padding=1, output_padding=1),
            Sample(x[:1], weight, make(4), 3, groups=2, output_padding=[2] * axes),
            Sample(x[:1], weight, None, dilation=2, output_padding=1),
            Sample(x[0], make(2, 3, *(1 for _ in kernel)), make(3)),
        ]

    return samples


def empty_batch(axes: int) -> Samples:
    size, kernel = SIZES[axes - 1], KERNELS[axes - 1]
    return lambda make: [Sample(make(0, 3, *size), make(3, 3, *kernel), make(3))]


def wrong(axes: int, transpose: bool = False) -> Callable[[Maker], Sequence[Raises]]:
    size = (5,) * axes

    def errors(make: Maker) -> list[Raises]:
        x = make(2, 4, *size)
        weight = make(4, 4, *(3 for _ in size))
        narrow = make(2, 3, *size)
        three = (1,) * (axes + 1) if axes > 1 else (1, 1)
        common = [
            Raises(TypeError, "input", [1.0], weight),
            Raises(TypeError, "weight", x, 2),
            Raises(TypeError, "bias", x, weight, 2),
            Raises(TypeError, "stride", x, weight, stride=1.5),
            Raises(TypeError, "dilation", x, weight, dilation="1"),
            Raises(RuntimeError, "batched", make(*size), weight),
            Raises(RuntimeError, "weight", x, make(4, 4)),
            Raises(RuntimeError, "channels", narrow, weight),
            Raises(RuntimeError, "groups", x, weight, groups=3),
            Raises(RuntimeError, "groups", x, weight, groups=0),
            Raises(RuntimeError, "kernel", x, make(4, 4, *(0 for _ in size))),
            Raises(RuntimeError, "bias", x, weight, make(3)),
            Raises(RuntimeError, "dtype", x, make(4, 4, *(3 for _ in size), dtype="float64")),
            Raises(RuntimeError, "dtype", x, weight, make(4, dtype="float64")),
            Raises(RuntimeError, "stride", x, weight, stride=three),
            Raises(RuntimeError, "stride", x, weight, stride=0),
            Raises(RuntimeError, "padding", x, weight, padding=-1),
            Raises(RuntimeError, "dilation", x, weight, dilation=0),
            Raises(NotImplementedError, "bool", x > 0, weight > 0),
        ]
        if transpose:
            return [
                *common,
                Raises(TypeError, "padding", x, weight, padding="same"),
                Raises(RuntimeError, "output_padding", x, weight, output_padding=1),
                Raises(RuntimeError, "output_padding", x, weight, stride=2, output_padding=-1),
                Raises(RuntimeError, "too small", x, weight, padding=6),
            ]
        return [
            *common,
            Raises(RuntimeError, "padding", x, weight, padding="all"),
            Raises(RuntimeError, "stride", x, weight, padding="same", stride=2),
            Raises(RuntimeError, "greater", x, make(4, 4, *(6 for _ in size))),
        ]

    return errors


def conv(axes: int) -> OpRow:
    return OpRow(
        f"conv{axes}d",
        convolutions(axes),
        aliases=(f"nn.functional.conv{axes}d",),
        dtypes=FLOATS + INTS + COMPLEX,
        edges=empty_batch(axes),
        errors=wrong(axes),
        tolerance=TOLERANCE,
        reason=REASON,
    )


def conv_transpose(axes: int) -> OpRow:
    return OpRow(
        f"conv_transpose{axes}d",
        transposed(axes),
        aliases=(f"nn.functional.conv_transpose{axes}d",),
        dtypes=(*FLOATS, "int64", *COMPLEX),
        edges=empty_batch(axes),
        errors=wrong(axes, True),
        tolerance=TOLERANCE | {"float16": (2**-10, 1e-2), "bfloat16": (2**-7, 5e-2)},
        reason=REASON + ", and those of half precision in half precision",
    )


ROWS = [
    *(conv(axes) for axes in (1, 2, 3)),
    *(conv_transpose(axes) for axes in (1, 2, 3)),
    OpRow(
        "conv_tbc",
        lambda make: [
            Sample(make(5, 2, 3), make(3, 3, 4), make(4)),
            Sample(make(3, 2, 1), make(2, 1, 2), make(2), 1),
            Sample(make(2, 1, 1), make(4, 1, 1), make(1), pad=2),
            Sample(make(5, 1, 2), make(2, 2, 1), make(1), pad=-1),
        ],
        aliases=("nn.functional.conv_tbc",),
        dtypes=FLOATS + INTS,
        edges=lambda make: [
            Sample(make(2, 2, 3), make(3, 3, 4), make(4)),
            Sample(make(3, 0, 3), make(3, 3, 4), make(4)),
            Sample(make(1, 2, 3), make(4, 3, 4), make(4), 4),
        ],
        errors=lambda make: [
            Raises(RuntimeError, "3 dimensions", make(2, 3), make(1, 3, 4), make(4)),
            Raises(RuntimeError, "bias", make(2, 1, 3), make(1, 3, 4), make(4, 1)),
            Raises(RuntimeError, "shapes", make(2, 1, 3), make(1, 2, 4), make(4)),
            Raises(RuntimeError, "shapes", make(2, 1, 3), make(1, 3, 4), make(3)),
            Raises(RuntimeError, "negative", make(2, 1, 3), make(4, 3, 4), make(4)),
            Raises(RuntimeError, "Long", make(2, 1, 3), make(1, 3, 4, dtype="int64"), make(4)),
        ],
        tolerance={"float16": (2**-9, 1e-2), "bfloat16": (2**-6, 1e-1)},
        reason="half precision rounds after each product of the kernel's steps",
    ),
]
