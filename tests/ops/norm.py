"""Rows of the normalizations. Running statistics that are written are in ``tests/nn``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.harness.row import Fixed, Maker, OpRow, Raises, Sample

F = "nn.functional."
COMPOSED = "torch's is a batch norm, of which the bias' gradient depends on all inputs"
ROUNDED: dict[str, Any] = {
    "tolerance": {"float16": (2**-9, 4e-3), "bfloat16": (2**-6, 4e-2)},
    "reason": "torch rounds intermediate results to half precision, nnkit the last one",
}


def large(make: Maker, sample: Callable[[], Sample]) -> list[Sample]:
    """A sample of many blocks, in double precision: torch's own float32 sums are too rough."""
    return [sample()] if make.dtype == "float64" else []


def over_last(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), (4,)),
        Sample(make(3, 4), (4,), make(4), make(4)),
        Sample(make(2, 3, 4), (3, 4), make(3, 4), make(3, 4), 0.1),
        Sample(make(2, 3, 4), (4,), make(4)),
        Sample(make(5), (5,), None, make(5)),
    ]


def over_last_edges(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 1), (1,)),
        Sample(make(0, 3), (3,), make(3), make(3)),
        Sample(make(3, 5) * 0 + 2, (5,)),
        Sample(make(3, 5) + 10, (5,)),
        *large(make, lambda: Sample(make(200, 900), (900,), make(900), make(900))),
    ]


def rms(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), (4,)),
        Sample(make(3, 4), (4,), make(4), 1e-3),
        Sample(make(2, 3, 4), (3, 4), make(3, 4)),
        Sample(make(5), [5], make(5)),
    ]


def rms_edges(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 5) * 0, (5,)),
        Sample(make(3, 5) * 1e-4, (5,)),
        Sample(make(0, 3), (3,), make(3)),
        *large(make, lambda: Sample(make(200, 900), (900,), make(900))),
    ]


def wrong_last(make: Maker) -> list[Raises]:
    x = make(2, 4, 3)
    return [
        Raises(RuntimeError, "[2, 4, 3]", x, (4,)),
        Raises(RuntimeError, "at least 1", x, ()),
        Raises(TypeError, "normalized_shape", x, 3),
        Raises(RuntimeError, "[4]", x, (3,), make(4)),
        Raises(RuntimeError, "[1, 3]", x, (3,), make(1, 3)),
        Raises(NotImplementedError, "int64", make(2, 3, dtype="int64"), (3,)),
    ]


def wrong_layer(make: Maker) -> list[Raises]:
    return [
        *wrong_last(make),
        Raises(RuntimeError, "[4]", make(2, 3), (3,), make(3), make(4)),
        Raises(RuntimeError, "float64", make(2, 3), (3,), make(3, dtype="float64")),
    ]


def groups(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 4, 3), 2),
        Sample(make(2, 4, 3), 2, make(4), make(4)),
        Sample(make(2, 6, 2, 2), 3, make(6), make(6), 0.1),
        Sample(make(3, 8), 2, make(8)),
        Sample(make(2, 4, 3), 1),
    ]


def group_edges(make: Maker) -> list[Sample]:
    return [
        Sample(make(0, 4, 3), 2, make(4), make(4)),
        *large(make, lambda: Sample(make(8, 16, 40, 40), 4, make(16), make(16))),
    ]


def wrong_groups(make: Maker) -> list[Raises]:
    x = make(2, 4, 3)
    return [
        Raises(RuntimeError, "num_groups=3", x, 3),
        Raises(RuntimeError, "[3]", x, 2, make(3)),
        Raises(NotImplementedError, "int64", make(2, 4, 3, dtype="int64"), 2),
    ]


def wrong_groups_functional(make: Maker) -> list[Raises]:
    return [
        *wrong_groups(make),
        Raises(RuntimeError, "2 dimensions", make(4), 2),
        Raises(ValueError, "[1, 4, 1]", make(1, 4, 1), 4),
    ]


def statistics(make: Maker, channels: int) -> tuple[Fixed, Fixed]:
    return Fixed(make(channels)), Fixed(make(channels, low=0.3, high=2.0))


