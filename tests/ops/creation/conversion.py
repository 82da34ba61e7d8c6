"""Rows of conversions between dtypes, devices and memory."""

from __future__ import annotations

from tests.harness.row import (
    ALL,
    COMPLEX,
    FLOATS,
    INTS,
    NUMBERS,
    Maker,
    Named,
    OpRow,
    Raises,
    Sample,
)

NARROW = ("float32", "float16", "bfloat16", "int64", "complex64")
WIDE = ("float32", "float64")


def whole(make: Maker) -> list[Sample]:
    return [Sample(make(2, 3, low=0)), Sample(make(low=0)), Sample(make(0, 2))]


def targets(make: Maker) -> list[Sample]:
    x = make(2, 3, low=0)
    return [
        Sample(x, make.named("float64")),
        Sample(x, "cpu"),
        Sample(x, "cpu", make.named("complex128")),
        Sample(x, make(1, dtype="float64")),
        Sample(x, dtype=make.named("complex128")),
        Sample(x, device="cpu", non_blocking=True, copy=True),
        Sample(x, make.named("int32"), False, True),
        Sample(x),
    ]


def overwritten(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3), make(2, 3)),
        Sample(make(2, 3), make(3)),
        Sample(make(2, 3), make()),
        Sample(make(2), make(2, dtype="float64", low=0)),
    ]


ROWS = [
    OpRow(
        "clone",
        lambda make: [*whole(make), Sample(make(2), memory_format=make.named("contiguous_format"))],
        dtypes=ALL,
        method="clone",
        errors=lambda make: [Raises(TypeError, "input", 3)],
    ),
    OpRow("Tensor.contiguous", lambda make: [Sample(make(2, 3)), Sample(make(2, 3).T)], dtypes=ALL),
    OpRow(
        "Tensor.to",
        targets,
        dtypes=(*FLOATS, *INTS),
        errors=lambda make: [
            Raises(RuntimeError, "nowhere", make(2), "nowhere"),
            Raises(TypeError, "surprise", make(2), surprise=1),
        ],
    ),
    *(OpRow(f"Tensor.{name}", whole, dtypes=NUMBERS) for name in ("double", "cdouble")),
    # No double precision: finite differences drown in the rounding to a narrower dtype.
    *(
        OpRow(f"Tensor.{name}", whole, dtypes=NARROW)
        for name in ("float", "half", "bfloat16", "cfloat")
    ),
    *(
        OpRow(f"Tensor.{name}", whole, dtypes=NUMBERS, differentiable=False)
        for name in ("int", "long", "short", "char", "byte", "bool")
    ),
    OpRow(
        "Tensor.type",
        lambda make: [
            Sample(make(2), make.named("float64")),
            Sample(make(2), "torch.DoubleTensor"),
        ],
        dtypes=("float32", "float64", "int64"),
        errors=lambda make: [Raises(ValueError, "NoTensor", make(2), "torch.NoTensor")],
    ),
    OpRow(
        "Tensor.type_as",
        lambda make: [Sample(make(2), make(1, dtype="float64"))],
        dtypes=WIDE,
        errors=lambda make: [Raises(TypeError, "other", make(2), 3)],
    ),
    OpRow("Tensor.cpu", whole, dtypes=ALL),
    OpRow(
        "Tensor.to_dense",
        lambda make: [Sample(make(2, 3)), Sample(make(2), Named("float64"))],
        dtypes=WIDE,
        errors=lambda make: [Raises(TypeError, "dtype", make(2), "float64")],
    ),
    OpRow(
        "Tensor.copy_",
        overwritten,
        dtypes=(*FLOATS, "int64", *COMPLEX),
        errors=lambda make: [
            Raises(RuntimeError, "3", make(2), make(3)),
            Raises(TypeError, "other", make(2), [1, 2]),
        ],
    ),
    OpRow(
        "Tensor.fill_",
        lambda make: [Sample(make(2, 3), 2), Sample(make(2), 1.5), Sample(make(2), make())],
        dtypes=(*FLOATS, *INTS),
        errors=lambda make: [
            Raises(RuntimeError, "dimension", make(2), make(1)),
            Raises(TypeError, "value", make(2), "one"),
            Raises(RuntimeError, "overflow", make(2, dtype="uint8"), 300),
            Raises(RuntimeError, "overflow", make(2, dtype="int64"), 1j),
        ],
    ),
    OpRow("fill", lambda make: [Sample(make(2, 3), 2), Sample(make(2), make())], dtypes=WIDE),
    OpRow("Tensor.zero_", whole, dtypes=ALL),
    OpRow("resolve_conj", whole, dtypes=NUMBERS, method="resolve_conj"),
    OpRow("resolve_neg", whole, dtypes=NUMBERS, method="resolve_neg"),
]
