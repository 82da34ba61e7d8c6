"""Rows of what a tensor says about itself: counts, strides, kinds of dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.harness.row import ALL, BOOL, FLOATS, INTS, Maker, Named, OpRow, Raises, Sample

Samples = Callable[[Maker], Sequence[Sample]]


def several(make: Maker) -> list[Sample]:
    return [Sample(make(2, 3, 4)), Sample(make()), Sample(make(0, 2))]


def along(make: Maker) -> list[Sample]:
    return [*several(make), Sample(make(2, 3, 4), 1), Sample(make(2, 3, 4), -1)]


def outside(make: Maker) -> list[Raises]:
    return [Raises(IndexError, "2", make(2, 3), 2), Raises(IndexError, "-3", make(2, 3), -3)]


def question(name: str, samples: Samples = several, **options: Any) -> OpRow:
    return OpRow(name, samples, dtypes=ALL, differentiable=False, **options)


def single(make: Maker) -> list[Sample]:
    return [Sample(make()), Sample(make(1, 1)), Sample(make(1) * 0)]


def pairs(make: Maker) -> list[Sample]:
    """Tensors and numbers of every category: those of dimension 0 and numbers count for less."""
    return [
        Sample(make(2), make(2, dtype=dtype)) for dtype in ("float32", "int32", "bool", "float16")
    ] + [
        Sample(make(), make(2, dtype="uint8")),
        Sample(make(2), 1.5),
        Sample(2, make(2)),
        Sample(make(2), make(dtype="float64")),
    ]


def casts(make: Maker) -> list[Sample]:
    names = [*FLOATS, *INTS, *BOOL, "complex64"]
    return [Sample(make.named(), Named(name)) for name in names]


ROWS = [
    question("numel", method="numel", errors=lambda make: [Raises(TypeError, "input", [1, 2])]),
    question("Tensor.nelement"),
    question("is_complex", method="is_complex"),
    question("is_conj", method="is_conj"),
    question("is_neg", method="is_neg"),
    question("is_floating_point", method="is_floating_point"),
    question("is_signed", method="is_signed"),
    question("is_tensor", lambda make: [Sample(make(2)), Sample([1.0]), Sample(None)]),
    question(
        "is_nonzero",
        single,
        method="is_nonzero",
        errors=lambda make: [
            Raises(RuntimeError, "one", make(2)),
            Raises(RuntimeError, "", make(0)),
        ],
    ),
    question("result_type", pairs),
    question("can_cast", casts),
    question("Tensor.dim", aliases=("Tensor.ndimension",)),
    question("Tensor.size", along, errors=outside),
    question("Tensor.element_size"),
    question("get_device", method="get_device"),
    question("is_inference", method="is_inference"),
    question("detach", method="detach"),
    question("Tensor.is_pinned"),
    question("Tensor.is_shared"),
    question("Tensor.dense_dim"),
    question("Tensor.sparse_dim"),
    question(
        "is_same_size",
        lambda make: [Sample(make(2, 3), make(2, 3)), Sample(make(2, 3), make(3, 2))],
        method="is_same_size",
    ),
]
