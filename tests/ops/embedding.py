"""Rows of the embeddings."""

from __future__ import annotations

import numpy as np

from tests.harness.row import Fixed, Maker, OpRow, Raises, Sample

F = "nn.functional."
HALVES = {"float16": (2**-9, 2e-3), "bfloat16": (2**-6, 2e-2)}
REASON = "torch adds the rows of a bag in half precision"


def lookups(make: Maker) -> list[Sample]:
    return [
        Sample(make.index(4, below=5), make(5, 3)),
        Sample(make.index(2, 3, below=2), make(2, 3)),
        Sample(make.index(4, below=5, dtype="int32"), make(5, 3)),
        Sample(np.array(2), make(3, 2)),
    ]


def lookup_edges(make: Maker) -> list[Sample]:
    """Among them those whose gradient is another than the derivative."""
    return [
        Sample(np.array([1, 0, 1, 2]), make(3, 2), padding_idx=1),
        Sample(np.array([1, 0, 1, 2]), make(3, 2), padding_idx=-1),
        Sample(np.array([1, 0, 1, 1]), make(3, 2), scale_grad_by_freq=True),
        Sample(make.index(300, below=9), make(9, 80), 3, scale_grad_by_freq=True),
        Sample(np.zeros((0, 2), np.int64), make(3, 2)),
        Sample(make.index(4, below=5), make(5, 0)),
        Sample(make.index(300, below=9), make(9, 80)),
        Sample(make.index(60, 40, below=3000), make(3000, 16)),
        Sample(np.array([0, 5]), make(3, 2)),
    ]


def wrong_lookups(make: Maker) -> list[Raises]:
    table, index = make(3, 2), np.array([0, 1])
    return [
        Raises(IndexError, "out of range in self: 3", np.array([0, 3]), table),
        Raises(IndexError, "out of range in self: -1", np.array([0, -1]), table),
        Raises(IndexError, "3 rows", np.array([7], np.int32), table),
        Raises(RuntimeError, "float32", make(2, dtype="float32"), table),
        Raises(RuntimeError, "uint8", index.astype(np.uint8), table),
        Raises(RuntimeError, "2-D", index, make(3)),
        Raises(AssertionError, "Padding_idx", index, table, 3),
        Raises(AssertionError, "Padding_idx", index, table, -4),
    ]


def table_first(make: Maker) -> list[Sample]:
    return [
        Sample(make(5, 3), make.index(4, below=5)),
    ]


def table_first_edges(make: Maker) -> list[Sample]:
    return [Sample(make(2, 3), make.index(2, 3, below=2), 1, True)]


def wrong_table_first(make: Maker) -> list[Raises]:
    return [
        Raises(IndexError, "out of range in self: 3", make(3, 2), np.array([0, 3])),
        Raises(RuntimeError, "2-D", make(3), np.array([0, 1])),
    ]


def long_rows(make: Maker) -> list[Sample]:
    return [
        Sample(Fixed(make(4, 3) * 2), np.array([0, 2, 2]), 1.0, 2.0),
        Sample(Fixed(make(4, 3)), np.array([[1], [3]]), 0.5, 1.0),
        Sample(Fixed(make(4, 3)), np.array([1, 0]), 0.5, float("inf")),
        Sample(Fixed(make(4, 3) * 0.01), np.array([1, 0]), 0.5, 2.0),
    ]


def bags(make: Maker) -> list[Sample]:
    index, offsets = np.array([1, 2, 4, 5, 4, 3, 2]), np.array([0, 3, 3, 5])
    samples = []
    for mode in ("mean", "sum", "max"):
        samples += [
            Sample(index, make.distinct(6, 3), offsets, mode=mode),
            Sample(make.index(3, 4, below=6), make.distinct(6, 3), mode=mode),
            Sample(index, make.distinct(6, 3), offsets, mode=mode, padding_idx=4),
            Sample(
                index, make.distinct(6, 3), np.array([0, 2, 7]), mode=mode,
                include_last_offset=True,
            ),
        ]  # fmt: skip
    return [
        *samples,
        Sample(index, make(6, 3), offsets, mode="sum", per_sample_weights=make(7)),
        Sample(index.reshape(1, 7), make(6, 3), mode="sum", per_sample_weights=make(1, 7)),
        Sample(index, make(6, 3), offsets, mode="mean", max_norm=100.0),
    ]


def bag_edges(make: Maker) -> list[Sample]:
    nothing = np.zeros(0, np.int64)
    return [
        Sample(nothing, make(3, 2), np.array([0, 0]), mode="sum"),
        Sample(nothing, make(3, 2), np.array([0, 0]), mode="max"),
        Sample(np.array([1, 1, 1]), make(3, 2), np.array([0, 2]), mode="max"),
    ]


def wrong_bags(make: Maker) -> list[Raises]:
    index, table, offsets = np.array([1, 2]), make(3, 2), np.array([0, 1])
    return [
        Raises(ValueError, "mode", index, table, offsets, mode="median"),
        Raises(ValueError, "2D", index.reshape(1, 2), table, offsets),
        Raises(ValueError, "None", index, table),
        Raises(ValueError, "dimension 3", index.reshape(1, 1, 2), table),
        Raises(ValueError, "2D", index, table, offsets.reshape(1, 2)),
        Raises(RuntimeError, "start from position 0", index, table, np.array([1, 2])),
        Raises(RuntimeError, "greater", index, table, np.array([0, 3])),
        Raises(NotImplementedError, "sum", index, table, offsets, per_sample_weights=make(2)),
        Raises(ValueError, "[3]", index, table, offsets, mode="sum", per_sample_weights=make(3)),
        Raises(ValueError, "freq", index, table, offsets, mode="max", scale_grad_by_freq=True),
        Raises(
            RuntimeError, "out of range in self: 3", np.array([0, 3]), table, offsets, mode="sum"
        ),
    ]


def ones(make: Maker) -> list[Sample]:
    index = make.index(2, 3, below=4)
    return [
        Sample(index), Sample(index, 6), Sample(np.array(2)), Sample(np.zeros((0, 2), np.int64), 3),
        Sample(np.array([0, 0])),
    ]  # fmt: skip


def wrong_ones(make: Maker) -> list[Raises]:
    return [
        Raises(RuntimeError, "got -1", np.array([-1])),
        Raises(RuntimeError, "got 3 with 2", np.array([3]), 2),
        Raises(RuntimeError, "int32", np.array([1], np.int32)),
        Raises(RuntimeError, "empty", np.zeros(0, np.int64)),
        Raises(RuntimeError, "with 0", np.array([0]), 0),
    ]


ROWS = [
    OpRow(F + "embedding", lookups, edges=lookup_edges, errors=wrong_lookups),
    OpRow("embedding", table_first, edges=table_first_edges, errors=wrong_table_first),
    OpRow("embedding_renorm_", long_rows, dtypes=("float32", "float64"), differentiable=False),
    OpRow(
        F + "embedding_bag", bags, edges=bag_edges, errors=wrong_bags, tolerance=HALVES,
        reason=REASON,
    ),
    OpRow(F + "one_hot", ones, dtypes=("int64",), differentiable=False, errors=wrong_ones),
]  # fmt: skip
