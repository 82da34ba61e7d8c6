"""Rows of maxima, minima, their indices, and of all and any."""

from __future__ import annotations

import numpy as np

from tests.harness.row import ALL, REALS, Maker, OpRow, Raises, Sample
from tests.ops.reduction.sums import special, wrong_dim, wrong_dims

ORDERED = (*REALS, "bool")


def apart(make: Maker, *shape: int) -> np.ndarray:
    """Values without ties, where the extrema are differentiable."""
    return make(*shape) if make.dtype == "bool" else make.distinct(*shape)


def along(make: Maker) -> list[Sample]:
    return [
        Sample(apart(make, 3, 4)),
        Sample(apart(make, 2, 3, 4), 1),
        Sample(apart(make, 2, 3, 4), (0, -1), True),
        Sample(apart(make, 2, 3), axis=0, keepdims=True),
        Sample(apart(make)),
        Sample(apart(make), 0),
    ]


def one_dim(make: Maker) -> list[Sample]:
    return [
        Sample(apart(make, 3, 4)),
        Sample(apart(make, 2, 3, 4), 1),
        Sample(apart(make, 2, 3), -1, True),
        Sample(apart(make, 2, 3), 0, keepdim=True),
        Sample(apart(make), -1),
    ]


def edges(make: Maker) -> list[Sample]:
    samples = [Sample(make(0)), Sample(make(0, 3), 0), Sample(make(0, 3), 1), Sample(make(1))]
    for x in special(make):
        samples += [Sample(x), Sample(x, 0), Sample(np.stack([x, x]), 0)]
    return samples


def empty_and_complex(make: Maker) -> list[Raises]:
    return [
        *wrong_dim(make),
        Raises(RuntimeError, "numel", make(0)),
        Raises(IndexError, "non-zero size", make(0, 3), 0),
        Raises(NotImplementedError, "complex64", make(2, dtype="complex64")),
    ]


def indices_errors(make: Maker) -> list[Raises]:
    return [
        *wrong_dim(make),
        Raises(IndexError, "numel", make(0)),
        Raises(IndexError, "non-zero size", make(0, 3), 0),
        Raises(RuntimeError, "bool", make(2, dtype="bool")),
        Raises(RuntimeError, "complex64", make(2, dtype="complex64")),
    ]


def truths(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4)),
        Sample(make(3, 4), 0),
        Sample(make(2, 3, 4), (0, 2), True),
        Sample(make(2, 3), axis=1),
        Sample(make(2, 3), ()),
        Sample(make(0)),
        Sample(make(), 0),
    ]


def three_forms(make: Maker) -> list[Sample]:
    x, y, z = apart(make, 3, 2, 3)
    return [*one_dim(make), Sample(x, y), Sample(x, other=z[0])]


def largest(name: str) -> OpRow:
    return OpRow(
        name,
        three_forms,
        dtypes=ORDERED,
        edges=edges,
        out=True,
        method=name,
        errors=empty_and_complex,
    )


ROWS = [
    *(
        OpRow(
            name,
            along,
            dtypes=ORDERED,
            edges=edges,
            out=True,
            method=name,
            errors=lambda make: [*wrong_dims(make), *empty_and_complex(make)[2:]],
        )
        for name in ("amax", "amin")
    ),
    largest("max"),
    largest("min"),
    OpRow(
        "aminmax",
        lambda make: [
            Sample(apart(make, 3, 4)),
            Sample(apart(make, 3, 4), dim=1),
            Sample(apart(make, 3, 4), dim=-2, keepdim=True),
            Sample(apart(make)),
        ],
        dtypes=ORDERED,
        out=True,
        method="aminmax",
        edges=lambda make: [Sample(x) for x in special(make)] + [Sample(make(0, 3), dim=1)],
        errors=lambda make: [
            Raises(IndexError, "out of range", make(2), dim=1),
            Raises(RuntimeError, "numel", make(0)),
            Raises(IndexError, "non-zero size", make(0, 3), dim=0),
        ],
    ),
    *(
        OpRow(
            name,
            one_dim,
            dtypes=REALS,
            differentiable=False,
            edges=edges,
            out=True,
            method=name,
            errors=indices_errors,
        )
        for name in ("argmax", "argmin")
    ),
    *(
        OpRow(
            name, truths, dtypes=ALL, differentiable=False, out=True, method=name, errors=wrong_dims
        )
        for name in ("all", "any")
    ),
]
