"""Rows of the losses of classification, with every argument of each."""

from __future__ import annotations

import numpy as np

from tests.harness.losses import REDUCTIONS, ROUNDED, F, fixed, labels
from tests.harness.row import Fixed, Maker, OpRow, Raises, Sample

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
        options = {"reduction": reduction, "label_smoothing": 0.3}
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
        Raises(RuntimeError, "Double", x, y, make(3, dtype="float64")),
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


def linear_scores(make: Maker) -> list[Sample]:
    x, w, y = make(4, 3), make(5, 3), labels(make, 4, below=5)
    several, each = make(5, 2, 3), labels(make, 4, 2, below=5)
    return [
        Sample(x, w, y),
        Sample(x, w, y, linear_bias=make(5), weight=fixed(make, 5), reduction="none"),
        Sample(x, w, y, reduction="sum", ignore_index=int(y[0]), label_smoothing=0.1),
        Sample(x, several, each, linear_bias=make(5, 2)),
        Sample(x, w, make(4, 5, low=0.1, high=1.0)),
        Sample(x[0], w, np.array(2)),
    ]


def wrong_linear_scores(make: Maker) -> list[Raises]:
    x, w, y = make(4, 3), make(5, 3), np.array([0, 1, 2, 4])
    return [
        Raises(RuntimeError, "input", make(2, 2, 3), w, y),
        Raises(RuntimeError, "linear_weight", x, make(3), y),
        Raises(RuntimeError, "last dimensions", x, make(5, 2), y),
        Raises(RuntimeError, "linear_bias", x, w, y, linear_bias=make(4)),
        Raises(RuntimeError, "2 dimensions", x[0], make(5, 2, 3), y),
        Raises(RuntimeError, "ignore_index", x, w, make(4, 5), ignore_index=1),
        Raises(ValueError, "foo", x, w, y, reduction="foo"),
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


ROWS = [
    OpRow(
        F + "cross_entropy", cross_entropy_samples, edges=label_edges, errors=wrong_cross_entropy,
        **ROUNDED,
    ),
    OpRow(
        F + "linear_cross_entropy", linear_scores, errors=wrong_linear_scores, **ROUNDED,
    ),
    OpRow(F + "nll_loss", with_labels, edges=label_edges, errors=wrong_labels, **ROUNDED),
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
]  # fmt: skip