def batches(make: Maker) -> list[Sample]:
    return [
        Sample(make(5, 3), None, None, training=True),
        Sample(make(5, 3), None, None, make(3), make(3), True),
        Sample(make(2, 3, 4), None, None, make(3), None, True, 0.2, 0.1),
        Sample(make(2, 3, 2, 2), None, None, make(3), make(3), True),
        Sample(make(5, 3), *statistics(make, 3)),
        Sample(make(2, 3, 4), *statistics(make, 3), make(3), make(3)),
        Sample(make(2, 3, 2, 2), *statistics(make, 3), make(3), None, False, 0.1, 0.1),
    ]


def batch_edges(make: Maker) -> list[Sample]:
    return [
        Sample(make(1, 3), *statistics(make, 3), make(3)),
        Sample(make(0, 3), *statistics(make, 3), make(3), make(3)),
        Sample(make(5, 3) * 0 + 2, None, None, training=True),
        *large(make, lambda: Sample(make(8, 16, 40, 40), None, None, make(16), make(16), True)),
    ]


def wrong_batches(make: Maker) -> list[Raises]:
    x, one = make(2, 4, 3), make(4, low=0.5)
    return [
        Raises(RuntimeError, "running_mean", x, None, None),
        Raises(RuntimeError, "[3]", x, one, one, make(3)),
        Raises(RuntimeError, "[3]", x, make(3), one),
        Raises(ValueError, "[1, 4]", make(1, 4), one, one, training=True),
        Raises(ValueError, "both", x, one, None, training=True),
        Raises(NotImplementedError, "int64", make(2, 4, dtype="int64"), one, one),
        Raises(RuntimeError, "float64", make(2, 4, dtype="float64"), one, one),
    ]


def in_torchs_order(functional: Any) -> Any:
    """``torch.batch_norm`` and ``torch.instance_norm`` take the parameters first."""

    def samples(make: Maker) -> list[Sample]:
        found = []
        for sample in functional(make):
            values = [None, None, None, None, False, 0.1, 1e-5]
            values[: len(sample.args) - 1] = sample.args[1:]
            values[4] = sample.kwargs.get("training", values[4])
            mean, var, weight, bias, *rest = values
            found.append(Sample(sample.args[0], weight, bias, mean, var, *rest, False))
        return found

    return samples


def instances(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3, 4), None, None, None, None, True),
        Sample(make(2, 3, 4), None, None, make(3), make(3), True),
        Sample(make(2, 3, 2, 2), None, None, make(3), None, True, 0.2, 0.1),
        Sample(make(2, 3, 4), *statistics(make, 3), make(3), make(3), False),
    ]


def wrong_instances(make: Maker) -> list[Raises]:
    return [
        Raises(ValueError, "[4, 3]", make(4, 3)),
        Raises(ValueError, "[2, 4, 1]", make(2, 4, 1)),
        Raises(RuntimeError, "running_mean", make(2, 3, 4), use_input_stats=False),
        Raises(RuntimeError, "[3]", make(2, 4, 3), None, None, make(3)),
    ]


def responses(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 4, 3), 3),
        Sample(make(2, 4, 3), 2, 0.1, 0.5, 2.0),
        Sample(make(1, 2, 3), 9, 0.5),
    ]


def response_edges(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 5, 2, 2), 4, 0.5),
        Sample(make(1, 3, 2, 2, 2), 1, 0.5, 1.0),
        Sample(make(0, 3, 2), 3),
    ]


def wrong_responses(make: Maker) -> list[Raises]:
    return [
        Raises(ValueError, "2 dimensions", make(2, 4), 3),
        Raises(RuntimeError, "size", make(2, 4, 3), 0),
    ]


def unit_lengths(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4)),
        Sample(make(3, 4), 1.0, 0),
        Sample(make(3, 4), p=3.0),
        Sample(make(2, 3, 4), dim=-1),
        Sample(make(3, 4), dim=(0, 1)),
    ]


def unit_edges(make: Maker) -> list[Sample]:
    return [Sample(make(2, 3) * 0), Sample(make.distinct(3, 4), float("inf")), Sample(make(0, 3))]


