"""Rows of the losses with a margin, with every argument of each."""

from __future__ import annotations

import numpy as np

from tests.harness.losses import REDUCTIONS, ROUNDED, F, fixed, labels, wrong_reduction
from tests.harness.row import Fixed, Maker, OpRow, Raises, Sample


def sign(make: Maker, *shape: int) -> Fixed:
    return Fixed((make.mask(*shape) * 2.0 - 1).astype(make(1).dtype))


def signed(make: Maker) -> list[Sample]:
    samples = [Sample(make(3, 4), sign(make, 3, 4), reduction=r) for r in REDUCTIONS]
    return [*samples, Sample(make(3, 4), sign(make, 4))]


def hinge_samples(make: Maker) -> list[Sample]:
    return [*signed(make), Sample(make(3, 4), sign(make, 3, 4), margin=0.3)]


def hinge_edges(make: Maker) -> list[Sample]:
    x = np.array([0.5, 0.5, 0.5, 1.0]).astype(make(1).dtype)
    y = np.array([1, -1, 0, -1])
    return [
        Sample(x, Fixed(y.astype(x.dtype)), margin=0.5, reduction="none"),
        Sample(x, y, reduction="none"),
    ]


def ranking_samples(make: Maker) -> list[Sample]:
    samples = [Sample(make(5), make(5), sign(make, 5), reduction=r) for r in REDUCTIONS]
    return [*samples, Sample(make(5), make(5), sign(make, 5), margin=0.4)]


def wrong_ranking(make: Maker) -> list[Raises]:
    return [
        Raises(RuntimeError, "[2, 3]", make(2, 3), make(3), make(3)),
        Raises(ValueError, "foo", make(2), make(2), make(2), reduction="foo"),
    ]


def cosine_samples(make: Maker) -> list[Sample]:
    samples = []
    for reduction in REDUCTIONS:
        y = np.array([1, -1, 1])
        samples += [
            Sample(make(3, 4), make(3, 4), y, reduction=reduction),
            Sample(make(3, 4), make(3, 4), -y, margin=-0.9, reduction=reduction),
        ]
    return [*samples, Sample(make(4), make(4), np.array(1))]


def wrong_cosine(make: Maker) -> list[Raises]:
    x, y = make(2, 3), np.array([1, -1])
    return [
        Raises(RuntimeError, "[3]", x, make(3), y),
        Raises(RuntimeError, "[2, 3, 4]", make(2, 3, 4), make(2, 3, 4), y),
        Raises(RuntimeError, "[2, 3]", x, x, np.array(1)),
        Raises(ValueError, "foo", x, x, y, reduction="foo"),
    ]


def multi_margin_samples(make: Maker) -> list[Sample]:
    samples = []
    for reduction in REDUCTIONS:
        y = labels(make, 4, below=3)
        samples += [
            Sample(make(4, 3), y, reduction=reduction),
            Sample(make(4, 3), y, 2, 0.5, fixed(make, 3), reduction=reduction),
        ]
    return [
        *samples,
        Sample(make(3), np.array(1)),
        Sample(make(3), np.array([1]), reduction="none"),
        Sample(make(3), np.array(2), reduction="none"),
    ]


def multi_margin_edges(make: Maker) -> list[Sample]:
    x = np.array([[0.5, 1.5, 0.0], [1.0, 0.0, 2.0]]).astype(make(1).dtype)
    return [
        Sample(x, np.array([1, 2]), reduction="none"),
        Sample(make(0, 3), np.zeros(0, np.int64), reduction="none"),
    ]


def wrong_multi_margin(make: Maker) -> list[Raises]:
    x, y = make(2, 3), np.array([0, 2])
    return [
        Raises(ValueError, "p == 1", x, y, 3),
        Raises(RuntimeError, "target 3", x, np.array([0, 3])),
        Raises(RuntimeError, "target -1", x, np.array([0, -1])),
        Raises(RuntimeError, "[3]", x, np.array([0, 1, 1])),
        Raises(RuntimeError, "int32", x, y.astype(np.int32)),
        Raises(RuntimeError, "[2, 2, 2]", make(2, 2, 2), y),
        Raises(RuntimeError, "expected 3", x, y, weight=make(2)),
        Raises(ValueError, "one-dimensional", x, y, weight=make(3, 1)),
        Raises(NotImplementedError, "int64", make(2, 3, dtype="int64"), y),
        Raises(ValueError, "foo", x, y, reduction="foo"),
    ]


