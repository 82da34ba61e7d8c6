"""Rows of tensors from Python data, buffers and other libraries' arrays."""

from __future__ import annotations

import math

from tests.harness.row import ALL, Maker, OpRow, Raises, Sample


def data(make: Maker) -> list[Sample]:
    return [
        Sample(1),
        Sample(1.5),
        Sample(True),
        Sample(2j),
        Sample([]),
        Sample([[]]),
        Sample([1, 2.5]),
        Sample([True, 2]),
        Sample([True, 2.5]),
        Sample([1, 2j]),
        Sample((1, 2)),
        Sample(range(3)),
        Sample([[1, 2], [3, 4]]),
        Sample([[[1.0]], [[2.0]]]),
        Sample([2**62, -(2**63)]),
        Sample([1e400, -math.inf, math.nan]),
        Sample([1, 0, 3], dtype=make.named()),
        Sample([1.7, 0.0], dtype=make.named("int32")),
        Sample([-1], dtype=make.named("uint8")),
        Sample([2**63], dtype=make.named("float32")),
        Sample([2**63, 1.0]),
        Sample(make(2, 3)),
        Sample(make(2, 3), dtype=make.named("complex128")),
        Sample([make(), make()]),
        Sample([[make(1), make(1)]]),
    ]


def data_errors(make: Maker) -> list[Raises]:
    return [
        Raises(ValueError, "length 2 at dim 1 (got 1)", [[1, 2], [3]]),
        Raises(ValueError, "length 1 at dim 2 (got 2)", [[[1], [2]], [[3], [4, 5]]]),
        Raises(TypeError, "sequence", [[1, 2], 3]),
        Raises(TypeError, "list", [1, [2]]),
        Raises(TypeError, "str", "a"),
        Raises(ValueError, "str", ["a"]),
        Raises(TypeError, "str", [1, "a"]),
        Raises(RuntimeError, "NoneType", None),
        Raises(RuntimeError, "NoneType", [None]),
        Raises(RuntimeError, "dict", {1: 2}),
        Raises(RuntimeError, "set", {1, 2}),
        Raises(ValueError, "long long", [2**63]),
        Raises(RuntimeError, "uint8", [300], dtype=make.named("uint8")),
        Raises(RuntimeError, "int32", 1e10, dtype=make.named("int32")),
        Raises(RuntimeError, "nan", [math.nan], dtype=make.named("int64")),
        Raises(TypeError, "complex", [1j], dtype=make.named("float32")),
        Raises(RuntimeError, "require gradients", [1, 2], requires_grad=True),
        Raises(ValueError, "one element", [make(2), make(2)]),
        Raises(TypeError, "dtype", [1], dtype="float32"),
    ]


ROWS = [
    OpRow("tensor", data, dtypes=ALL, differentiable=False, errors=data_errors),
    OpRow(
        "as_tensor",
        lambda make: [
            Sample([1, 2]),
            Sample([1.0], dtype=make.named("float64")),
            Sample(make(2, 3)),
            Sample(3),
            Sample(make(2), dtype=make.named("complex128"), device="cpu"),
        ],
        dtypes=("float32", "float64"),
    ),
    OpRow(
        "asarray",
        lambda make: [
            Sample([1.0, 2]),
            Sample(make(2, 3)),
            Sample(make(2), copy=True),
            Sample(bytearray(b"abc"), dtype=make.named("uint8")),
            Sample(make(2), dtype=make.named("complex128")),
            Sample([1, 2], dtype=make.named()),
        ],
        dtypes=("float32", "float64"),
        errors=lambda make: [
            Raises(ValueError, "alias", make(2), dtype=make.named("int32"), copy=False),
            Raises(ValueError, "list", [1, 2], copy=False),
        ],
    ),
    OpRow(
        "frombuffer",
        lambda make: [
            Sample(bytearray(range(16)), dtype=make.named()),
            Sample(bytearray(range(48)), dtype=make.named(), count=1, offset=16),
        ],
        dtypes=("uint8", "int16", "int64", "float32"),
        differentiable=False,
        errors=lambda make: [
            Raises(ValueError, "0", b"", dtype=make.named("float32")),
            Raises(ValueError, "multiple", b"abcde", dtype=make.named("float32")),
            Raises(ValueError, "offset", bytearray(4), dtype=make.named("float32"), offset=5),
            Raises(ValueError, "greater", bytearray(4), dtype=make.named("float32"), count=2),
        ],
    ),
    OpRow(
        "from_dlpack",
        lambda make: [Sample(make(2, 3)), Sample(make())],
        dtypes=tuple(d for d in ALL if d != "bfloat16"),
        differentiable=False,
    ),
    OpRow(
        "Tensor.tolist", lambda make: [Sample(make())], dtypes=("float64",), differentiable=False
    ),
]
