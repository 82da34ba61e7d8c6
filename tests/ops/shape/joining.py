"""Rows of the ops that put tensors together and take them apart."""

from __future__ import annotations

from tests.harness.row import ALL, OpRow, Raises, Sample


def pairs(*shapes):
    def samples(make):
        return [Sample([make(*one), make(*two)]) for one, two in shapes]

    return samples


def pieces(make):
    return [
        Sample(make(6, 2), 2),
        Sample(make(6, 2), 4),
        Sample(make(2, 6), 3, 1),
        Sample(make(6, 2), 10),
    ]


ROWS = [
    OpRow(
        "cat",
        lambda make: [
            Sample([make(2, 3), make(1, 3)]),
            Sample([make(2, 3), make(2, 1), make(2, 2)], 1),
            Sample((make(2), make(1)), -1),
            Sample([make(2, dtype="int64"), make(2)]),
        ],
        dtypes=ALL,
        edges=lambda make: [
            Sample((make(2), make(0), make(1)), -1),
            Sample([make(2, 3), make(0)]),
            Sample([make(0), make(0)]),
            Sample([make(2, 1), make(2, 0)], dim=1),
        ],
        aliases=("concat", "concatenate"),
        out=True,
        errors=lambda make: [
            Raises(ValueError, "non-empty", []),
            Raises(RuntimeError, "[3, 2]", [make(2, 3), make(3, 2)]),
            Raises(RuntimeError, "1", [make(2, 3), make(3)]),
            Raises(RuntimeError, "position 1", [make(2), make()]),
            Raises(IndexError, "got 2", [make(2, 3)], 2),
            Raises(TypeError, "element 1", [make(2, 3), 1]),
            Raises(TypeError, "tensors", make(2, 3)),
        ],
    ),
    OpRow(
        "stack",
        lambda make: [
            Sample([make(2, 3), make(2, 3)]),
            Sample([make(2, 3), make(2, 3)], -1),
            Sample((make(), make(), make()), 0),
            Sample([make(2), make(2, dtype="float64")], 1),
        ],
        dtypes=ALL,
        out=True,
        errors=lambda make: [
            Raises(RuntimeError, "non-empty", []),
            Raises(RuntimeError, "[3]", [make(2), make(3)]),
            Raises(IndexError, "got 2", [make(2)], 2),
        ],
    ),
    OpRow("hstack", pairs(((2,), (3,)), ((2, 1), (2, 2)), ((), ())), out=True),
    OpRow(
        "vstack", pairs(((2,), (2,)), ((2, 1), (3, 1)), ((), ())), out=True, aliases=("row_stack",)
    ),
    OpRow("dstack", pairs(((2,), (2,)), ((2, 3), (2, 3)), ((2, 1, 2), (2, 1, 1))), out=True),
    OpRow("column_stack", pairs(((2,), (2,)), ((2, 1), (2, 3)), ((2,), (2, 2))), out=True),
    *(
        OpRow(
            f"atleast_{ndim}d",
            lambda make: [
                Sample(make()),
                Sample(make(2)),
                Sample(make(2, 3), make()),
                Sample([make(2, 3, 1, 2), make(3)]),
            ],
        )
        for ndim in (1, 2, 3)
    ),
    OpRow(
        "split",
        lambda make: [
            *pieces(make),
            Sample(make(6), [1, 2, 3]),
            Sample(make(2, 6), [6, 0], dim=1),
        ],
        dtypes=ALL,
        edges=lambda make: [Sample(make(0, 2), 3), Sample(make(2, 0), 0, 1)],
        method="split",
        errors=lambda make: [
            Raises(RuntimeError, "0", make(3), 0),
            Raises(RuntimeError, "-1", make(3), -1),
            Raises(RuntimeError, "[1, 1]", make(3), [1, 1]),
            Raises(IndexError, "got 1", make(3), 1, 1),
        ],
    ),
    OpRow(
        "split_with_sizes",
        lambda make: [Sample(make(6), [1, 2, 3]), Sample(make(2, 6), (6, 0), 1)],
        method="split_with_sizes",
        errors=lambda make: [Raises(RuntimeError, "[4, -1]", make(3), [4, -1])],
    ),
    OpRow(
        "chunk",
        pieces,
        edges=lambda make: [Sample(make(0, 2), 3)],
        method="chunk",
        errors=lambda make: [Raises(RuntimeError, "0", make(3), 0)],
    ),
    OpRow(
        "tensor_split",
        lambda make: [
            *pieces(make),
            Sample(make(7), 3),
            Sample(make(7), (2, 5)),
            Sample(make(2, 7), (-3, 9), 1),
            Sample(make(2, 7), sections=3, dim=1),
            Sample(make(2, 7), indices=[1], dim=1),
        ],
        method="tensor_split",
        errors=lambda make: [
            Raises(RuntimeError, "0", make(3), 0),
            Raises(TypeError, "0 of them", make(3)),
        ],
    ),
    OpRow(
        "hsplit",
        lambda make: [Sample(make(6), 3), Sample(make(2, 6), 2), Sample(make(2, 6), (1, 4))],
        method="hsplit",
        errors=lambda make: [Raises(RuntimeError, "2", make(3), 2)],
    ),
    OpRow(
        "vsplit",
        lambda make: [
            Sample(make(6, 2), 3),
            Sample(make(3, 2), (1,)),
            Sample(make(3, 2), sections=3),
        ],
        method="vsplit",
        errors=lambda make: [Raises(RuntimeError, "at least 2", make(3), 3)],
    ),
    OpRow("dsplit", lambda make: [Sample(make(1, 2, 6), 3)], method="dsplit"),
    OpRow(
        "unbind",
        lambda make: [Sample(make(2, 3)), Sample(make(2, 3), 1), Sample(make(3), -1)],
        dtypes=ALL,
        method="unbind",
        errors=lambda make: [
            Raises(IndexError, "got 2", make(2, 3), 2),
            Raises(IndexError, "0-dim", make()),
        ],
    ),
]
