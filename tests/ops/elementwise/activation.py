"""Rows of the activation functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.harness.elementwise import functional, not_a_tensor, one, unary
from tests.harness.row import FLOATS, INTS, SPECIALS, Maker, OpRow, Raises, Sample

F = "nn.functional."
DOUBLE = ("float32", "float64")


def called(*variants: dict) -> Callable[[Maker], list[Sample]]:
    """Samples: one plain call, then one with each set of keywords."""

    def samples(make: Maker) -> list[Sample]:
        return [Sample(make(2, 3)), *[Sample(make(2, 3), **keywords) for keywords in variants]]

    return samples


def limits(make: Maker) -> list[Sample]:
    return [Sample(make(2, 3), 0.3, -4.0)]


def leaks(make: Maker) -> list[Sample]:
    return [*called({"lower": 0.1, "upper": 0.2})(make), Sample(make(2, 3), training=True)]


ROWS = [
    unary("relu", dtypes=FLOATS + INTS, out=False, aliases=(F + "relu",)),
    unary(
        "celu",
        out=False,
        method=None,
        inplace=(),
        samples=called({"alpha": 0.5}),  # torch keeps 1 / alpha in single precision
        aliases=(F + "celu",),
    ),
    unary("selu", out=False, method=None, inplace=(), aliases=(F + "selu",)),
    functional("relu6", inplace="inplace=True", domain=(-3.0, 9.0)),
    functional(
        "leaky_relu",
        inplace=(F + "leaky_relu_", "inplace=True"),
        samples=called({"negative_slope": 0.2}),
    ),
    functional("elu", inplace=(F + "elu_", "inplace=True"), samples=called({"alpha": 0.7})),
    functional(
        "gelu",
        samples=called({"approximate": "tanh"}),
        errors=lambda make: [Raises(RuntimeError, "approximate", make(2), approximate="sine")],
    ),
    functional("silu", inplace="inplace=True"),
    functional("mish", inplace="inplace=True"),
    functional("softplus", samples=called({"beta": 2.0, "threshold": 1.0})),
    functional(
        "softsign",
        # torch's gradient at infinity is NaN; ours is its limit, 0.
        specials=tuple(x for x in SPECIALS if not np.isinf(x)),
        errors=None,
    ),
    functional(
        "tanhshrink",
        errors=None,
        tolerance={"float16": (1e-2, 1e-3), "bfloat16": (1e-1, 1e-2)},
        reason="torch rounds tanh(input) to half precision before it subtracts",
    ),
    functional(
        "hardtanh",
        inplace=(F + "hardtanh_", "inplace=True"),
        samples=called({"min_val": -0.5, "max_val": 0.7}),
    ),
    functional(
        "hardsigmoid",
        inplace="inplace=True",
        domain=(-5.0, 5.0),
        second_order=False,
        tolerance={"float64": (1e-7, 1e-8)},
        reason="torch's gradient multiplies with a 1/6 that was rounded to single precision",
    ),
    functional("hardswish", inplace="inplace=True", domain=(-5.0, 5.0)),
    OpRow(
        "hardshrink",
        called({"lambd": 0.9}),
        elementwise=True,
        method="hardshrink",
        aliases=(F + "hardshrink",),
        out=True,
        errors=not_a_tensor,
    ),
    functional(
        "softshrink",
        samples=called({"lambd": 0.9}),
        errors=lambda make: [Raises(RuntimeError, "lambda", make(2), lambd=-1.0)],
    ),
    OpRow("threshold", limits, elementwise=True, aliases=(F + "threshold",)),
    OpRow("threshold_", limits, elementwise=True, aliases=(F + "threshold_",)),
    OpRow("celu_", called({"alpha": 0.5}), elementwise=True, aliases=(F + "celu_",)),
    OpRow("selu_", one, elementwise=True, aliases=(F + "selu_",)),
    functional("logsigmoid"),
    OpRow(
        "prelu",
        lambda make: [
            Sample(make(2, 3), make(1)),
            Sample(make(2, 3), make(3)),
            Sample(make(2, 3, 2), make(3)),
        ],
        aliases=(F + "prelu",),
        method="prelu",
        edges=lambda make: [
            Sample(make(0, 3), make(3)),
            Sample(make(), make(1)),
            Sample(make(), make()),
            Sample(make(4) * 0, make(1)),
        ],
        errors=lambda make: [
            Raises(RuntimeError, "weight", make(2, 3), make(2)),
            Raises(RuntimeError, "weight", make(2, 3), make(1, 3)),
        ],
    ),
    OpRow("rrelu", leaks, dtypes=DOUBLE, elementwise=True, aliases=(F + "rrelu",)),
    OpRow("rrelu_", leaks, dtypes=DOUBLE, elementwise=True, aliases=(F + "rrelu_",)),
    OpRow(
        F + "glu",
        lambda make: [Sample(make(2, 4)), Sample(make(4, 3), dim=0)],
        edges=lambda make: [Sample(make(0, 4)), Sample(make()), Sample(make(2, 0))],
        errors=lambda make: [
            Raises(RuntimeError, "3", make(2, 3)),
            Raises(RuntimeError, "dim", make()),
        ],
    ),
]