def multilabel_samples(make: Maker) -> list[Sample]:
    y = np.array([[0, 2, -1, 1], [3, -1, 0, 0], [0, 1, 2, 3], [-1, 0, 1, 2], [1, 1, -1, -1]])
    samples = [Sample(make(5, 4), y, reduction=r) for r in REDUCTIONS]
    empty = Sample(make(0, 3), y[:0, :3], reduction="none")
    return [*samples, Sample(make(3), np.array([2, -1, 0])), empty]


def wrong_multilabel(make: Maker) -> list[Raises]:
    return [
        Raises(RuntimeError, "target 3", make(3), np.array([0, 3, -1])),
        Raises(RuntimeError, "target -2", make(3), np.array([0, -2, -1])),
        Raises(RuntimeError, "[2]", make(2, 3), np.array([0, 1])),
        Raises(RuntimeError, "[2, 2, 2]", make(2, 2, 2), np.array([[0]])),
        Raises(ValueError, "foo", make(3), np.array([0, 1, -1]), reduction="foo"),
    ]


def multilabel_soft_samples(make: Maker) -> list[Sample]:
    def chance(*shape: int) -> np.ndarray:
        return make(*shape, low=0.1, high=0.9)

    samples = [Sample(make(3, 4), chance(3, 4), reduction=r) for r in REDUCTIONS]
    return [*samples, Sample(make(3, 4), chance(3, 4), fixed(make, 4)), Sample(make(4), chance(4))]


def triplets(make: Maker) -> list[Sample]:
    def three(*shape: int) -> list[np.ndarray]:
        return [make(*shape) for _ in range(3)]

    samples = [Sample(*three(3, 4), reduction=r) for r in REDUCTIONS]
    return [*samples, Sample(*three(4)), Sample(*three(3, 4), margin=2.0, swap=True)]


def triplet_samples(make: Maker) -> list[Sample]:
    def three(*shape: int) -> list[np.ndarray]:
        return [make(*shape) for _ in range(3)]

    return [*triplets(make), Sample(*three(3, 4), p=1.0, eps=0.01), Sample(*three(3, 4), p=3)]


def wrong_triplets(make: Maker) -> list[Raises]:
    x = make(2, 3)
    return [
        Raises(ValueError, "margin", x, x, x, margin=-1.0),
        Raises(RuntimeError, "2, 1 and 2", x, make(3), x),
        Raises(ValueError, "foo", x, x, x, reduction="foo"),
    ]


ROWS = [
    OpRow(F + "soft_margin_loss", signed, errors=wrong_reduction, **ROUNDED),
    OpRow(
        F + "hinge_embedding_loss", hinge_samples, edges=hinge_edges, errors=wrong_reduction,
        **ROUNDED,
    ),
    OpRow(F + "margin_ranking_loss", ranking_samples, errors=wrong_ranking, **ROUNDED),
    OpRow(F + "cosine_embedding_loss", cosine_samples, errors=wrong_cosine, **ROUNDED),
    OpRow(
        F + "multi_margin_loss", multi_margin_samples, edges=multi_margin_edges,
        errors=wrong_multi_margin, dtypes=("float32", "float64"),
    ),
    OpRow(
        F + "multilabel_margin_loss", multilabel_samples, errors=wrong_multilabel,
        dtypes=("float32", "float64"),
    ),
    OpRow(
        F + "multilabel_soft_margin_loss", multilabel_soft_samples, errors=wrong_reduction,
        **ROUNDED,
    ),
    OpRow(F + "triplet_margin_loss", triplet_samples, errors=wrong_triplets, **ROUNDED),
    OpRow(
        F + "triplet_margin_with_distance_loss", triplets, errors=wrong_triplets, **ROUNDED
    ),
]  # fmt: skip
