"""Rows of the losses of regression, with every argument of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.harness.losses import REDUCTIONS, ROUNDED, F, fixed, wrong_reduction
from tests.harness.row import Fixed, Maker, OpRow, Raises, Sample


def pairs(make: Maker) -> list[Sample]:
    samples = [Sample(make(3, 4), make(3, 4), reduction=r) for r in REDUCTIONS]
    return [*samples, Sample(make(), make()), Sample(make(2, 3), Fixed(make(2, 3)))]


def weighted_pairs(make: Maker) -> list[Sample]:
    samples = [
        Sample(make(3, 4), make(3, 4), reduction=r, weight=fixed(make, 3, 4)) for r in REDUCTIONS
    ]
    return [*pairs(make), *samples]


def with_number(name: str, *values: float) -> Any:
    def samples(make: Maker) -> list[Sample]:
        numbers = [Sample(make(3, 4), make(3, 4), **{name: v}) for v in values]
        return [*pairs(make), *numbers]

    return samples


def huber_samples(make: Maker) -> list[Sample]:
    return [*weighted_pairs(make), *with_number("delta", 0.5, 3.0)(make)]


def pair_edges(make: Maker) -> list[Sample]:
    same = make(5)
    special = make(4)
    special[:3] = float("inf"), float("-inf"), float("nan")
    return [
        Sample(same, same.copy(), reduction="none"),
        Sample(same + 1, same, reduction="none"),
        Sample(same - 1, same, reduction="none"),
        Sample(special, make(4), reduction="none"),
        Sample(make(0, 3), make(0, 3)),
        Sample(make(0, 3), make(0, 3), reduction="sum"),
        Sample(make(0, 3), make(0, 3), reduction="none"),
        Sample(make(80, 80), make(80, 80)),
    ]


def wrong_pair(make: Maker) -> list[Raises]:
    x = make(2, 3)
    return [
        Raises(ValueError, "foo", x, make(2, 3), reduction="foo"),
        Raises(NotImplementedError, "int64", make(3, dtype="int64"), make(3, dtype="int64")),
    ]


def wrong_weighted(make: Maker) -> list[Raises]:
    return [
        Raises(ValueError, "foo", make(2, 3), make(2, 3), reduction="foo"),
        Raises(ValueError, "[3]", make(2, 3), make(2, 3), weight=make(3)),
    ]


def wrong_smooth_l1(make: Maker) -> list[Raises]:
    return [*wrong_pair(make), Raises(RuntimeError, "beta", make(2), make(2), beta=-1.0)]


def wrong_huber(make: Maker) -> list[Raises]:
    return [
        *wrong_pair(make),
        Raises(RuntimeError, "delta", make(2), make(2), delta=0.0),
        Raises(ValueError, "[3]", make(2, 3), make(2, 3), weight=make(3)),
    ]


def poisson_samples(make: Maker) -> list[Sample]:
    samples = []
    for log_input in (True, False):
        for full in (False, True):
            x, y = make(3, 4, low=0.2, high=2.0), make(3, 4, low=1.1, high=4.0)
            samples.append(Sample(x, y, log_input, full))
            samples.append(Sample(x, Fixed(y - 1), log_input, full, reduction="none"))
    return [*samples, Sample(make(2), Fixed(make(2)), reduction="sum", eps=0.1)]


def gaussian_samples(make: Maker) -> list[Sample]:
    def variance(*shape: int) -> np.ndarray:
        return make(*shape, low=0.5, high=2.0)

    samples = [Sample(make(3, 4), make(3, 4), variance(3, 4), reduction=r) for r in REDUCTIONS]
    return [
        *samples,
        Sample(make(3, 4), make(3, 4), variance(3), full=True),
        Sample(make(3, 4), make(3, 4), variance(3, 1)),
        Sample(make(3, 4), make(3, 4), 0.5, full=True),
    ]


def small_variances(make: Maker) -> list[Sample]:
    return [Sample(make(3, 2), make(3, 2), make(3, 1) * 0)]


def wrong_gaussian(make: Maker) -> list[Raises]:
    x, y = make(2, 3), make(2, 3)
    return [
        Raises(ValueError, "negative", x, y, -1.0),
        Raises(ValueError, "size [3]", x, y, make(3, low=0.5)),
        Raises(ValueError, "foo", x, y, make(2, 3, low=0.5), reduction="foo"),
    ]


ROWS = [
    OpRow(F + "mse_loss", weighted_pairs, edges=pair_edges, errors=wrong_weighted, **ROUNDED),
    OpRow(F + "l1_loss", weighted_pairs, edges=pair_edges, errors=wrong_weighted, **ROUNDED),
    OpRow(
        F + "smooth_l1_loss", with_number("beta", 0.0, 0.5, 3.0), edges=pair_edges,
        errors=wrong_smooth_l1, **ROUNDED,
    ),
    OpRow(F + "huber_loss", huber_samples, edges=pair_edges, errors=wrong_huber, **ROUNDED),
    OpRow(F + "poisson_nll_loss", poisson_samples, errors=wrong_reduction, **ROUNDED),
    OpRow(
        F + "gaussian_nll_loss", gaussian_samples, edges=small_variances, errors=wrong_gaussian,
        **ROUNDED,
    ),
]  # fmt: skip
