"""Rows of the activation functions."""

from __future__ import annotations

import numpy as np

from tests.harness.elementwise import functional, unary
from tests.harness.row import FLOATS, INTS, SPECIALS, Maker, OpRow, Raises, Sample

F = "nn.functional."


def called(*variants: dict) -> object:
    """Samples: one plain call, then one with each set of keywords."""

    def samples(make: Maker) -> list[Sample]:
        return [Sample(make(2, 3)), *[Sample(make(2, 3), **keywords) for keywords in variants]]

    return samples


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
        tolerance={"float64": (1e-7, 1e-8)},
        reason="torch's gradient multiplies with a 1/6 that was rounded to single precision",
    ),
    functional("hardswish", inplace="inplace=True", domain=(-5.0, 5.0)),
    functional("hardshrink", samples=called({"lambd": 0.9})),
    functional(
        "softshrink",
        samples=called({"lambd": 0.9}),
        errors=lambda make: [Raises(RuntimeError, "lambda", make(2), lambd=-1.0)],
    ),
    functional("threshold", samples=lambda make: [Sample(make(2, 3), 0.3, -4.0)], errors=None),
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
    functional(
        "rrelu",
        samples=called({"lower": 0.1, "upper": 0.2}, {"training": True}),
        dtypes=("float32", "float64"),
    ),
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
