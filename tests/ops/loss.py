"""Rows of the losses, with every argument of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.harness.row import Fixed, Maker, OpRow, Raises, Sample

F = "nn.functional."
REDUCTIONS = ("mean", "sum", "none")
# A loss of half precision is one number from many: torch rounds on the way, nnkit at the end.
ROUNDED: dict[str, Any] = {
    "tolerance": {"float16": (2**-9, 4e-3), "bfloat16": (2**-6, 4e-2)},
    "reason": "torch rounds each step to half precision, nnkit computes in float32 and rounds once",
}


def fixed(make: Maker, *shape: int, low: float = 0.2, high: float = 1.5) -> Fixed:
    return Fixed(make(*shape, low=low, high=high))


def labels(make: Maker, *shape: int, below: int, ignored: int | None = None) -> np.ndarray:
    index = make.index(*shape, below=below)
    if ignored is not None:
        index.reshape(-1)[0] = ignored
    return index


# Class labels


def with_labels(make: Maker) -> list[Sample]:
    samples = []
    for reduction in REDUCTIONS:
        samples += [
            Sample(make(4, 3), labels(make, 4, below=3), reduction=reduction),
            Sample(make(4, 40), labels(make, 4, below=40), reduction=reduction),
            Sample(
                make(4, 3), labels(make, 4, below=3, ignored=-100), fixed(make, 3),
                reduction=reduction,
            ),
            Sample(
                make(2, 3, 4), labels(make, 2, 4, below=3, ignored=1), ignore_index=1,
                reduction=reduction,
            ),
            Sample(
                make(2, 3, 2, 2), labels(make, 2, 2, 2, below=3), fixed(make, 3),
                reduction=reduction,
            ),
            Sample(make(3), labels(make, below=3), reduction=reduction),
        ]  # fmt: skip
    return [*samples, Sample(make(4, 3), make.index(4, below=3, dtype="uint8"))]


def smoothed(make: Maker) -> list[Sample]:
    samples = []
    for reduction in REDUCTIONS:
        options = dict(reduction=reduction, label_smoothing=0.3)
        samples += [
            Sample(make(4, 3), labels(make, 4, below=3), **options),
            Sample(make(2, 35), labels(make, 2, below=35), fixed(make, 35), **options),
            Sample(
                make(2, 3, 4), labels(make, 2, 4, below=3, ignored=-7), fixed(make, 3),
                ignore_index=-7, **options,
            ),
            Sample(make(3), labels(make, below=3), **options),
        ]  # fmt: skip
    return samples


def with_probabilities(make: Maker) -> list[Sample]:
    def target(*shape: int) -> np.ndarray:
        return make(*shape, low=0.1, high=1.0)

    samples = []
    for reduction in REDUCTIONS:
        samples += [
            Sample(make(4, 3), target(4, 3), reduction=reduction),
            Sample(make(4, 3), target(4, 3), fixed(make, 3), reduction=reduction),
            Sample(make(2, 3, 4), target(2, 3, 4), label_smoothing=0.2, reduction=reduction),
            Sample(make(3), target(3), reduction=reduction),
        ]
    return samples


def cross_entropy_samples(make: Maker) -> list[Sample]:
    return [*with_labels(make), *smoothed(make), *with_probabilities(make)]


def label_edges(make: Maker) -> list[Sample]:
    extreme = make(3, 4)
    extreme[0], extreme[1, 1], extreme[2, 0] = extreme[0] * 1e4, float("-inf"), float("inf")
    every_ignored = np.full(4, -100)
    return [
        Sample(extreme, np.array([1, 2, 3])),
        Sample(extreme, np.array([1, 1, 0]), reduction="none"),
        Sample(make(4, 3), every_ignored),
        Sample(make(4, 3), every_ignored, reduction="sum"),
        Sample(make(4, 3), every_ignored, fixed(make, 3)),
        Sample(make(2, 3), np.array([0, 1]), Fixed(make(3) * 0)),
        Sample(make(0, 3), np.zeros(0, np.int64)),
        Sample(make(0, 3), np.zeros(0, np.int64), reduction="sum"),
        Sample(make(0, 3), np.zeros(0, np.int64), reduction="none"),
        Sample(make(2, 3, 0), np.zeros((2, 0), np.int64), reduction="none"),
        Sample(make(70, 1000), labels(make, 70, below=1000)),
        Sample(make(20, 7, 600), labels(make, 20, 600, below=7), reduction="sum"),
    ]


def wrong_labels(make: Maker) -> list[Raises]:
    x, y = make(2, 3), np.array([0, 2])
    return [
        Raises(IndexError, "Target 3 is out of bounds for 3 classes", x, np.array([0, 3])),
        Raises(IndexError, "Target -1 is out of bounds", x, np.array([0, -1])),
        Raises(IndexError, "Target 7 is out", make(2, 3, 4), np.full((2, 4), 7)),
        Raises(IndexError, "40", make(2, 40), np.array([0, 40])),
        Raises(RuntimeError, "int32", x, y.astype(np.int32)),
        Raises(ValueError, "batch_size", x, np.array([0, 1, 2])),
        Raises(ValueError, "size 2", make(3), np.array([0, 1])),
        Raises(RuntimeError, "[2, 4]", make(2, 3, 4), np.zeros((2, 5), np.int64)),
        Raises(RuntimeError, "3 classes", x, y, make(2)),
        Raises(RuntimeError, "float64", x, y, make(3, dtype="float64")),
        Raises(ValueError, "foo", x, y, reduction="foo"),
        Raises(NotImplementedError, "int64", make(2, 3, dtype="int64"), y),
        Raises(TypeError, "target", x, "y"),
    ]


def wrong_cross_entropy(make: Maker) -> list[Raises]:
    x = make(2, 3)
    return [
        *wrong_labels(make),
        Raises(RuntimeError, "label_smoothing", x, np.array([0, 1]), label_smoothing=1.5),
        Raises(RuntimeError, "int64", x, np.zeros((2, 3), np.int64)),
        Raises(RuntimeError, "ignore_index", x, make(2, 3), ignore_index=1),
    ]


# Differences


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


# Probabilities


def binary_samples(make: Maker) -> list[Sample]:
    def chance(*shape: int) -> np.ndarray:
        return make(*shape, low=0.1, high=0.9)

    samples = [Sample(chance(3, 4), chance(3, 4), reduction=r) for r in REDUCTIONS]
    samples += [
        Sample(chance(3, 4), Fixed(chance(3, 4)), fixed(make, 3, 4), reduction=r)
        for r in REDUCTIONS
    ]
    return [*samples, Sample(chance(3, 4), Fixed(chance(3, 4)), fixed(make, 4))]


def binary_edges(make: Maker) -> list[Sample]:
    x = make(4, low=0.1, high=0.9)
    x[:2] = 0, 1
    certain = np.array([1, 0, 1, 0]).astype(x.dtype)
    return [
        Sample(x, Fixed(certain), reduction="none"),
        Sample(x, Fixed(1 - certain), reduction="none"),
        Sample(make(0), make(0)),
    ]


def wrong_binary(make: Maker) -> list[Raises]:
    x = make(2, 3, low=0.1, high=0.9)
    return [
        Raises(ValueError, "[3]", x, make(3)),
        Raises(RuntimeError, "between 0 and 1", x + 1, x),
        Raises(RuntimeError, "between 0 and 1", x * float("nan"), x),
        Raises(RuntimeError, "float64", x, make(2, 3, dtype="float64")),
        Raises(RuntimeError, "int64", x, np.zeros((2, 3), np.int64)),
        Raises(ValueError, "foo", x, x, reduction="foo"),
    ]


def logit_samples(make: Maker) -> list[Sample]:
    def chance(*shape: int) -> np.ndarray:
        return make(*shape, low=0.1, high=0.9)

    samples = [Sample(make(3, 4), chance(3, 4), reduction=r) for r in REDUCTIONS]
    for reduction in REDUCTIONS:
        samples += [
            Sample(make(3, 4), chance(3, 4), fixed(make, 3, 4), reduction=reduction),
            Sample(make(3, 4), chance(3, 4), reduction=reduction, pos_weight=fixed(make, 4)),
            Sample(
                make(3, 4), chance(3, 4), fixed(make, 4), reduction=reduction,
                pos_weight=fixed(make, 3, 4),
            ),
        ]  # fmt: skip
    return samples


def large_scores(make: Maker) -> list[Sample]:
    x = np.array([1e4, -1e4, 0, 100]).astype(make(1).dtype)
    return [
        Sample(x, Fixed(np.array([1, 0, 1, 0]).astype(x.dtype)), reduction="none"),
        Sample(x, Fixed(np.array([0, 1, 0, 1]).astype(x.dtype)), reduction="none"),
        Sample(make(0), make(0)),
    ]


def wrong_logits(make: Maker) -> list[Raises]:
    return [
        Raises(ValueError, "[3]", make(2, 3), make(3)),
        Raises(RuntimeError, "3", make(2, 3), make(2, 3), pos_weight=make(2)),
        Raises(ValueError, "foo", make(2), make(2), reduction="foo"),
    ]


def divergence_samples(make: Maker) -> list[Sample]:
    samples = []
    for reduction in ("sum", "none", "batchmean"):
        samples += [
            Sample(make(3, 4), make(3, 4, low=0.1, high=0.9), reduction=reduction),
            Sample(make(3, 4), make(3, 4), reduction=reduction, log_target=True),
        ]
    broadcast = Sample(make(3, 4), make(4, low=0.1, high=0.9), reduction="sum")
    return [*samples, broadcast, Sample(make(), make(low=0.1), reduction="batchmean")]


def divergence_edges(make: Maker) -> list[Sample]:
    y = make(4, low=0.1, high=0.9)
    y[:2] = 0, -1
    return [Sample(make(4), Fixed(y), reduction="none")]


def wrong_divergence(make: Maker) -> list[Raises]:
    return [
        Raises(ValueError, "foo", make(2), make(2), reduction="foo"),
        Raises(RuntimeError, "Integral", make(3), make(3, dtype="int64"), reduction="sum"),
    ]


# Margins


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


def wrong_reduction(make: Maker) -> list[Raises]:
    return [Raises(ValueError, "foo", make(2, 3), make(2, 3), reduction="foo")]


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
    OpRow(
        F + "cross_entropy", cross_entropy_samples, edges=label_edges, errors=wrong_cross_entropy,
        **ROUNDED,
    ),
    OpRow(F + "nll_loss", with_labels, edges=label_edges, errors=wrong_labels, **ROUNDED),
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
    OpRow(
        F + "binary_cross_entropy", binary_samples, edges=binary_edges, errors=wrong_binary,
        **ROUNDED,
    ),
    OpRow(
        F + "binary_cross_entropy_with_logits", logit_samples, edges=large_scores,
        errors=wrong_logits, **ROUNDED,
    ),
    OpRow(
        F + "kl_div", divergence_samples, edges=divergence_edges, errors=wrong_divergence,
        **ROUNDED,
    ),
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
