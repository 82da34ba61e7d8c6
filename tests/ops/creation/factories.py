"""Rows of new tensors from sizes and numbers."""

from __future__ import annotations

from tests.harness.row import ALL, COMPLEX, FLOATS, INTS, Maker, OpRow, Raises, Sample

DOUBLE = ("float32", "float64")


def sized(make: Maker) -> list[Sample]:
    return [
        Sample(2, 3),
        Sample((2, 3)),
        Sample([2]),
        Sample(()),
        Sample(0, 2),
        Sample(size=(2,)),
        Sample(2, dtype=make.named()),
        Sample(2, dtype=float),
        Sample(2, device="cpu"),
    ]


def nothing(make: Maker) -> list[Sample]:
    """Memory of whatever value can only be compared where there is none."""
    return [Sample(0), Sample((2, 0), dtype=make.named()), Sample(size=(0, 3))]


def size_errors(make: Maker) -> list[Raises]:
    return [
        Raises(RuntimeError, "negative", -1),
        Raises(TypeError, "size", 2.5),
        Raises(TypeError, "size", 2, "three"),
        Raises(TypeError, "dtype", 2, dtype="float32"),
        Raises(TypeError, "surprise", 2, surprise=1),
        Raises(RuntimeError, "nowhere", 2, device="nowhere"),
    ]


def like(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3)),
        Sample(make()),
        Sample(make(0, 2)),
        Sample(make(2), dtype=make.named("float64")),
        Sample(make(2), device="cpu", dtype=make.named("int32")),
    ]


def not_tensor(make: Maker) -> list[Raises]:
    return [Raises(TypeError, "input", 3)]


def filled(make: Maker) -> list[Sample]:
    return [
        Sample((2, 3), 3),
        Sample((2,), 2.5),
        Sample((2,), True),
        Sample((), 1),
        Sample((0,), 1),
        Sample((2,), 1, dtype=make.named()),
        Sample((2,), -1, dtype=make.named("uint8")),
        Sample((2,), 2.7, dtype=make.named("int32")),
        Sample((2,), float("inf"), dtype=make.named("float16")),
        Sample([2], fill_value=4),
    ]


ROWS = [
    OpRow("zeros", sized, dtypes=ALL, differentiable=False, out=False, errors=size_errors),
    OpRow("ones", sized, dtypes=ALL, differentiable=False, errors=size_errors),
    OpRow("empty", nothing, dtypes=ALL, differentiable=False, errors=size_errors),
    OpRow(
        "full",
        filled,
        dtypes=(*FLOATS, *INTS),
        differentiable=False,
        errors=lambda make: [
            Raises(TypeError, "size", 2, 3),
            Raises(TypeError, "fill_value", (2,), "one"),
            Raises(RuntimeError, "overflow", (2,), 300, dtype=make.named("uint8")),
            Raises(RuntimeError, "overflow", (2,), 1e39, dtype=make.named("float32")),
            Raises(RuntimeError, "overflow", (2,), 1j, dtype=make.named("float32")),
        ],
    ),
    OpRow("zeros_like", like, dtypes=ALL, differentiable=False, errors=not_tensor),
    OpRow("ones_like", like, dtypes=ALL, differentiable=False, errors=not_tensor),
    OpRow(
        "empty_like",
        lambda make: [Sample(make(0, 2)), Sample(make(0), dtype=make.named("int8"))],
        dtypes=ALL,
        differentiable=False,
        errors=not_tensor,
    ),
    OpRow(
        "full_like",
        lambda make: [Sample(make(2, 3), 2), Sample(make(2), 2.5, dtype=make.named("float64"))],
        dtypes=(*FLOATS, *INTS),
        differentiable=False,
        errors=lambda make: [Raises(TypeError, "input", 3, 1)],
    ),
    OpRow(
        "empty_strided",
        lambda make: [Sample((0, 2), (2, 1)), Sample((2, 0), (1, 2), dtype=make.named())],
        dtypes=ALL,
        differentiable=False,
        errors=lambda make: [Raises(RuntimeError, "strides", (2, 3), (1,))],
    ),
    OpRow(
        "scalar_tensor",
        lambda make: [Sample(3), Sample(2.5), Sample(1, dtype=make.named())],
        dtypes=ALL,
        differentiable=False,
    ),
    OpRow(
        "eye",
        lambda make: [
            Sample(3),
            Sample(2, 3),
            Sample(3, 2),
            Sample(0),
            Sample(2, dtype=make.named()),
        ],
        dtypes=ALL,
        differentiable=False,
        errors=lambda make: [Raises(RuntimeError, "-1", -1), Raises(RuntimeError, "-1", 2, -1)],
    ),
    OpRow(
        "complex",
        lambda make: [
            Sample(make(2, 3), make(2, 3)),
            Sample(make(2, 1), make(3)),
            Sample(make(), make()),
        ],
        dtypes=DOUBLE,
        out=True,
        edges=lambda make: [Sample(make(0), make(0))],
        errors=lambda make: [
            Raises(RuntimeError, "Double", make(2), make(2, dtype="float64")),
            Raises(RuntimeError, "Long", make(2, dtype="int64"), make(2, dtype="int64")),
            Raises(TypeError, "imag", make(2), 3),
        ],
    ),
    OpRow(
        "polar",
        lambda make: [Sample(make(2, 3), make(2, 3)), Sample(make(2, 1), make(3))],
        dtypes=DOUBLE,
        domain=(0.2, 2.0),
        out=True,
        errors=lambda make: [Raises(RuntimeError, "Double", make(2), make(2, dtype="float64"))],
    ),
    *(
        OpRow(
            f"Tensor.new_{name}",
            lambda make: [
                Sample(make(2), 2, 3),
                Sample(make(2), (3,)),
                Sample(make(2), size=(0, 2)),
                Sample(make(2), 2, dtype=make.named("float64")),
            ],
            dtypes=ALL,
            differentiable=False,
        )
        for name in ("zeros", "ones")
    ),
    OpRow(
        "Tensor.new_empty", lambda make: [Sample(make(2), 0, 3)], dtypes=ALL, differentiable=False
    ),
    OpRow(
        "Tensor.new_full",
        lambda make: [
            Sample(make(2), (3,), 2),
            Sample(make(2), (1, 2), 2.5, dtype=make.named("float64")),
        ],
        dtypes=(*FLOATS, *INTS, *COMPLEX),
        differentiable=False,
    ),
    OpRow(
        "Tensor.new_tensor",
        lambda make: [Sample(make(2), [1, 2]), Sample(make(2), 3, dtype=make.named("float64"))],
        dtypes=(*FLOATS, *INTS, *COMPLEX),
        differentiable=False,
    ),
]
