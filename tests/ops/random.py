"""Rows of the random functions. Both frameworks start from seed 0 before every call.

What is written in place has one dimension and fewer than 16 elements: torch draws in the order of
memory, and dense normals from 16 on in another way, so that other layouts give other numbers
(``tests/test_random.py`` has those).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.harness.row import COMPLEX, FLOATS, INTS, Fixed, Maker, OpRow, Raises, Sample

REAL_OR_BOOL = (*FLOATS, *INTS, "bool")
Samples = Callable[[Maker], list[Sample]]


def filled(*variants: tuple[Any, ...]) -> Samples:
    """A tensor of 7 elements, with each set of arguments."""

    def samples(make: Maker) -> list[Sample]:
        return [Sample(make(7), *arguments) for arguments in variants]

    return samples


def chances(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4)),
        Sample(Fixed(make(3, 4)), 0.3),
        Sample(Fixed(make(3, 4)), p=1),
    ]


def weights(make: Maker) -> list[Sample]:
    return [
        Sample(make(9), 1),
        Sample(make(9), 4, replacement=False),
        Sample(make(9), 20, True),
        Sample(make(3, 9), 5, replacement=True),
    ]


def normals(make: Maker) -> list[Sample]:
    return [
        Sample(Fixed(make(3, 4)), Fixed(make(3, 4))),
        Sample(Fixed(make(3, 1)), Fixed(make(4))),
        Sample(Fixed(make(3, 7)), 0.7),
        Sample(Fixed(make(7))),
        Sample(0.3, Fixed(make(20))),
        Sample(1.0, 2.0, (3, 4)),
        Sample(1, 2, size=(20,), dtype=make.named()),
        Sample(mean=0.0, std=0.5, size=()),
    ]


def sizes(make: Maker) -> list[Sample]:
    return [
        Sample(2, 3),
        Sample((20,), dtype=make.named()),
        Sample([2, 0], dtype=make.named()),
        Sample((), dtype=make.named()),
        Sample(size=(17,), dtype=make.named()),
    ]


def integers(make: Maker) -> list[Sample]:
    return [
        Sample(10, (3, 4), dtype=make.named()),
        Sample(2, 9, (20,), dtype=make.named()),
        Sample(low=3, high=5, size=[2, 2], dtype=make.named()),
        Sample(high=2, size=(), dtype=make.named()),
        Sample(100, (5,)),
    ]


def bounds(make: Maker) -> list[Sample]:
    low, high = (0, 2) if make.dtype == "bool" else (3, 50)
    return [
        Sample(make(7)),
        Sample(make(7), high),
        Sample(make(7), low, high),
        Sample(make(7), to=high),
        Sample(make(7), low, None) if make.dtype != "bool" else Sample(make(7), 0, None),
    ]


ROWS = [
    OpRow(
        "Tensor.uniform_",
        filled((), (-1.0, 2.0), (3, 3)),
        dtypes=FLOATS + COMPLEX,
        errors=lambda make: [
            Raises(RuntimeError, "from=2", make(3), 2.0, 1.0),
            Raises(RuntimeError, "out of bounds", make(3), -1e39, 1.0),
            Raises(RuntimeError, "to-from", make(3), -3e38, 3e38),
            Raises(RuntimeError, "nan", make(3), float("nan"), 1.0),
            Raises(NotImplementedError, "int64", make(3, dtype="int64")),
            Raises(NotImplementedError, "bool", make(3, dtype="bool")),
            Raises(TypeError, "'from'", make(3), "a"),
            Raises(TypeError, "'to'", make(3), 0.0, None),
            Raises(TypeError, "generator", make(3), generator=3),
            Raises(TypeError, "high", make(3), high=1.0),
        ],
    ),
    OpRow(
        "Tensor.normal_",
        filled((), (1.0, 2.0), (0, 0)),
        dtypes=FLOATS + COMPLEX,
        errors=lambda make: [
            Raises(RuntimeError, "std", make(3), 0.0, -1.0),
            Raises(RuntimeError, "nan", make(3), 0.0, float("nan")),
            Raises(NotImplementedError, "int64", make(3, dtype="int64")),
            Raises(TypeError, "mean", make(3), "a"),
        ],
    ),
    OpRow(
        "Tensor.bernoulli_",
        lambda make: [
            *filled((), (0.3,), (1,))(make),
            Sample(make(3), Fixed(make(3, low=0.1, high=0.9, dtype="float64"))),
            Sample(make(3), Fixed(make(3, low=0.1, high=0.9, dtype="float32"))),
        ],
        dtypes=REAL_OR_BOOL,
        errors=lambda make: [
            Raises(RuntimeError, "p=1.5", make(3), 1.5),
            Raises(RuntimeError, "[0, 1]", make(3), make(3, low=2, high=3)),
            Raises(NotImplementedError, "complex64", make(3, dtype="complex64")),
            Raises(NotImplementedError, "int64", make(3), make(3, dtype="int64")),
        ],
    ),
    OpRow(
        "Tensor.random_",
        bounds,
        dtypes=REAL_OR_BOOL,
        errors=lambda make: [
            Raises(RuntimeError, "from=3 >= to=3", make(3), 3, 3),
            Raises(RuntimeError, "from=0 >= to=0", make(3), 0),
            Raises(RuntimeError, "out of bounds", make(3, dtype="uint8"), -1, 3),
            Raises(RuntimeError, "out of bounds", make(3, dtype="int8"), 0, 129),
            Raises(RuntimeError, "out of bounds", make(3, dtype="bool"), 3),
            Raises(RuntimeError, "out of bounds", make(3, dtype="float16"), 2**40),
            Raises(NotImplementedError, "complex64", make(3, dtype="complex64")),
            Raises(RuntimeError, "complex64", make(3, dtype="complex64"), 3),
            Raises(TypeError, "2 bounds", make(3), 0, 1, 2),
        ],
    ),
    OpRow(
        "Tensor.exponential_",
        filled((), (2.5,)),
        errors=lambda make: [
            Raises(RuntimeError, "lambda", make(3), 0.0),
            Raises(RuntimeError, "int64", make(3, dtype="int64")),
        ],
    ),
    OpRow(
        "Tensor.geometric_",
        filled((0.5,), (0.05,)),
        dtypes=FLOATS + INTS,
        errors=lambda make: [
            *[Raises(RuntimeError, "p=", make(3), p) for p in (0.0, 1.0, -1.0, 2.0)],
            Raises(NotImplementedError, "bool", make(3, dtype="bool"), 0.5),
            Raises(TypeError, "'p'", make(3)),
        ],
    ),
    OpRow(
        "Tensor.cauchy_",
        filled((), (1.0, 2.5)),
        errors=lambda make: [
            Raises(RuntimeError, "sigma", make(3), 0.0, -1.0),
            Raises(RuntimeError, "int64", make(3, dtype="int64")),
        ],
        tolerance={"float32": (5e-6, 1e-5), "float64": (1e-11, 1e-11)},
        reason="tan near a pole multiplies the rounding of its argument",
    ),
    OpRow(
        "Tensor.log_normal_",
        filled((), (0.3, 0.7)),
        errors=lambda make: [
            Raises(RuntimeError, "std", make(3), 0.0, 0.0),
            Raises(NotImplementedError, "int64", make(3, dtype="int64")),
        ],
    ),
    OpRow(
        "bernoulli",
        chances,
        domain=(0.0, 1.0),
        method="bernoulli",
        errors=lambda make: [
            Raises(RuntimeError, "", make(3, low=2, high=3)),
            Raises(RuntimeError, "p=2", make(3), 2.0),
            Raises(NotImplementedError, "int64", make(3, dtype="int64")),
        ],
    ),
    OpRow(
        "poisson",
        lambda make: [Sample(Fixed(make(3, 4))), Sample(Fixed(make(20, low=0, high=1)))],
        domain=(0.0, 40.0),
        differentiable=False,
        errors=lambda make: [
            Raises(RuntimeError, "rate", make(3, low=-2, high=-1)),
            Raises(NotImplementedError, "int64", make(3, dtype="int64")),
        ],
    ),
    OpRow(
        "binomial",
        lambda make: [
            Sample(Fixed(make(3, 4)), Fixed(make(4, low=0, high=1))),
            Sample(Fixed(make(2, low=20, high=90)), Fixed(make(3, 1, low=0, high=1))),
        ],
        domain=(0.0, 12.0),
        dtypes=("float32", "float64"),
        differentiable=False,
        errors=lambda make: [
            Raises(RuntimeError, "dtype", make(3), make(3, dtype="float64")),
            Raises(ValueError, "floating-point", make(3, dtype="int64"), make(3)),
            Raises(NotImplementedError, "float16", *[make(3, dtype="float16")] * 2),
            Raises(TypeError, "prob", make(3), 0.5),
        ],
    ),
    OpRow(
        "multinomial",
        weights,
        domain=(0.1, 1.0),
        differentiable=False,
        out=True,
        method="multinomial",
        errors=lambda make: [
            Raises(RuntimeError, "element < 0", make(3, low=-2, high=-1), 1),
            Raises(RuntimeError, "`inf`", make(3) * np.inf, 1),
            Raises(RuntimeError, "sum of probabilities <= 0", make(3) * 0, 1),
            Raises(RuntimeError, "sum of probabilities <= 0", make(3) * 0, 1, True),
            Raises(RuntimeError, "n_sample", make(3), 4),
            Raises(RuntimeError, "n_sample", make(3), 0),
            Raises(RuntimeError, "dim", make(), 1),
            Raises(RuntimeError, "dim", make(1, 1, 1), 1),
            Raises(RuntimeError, "int64", make(3, dtype="int64"), 1),
        ],
    ),
    OpRow(
        "normal",
        normals,
        domain=(0.1, 2.0),
        differentiable=False,  # its zero gradient: tests/test_random_public.py
        errors=lambda make: [
            Raises(RuntimeError, "std", make(3), make(3, low=-2, high=-1)),
            Raises(RuntimeError, "std", make(3), -1.0),
            Raises(RuntimeError, "must match", make(3), make(4)),
            Raises(NotImplementedError, "int64", make(3, dtype="int64"), 1.0),
            Raises(TypeError, "size", 0.0, 1.0),
        ],
    ),
    OpRow(
        "rand",
        sizes,
        dtypes=FLOATS + COMPLEX,
        differentiable=False,
        out=True,
        errors=lambda make: [
            Raises(RuntimeError, "-1", -1),
            Raises(TypeError, "size"),
            Raises(TypeError, "float", 2.5),
            Raises(NotImplementedError, "int64", 2, dtype=make.named("int64")),
            Raises(TypeError, "dtype", 2, dtype="float32"),
        ],
    ),
    OpRow(
        "randn",
        sizes,
        dtypes=FLOATS + COMPLEX,
        differentiable=False,
        out=True,
        errors=lambda make: [
            Raises(NotImplementedError, "bool", 2, dtype=make.named("bool")),
            Raises(TypeError, "size"),
        ],
    ),
    OpRow(
        "randint",
        integers,
        dtypes=FLOATS + INTS,
        differentiable=False,
        out=True,
        errors=lambda make: [
            Raises(RuntimeError, "from=3 >= to=1", 3, 1, (2,)),
            Raises(RuntimeError, "out of bounds", 300, (2,), dtype=make.named("uint8")),
            Raises(RuntimeError, "complex64", 3, (2,), dtype=make.named("complex64")),
            Raises(TypeError, "size", 3),
            Raises(TypeError, "size", 3, 2),
            Raises(TypeError, "float", 1.5, (2,)),
            Raises(RuntimeError, "grad", 3, (2,), requires_grad=True),
        ],
    ),
    OpRow(
        "randperm",
        lambda make: [Sample(n, dtype=make.named()) for n in (6, 0, 1, 100)],
        dtypes=FLOATS + INTS,
        differentiable=False,
        out=True,
        errors=lambda make: [
            Raises(RuntimeError, "-1", -1),
            Raises(TypeError, "'n'", 3.0),
            Raises(RuntimeError, "256", 300, dtype=make.named("uint8")),
            Raises(RuntimeError, "2049", 3000, dtype=make.named("float16")),
            Raises(NotImplementedError, "bool", 3, dtype=make.named("bool")),
        ],
    ),
    OpRow(
        "rand_like",
        lambda make: [Sample(make(7)), Sample(make(7), dtype=make.named("float64"))],
        dtypes=FLOATS + COMPLEX,
        differentiable=False,
        errors=lambda make: [Raises(NotImplementedError, "int64", make(3, dtype="int64"))],
    ),
    OpRow(
        "randn_like",
        lambda make: [Sample(make(7)), Sample(make(7), dtype=make.named("float64"))],
        dtypes=FLOATS + COMPLEX,
        differentiable=False,
        errors=lambda make: [Raises(NotImplementedError, "int64", make(3, dtype="int64"))],
    ),
    OpRow(
        "randint_like",
        lambda make: [
            Sample(make(7), 5),
            Sample(make(7), 3, 9),
            Sample(make(7), 3, dtype=make.named("int64")),
            Sample(make(7), high=4),
        ],
        dtypes=FLOATS + INTS,
        differentiable=False,
        errors=lambda make: [Raises(RuntimeError, "from=3 >= to=1", make(3), 3, 1)],
    ),
]
