"""Rows of the dropouts. Whole tensors have one dimension: torch draws in the order of memory."""

from __future__ import annotations

from tests.harness.row import Maker, OpRow, Raises, Sample

F = "nn.functional."


def elements(make: Maker) -> list[Sample]:
    return [
        Sample(make(30), 0.3, True),
        Sample(make(30), 0.5, False),
        Sample(make(30), 0.0, True),
        Sample(make(30), 1.0, True),
        Sample(make(0), 0.5, True),
    ]


def written(make: Maker) -> list[Sample]:
    return [Sample(make(30), 0.3, True), Sample(make(30), 1.0, True)]


def channels(*shape: int):
    def samples(make: Maker) -> list[Sample]:
        return [
            Sample(make(*shape), 0.4, True),
            Sample(make(*shape), 1.0, True),
        ]

    return samples


def wrong_chance(error: type[Exception]):
    def errors(make: Maker) -> list[Raises]:
        return [
            Raises(error, "between 0 and 1", make(2, 3, 4), 1.5, True),
            Raises(error, "between 0 and 1", make(2, 3, 4), -0.5, True),
            Raises(RuntimeError, "nan", make(2, 3, 4), float("nan"), True),
        ]

    return errors


def with_dtypes(make: Maker) -> list[Raises]:
    return [
        *wrong_chance(RuntimeError)(make),
        Raises(RuntimeError, "int64", make(3, dtype="int64"), 0.5, True),
        Raises(NotImplementedError, "complex64", make(3, dtype="complex64"), 0.5, True),
    ]


def one_dimension(make: Maker) -> list[Raises]:
    return [Raises(RuntimeError, "2 dimensions", make(3), 0.5, True)]


ROWS = [
    OpRow("dropout", elements, errors=with_dtypes),
    OpRow("alpha_dropout", elements, errors=wrong_chance(RuntimeError)),
    OpRow("feature_dropout", channels(4, 5, 3), errors=one_dimension),
    OpRow("feature_alpha_dropout", channels(4, 5, 3), errors=one_dimension),
    OpRow("dropout_", elements),
    OpRow("alpha_dropout_", elements),
    OpRow("feature_dropout_", channels(4, 5, 3)),
    OpRow("feature_alpha_dropout_", channels(4, 5, 3)),
    OpRow(
        "native_dropout",
        lambda make: [*elements(make)[:2], Sample(make(30), 1.0, True)],
        errors=lambda make: [
            Raises(RuntimeError, "p=1.5", make(3), 1.5, True),
            Raises(RuntimeError, "int64", make(3, dtype="int64"), 0.5, True),
        ],
    ),
    OpRow(
        F + "dropout",
        lambda make: [Sample(make(30)), *written(make)],
        inplace="inplace=True",
        errors=wrong_chance(ValueError),
    ),
    OpRow(F + "alpha_dropout", written, inplace="inplace=True", errors=wrong_chance(ValueError)),
    OpRow(
        F + "feature_alpha_dropout",
        channels(4, 5, 3),
        inplace="inplace=True",
        errors=wrong_chance(ValueError),
    ),
    OpRow(
        F + "dropout1d",
        lambda make: [*channels(4, 5, 3)(make), Sample(make(5, 3))],
        inplace="inplace=True",
        errors=lambda make: [
            *wrong_chance(ValueError)(make),
            Raises(RuntimeError, "4D", make(2, 3, 4, 5)),
        ],
    ),
    OpRow(
        F + "dropout2d",
        channels(4, 5, 3, 2),
        inplace="inplace=True",
        errors=lambda make: wrong_chance(ValueError)(make)[:2],
    ),
    OpRow(
        F + "dropout3d",
        lambda make: [*channels(4, 5, 3, 2, 2)(make), Sample(make(5, 3, 2, 2))],
        inplace="inplace=True",
        errors=lambda make: wrong_chance(ValueError)(make)[:2],
    ),
]