def wrong_lengths(make: Maker) -> list[Raises]:
    return [
        Raises(IndexError, "got 1", make(3)),
        Raises(RuntimeError, "int64", make(2, 3, dtype="int64")),
    ]


def vector_pairs(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4), make(3, 4)),
        Sample(make(3, 4), make(4)),
        Sample(make(2, 3, 4), make(2, 3, 4)),
    ]


def angles(make: Maker) -> list[Sample]:
    return [
        *vector_pairs(make),
        Sample(make(3, 4), make(3, 4), 0),
        Sample(make(2, 3, 4), make(3, 1), dim=-2, eps=1e-3),
        Sample(make(4), make(4), dim=0),
    ]


def angle_edges(make: Maker) -> list[Sample]:
    return [
        Sample(make(2, 3) * 0, make(2, 3)),
        Sample(make(2, 3), make(2, 3, dtype="int64")),
        Sample(make(2, 3) * 0.01, make(2, 3), 1, 1.0),
    ]


def wrong_angles(make: Maker) -> list[Raises]:
    return [
        Raises(IndexError, "got 2", make(2, 3), make(2, 3), 2),
        Raises(RuntimeError, "int64", make(2, 3, dtype="int64"), make(2, 3, dtype="int64")),
    ]


def distances(make: Maker) -> list[Sample]:
    return [
        *vector_pairs(make),
        Sample(make(3, 4), make(3, 4), 1.0, 0.01),
        Sample(make(3, 4), make(3, 4), 3.0, keepdim=True),
        Sample(make(4), make(4)),
    ]


def distance_edges(make: Maker) -> list[Sample]:
    x = make(2, 3)
    return [Sample(x, x.copy(), eps=0.0), Sample(x, x.copy()), Sample(x, x + 1, float("inf"))]


def wrong_rows(make: Maker) -> list[Raises]:
    return [
        Raises(RuntimeError, "[3]", make(3)),
        Raises(RuntimeError, "-1", make(2, 3), -1.0),
    ]


ROWS = [
    OpRow(
        F + "pdist",
        lambda make: [Sample(make(4, 3)), Sample(make(4, 3), 1.0), Sample(make(4, 3), 3.0)],
        # torch's backward crashes on (0, 2).
        edges=lambda make: [
            Sample(make(1, 3)), Sample(make(3, 2) * 0),
            Sample(np.eye(3, dtype=make.dtype), np.inf),
        ],
        errors=wrong_rows,
        second_order=False,
        dtypes=("float32", "float64"),
        aliases=("pdist",),
    ),
    OpRow(
        "layer_norm", over_last, edges=over_last_edges, errors=wrong_layer, **ROUNDED,
    ),
    OpRow(F + "layer_norm", over_last, errors=wrong_layer, **ROUNDED),
    OpRow("rms_norm", rms, edges=rms_edges, errors=wrong_last, **ROUNDED),
    OpRow(F + "rms_norm", rms, errors=wrong_last, **ROUNDED),
    OpRow("group_norm", groups, edges=group_edges, errors=wrong_groups, **ROUNDED),
    OpRow(F + "group_norm", groups, errors=wrong_groups_functional, **ROUNDED),
    OpRow("batch_norm", in_torchs_order(batches), **ROUNDED),
    OpRow(F + "batch_norm", batches, edges=batch_edges, errors=wrong_batches, **ROUNDED),
    OpRow("instance_norm", in_torchs_order(instances), again=COMPOSED, **ROUNDED),
    OpRow(F + "instance_norm", instances, again=COMPOSED, errors=wrong_instances, **ROUNDED),
    OpRow(
        F + "local_response_norm", responses, edges=response_edges, errors=wrong_responses,
        **ROUNDED,
    ),
    OpRow(F + "normalize", unit_lengths, edges=unit_edges, errors=wrong_lengths, **ROUNDED),
    OpRow("cosine_similarity", angles, edges=angle_edges, errors=wrong_angles, **ROUNDED),
    OpRow(F + "cosine_similarity", angles, **ROUNDED),
    OpRow("pairwise_distance", distances, edges=distance_edges, **ROUNDED),
    OpRow(F + "pairwise_distance", distances, **ROUNDED),
]  # fmt: skip
