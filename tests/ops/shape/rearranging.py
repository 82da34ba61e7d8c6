"""Rows of the ops that copy elements into another arrangement."""

from __future__ import annotations

from tests.harness.row import ALL, FLOATS, NUMBERS, OpRow, Raises, Sample


def triangles(make):
    return [
        Sample(make(3, 4)),
        Sample(make(3, 3), 1),
        Sample(make(2, 3, 3), -1),
        Sample(make(2, 2), diagonal=5),
    ]


def triangle_sizes(make):
    return [Sample(3, 4), Sample(3, 3, 1), Sample(2, 4, offset=-1), Sample(0, 2), Sample(3, 2, -5)]


def matrix_errors(make):
    return [Raises(RuntimeError, "at least 2", make(3))]


ROWS = [
    OpRow(
        "Tensor.repeat",
        lambda make: [
            Sample(make(2, 3), 2, 1),
            Sample(make(3), (2, 2)),
            Sample(make(2), 0),
            Sample(make(), 2),
        ],
        dtypes=ALL,
        errors=lambda make: [
            Raises(RuntimeError, "(1)", make(2, 3), 2),
            Raises(RuntimeError, "-1", make(2), -1),
        ],
    ),
    OpRow("tile", lambda make: [Sample(make(2, 3), (2,)), Sample(make(2), (2, 2))], method="tile"),
    OpRow(
        "repeat_interleave",
        lambda make: [
            Sample(make(2, 3), 2),
            Sample(make(2, 3), 2, 0),
            Sample(make(2, 3), make.index(3, below=3), dim=1),
            Sample(make(2), make.index(1, below=3), 0),
        ],
        dtypes=ALL,
        method="repeat_interleave",
        errors=lambda make: [
            Raises(RuntimeError, "non-negative", make(2), -1),
            Raises(RuntimeError, "(3)", make(3), make.index(2, below=2), 0),
        ],
    ),
    OpRow(
        "flip",
        lambda make: [
            Sample(make(2, 3), (0,)),
            Sample(make(2, 3), (0, -1)),
            Sample(make(2, 3), ()),
        ],
        dtypes=ALL,
        method="flip",
        errors=lambda make: [
            Raises(RuntimeError, "0", make(2, 3), (0, 0)),
            Raises(IndexError, "got 4", make(2, 3), (4,)),
        ],
    ),
    OpRow(
        "fliplr",
        lambda make: [Sample(make(2, 3))],
        method="fliplr",
        errors=lambda make: [Raises(RuntimeError, "2-d", make(3))],
    ),
    OpRow(
        "flipud",
        lambda make: [Sample(make(2, 3))],
        method="flipud",
        errors=lambda make: [Raises(RuntimeError, "1-d", make())],
    ),
    OpRow(
        "rot90",
        lambda make: [
            *(Sample(make(2, 3), k) for k in (-1, 0, 1, 2, 3, 5)),
            Sample(make(2, 3, 4), 1, (2, 0)),
        ],
        method="rot90",
        errors=lambda make: [
            Raises(RuntimeError, "[0, 0]", make(2, 3), 1, [0, 0]),
            Raises(RuntimeError, "dims = 1", make(2, 3), 1, [0]),
        ],
    ),
    OpRow(
        "roll",
        lambda make: [
            Sample(make(2, 3), 1, 0),
            Sample(make(2, 3), (1, -2), (0, 1)),
            Sample(make(2, 3), 4),
            Sample(make(), 1),
        ],
        dtypes=ALL,
        method="roll",
        errors=lambda make: [
            Raises(RuntimeError, "shifts: 1", make(2, 3), 1, (0, 1)),
            Raises(IndexError, "got 2", make(2, 3), 1, 2),
        ],
    ),
    OpRow(
        "tril",
        triangles,
        dtypes=ALL,
        out=True,
        inplace="tril_",
        method="tril",
        errors=matrix_errors,
    ),
    OpRow(
        "triu",
        triangles,
        dtypes=ALL,
        out=True,
        inplace="triu_",
        method="triu",
        errors=matrix_errors,
    ),
    *(
        OpRow(
            name,
            triangle_sizes,
            dtypes=("int64",),
            differentiable=False,
            errors=lambda make: [Raises(RuntimeError, "-1", -1, 2)],
        )
        for name in ("tril_indices", "triu_indices")
    ),
    OpRow(
        "diag",
        lambda make: [
            Sample(make(3)),
            Sample(make(2), 1),
            Sample(make(3, 4)),
            Sample(make(3, 4), -1),
        ],
        dtypes=ALL,
        out=True,
        tracks_out=True,
        method="diag",
        errors=lambda make: [Raises(RuntimeError, "3D", make(1, 1, 1))],
    ),
    OpRow(
        "diag_embed",
        lambda make: [
            Sample(make(2, 3)),
            Sample(make(3), 1),
            Sample(make(2, 3), -1, 0, 2),
            Sample(make(2, 3), offset=0, dim1=1, dim2=0),
        ],
        method="diag_embed",
        errors=lambda make: [Raises(RuntimeError, "0, 0", make(2), 0, 0, 0)],
    ),
    OpRow(
        "diagflat",
        lambda make: [Sample(make(2, 2)), Sample(make(2), -1), Sample(make())],
        method="diagflat",
    ),
    OpRow(
        "diagonal_scatter",
        lambda make: [
            Sample(make(3, 3), make(3)),
            Sample(make(3, 4), make(3), 1),
            Sample(make(2, 3, 3), make(2, 3), 0, 1, 2),
        ],
        method="diagonal_scatter",
        errors=lambda make: [Raises(RuntimeError, "[2]", make(3, 3), make(2))],
    ),
    OpRow(
        "meshgrid",
        lambda make: [
            Sample(make(2), make(3), indexing="ij"),
            Sample(make(2), make(3), make(2), indexing="xy"),
            Sample([make(), make(3)], indexing="ij"),
        ],
        errors=lambda make: [
            Raises(RuntimeError, "received: ab", make(2), make(3), indexing="ab"),
            Raises(RuntimeError, "0D or 1D", make(2), make(2, 3), indexing="ij"),
        ],
    ),
    OpRow(
        "cartesian_prod",
        lambda make: [Sample(make(2), make(3)), Sample(make(2))],
        errors=lambda make: [Raises(RuntimeError, "1D", make(2), make(2, 2))],
    ),
    OpRow(
        "combinations",
        lambda make: [
            Sample(make(4)),
            Sample(make(4), 3),
            Sample(make(3), with_replacement=True),
            Sample(make(2), 5),
        ],
        dtypes=FLOATS,
        errors=lambda make: [
            Raises(RuntimeError, "1D", make(2, 2)),
            Raises(RuntimeError, "-1", make(2), -1),
        ],
    ),
    OpRow(
        "block_diag",
        lambda make: [Sample(make(2, 3), make(1, 2)), Sample(make(2), make(), make(2, 2))],
        dtypes=NUMBERS,
        errors=lambda make: [Raises(RuntimeError, "3", make(2), make(1, 1, 1))],
    ),
]
