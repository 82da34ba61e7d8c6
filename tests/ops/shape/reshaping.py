"""Rows of the ops that give the same elements another shape."""

from __future__ import annotations

from tests.harness.row import ALL, COMPLEX, FLOATS, OpRow, Raises, Sample


def dims_of_two(make):
    return [Sample(make(2, 3, 4), 0, 1), Sample(make(2, 3), -1, 0), Sample(make(2, 3), 1, 1)]


def dim_errors(make):
    return [
        Raises(IndexError, "got 2", make(2, 3), 0, 2),
        Raises(IndexError, "got -3", make(2, 3), -3, 0),
    ]


ROWS = [
    OpRow(
        "reshape",
        lambda make: [
            Sample(make(2, 6), (3, 4)),
            Sample(make(2, 6), (2, -1, 3)),
            Sample(make(2, 6), (-1,)),
            Sample(make(1), ()),
            Sample(make(), (1, 1)),
        ],
        dtypes=ALL,
        edges=lambda make: [Sample(make(0, 3), (3, 0)), Sample(make(0, 3), (-1,))],
        method="reshape",
        errors=lambda make: [
            Raises(RuntimeError, "5", make(2, 3), (5,)),
            Raises(RuntimeError, "-1", make(2, 3), (-1, -1)),
            Raises(RuntimeError, "-2", make(2, 3), (-2, 3)),
            Raises(RuntimeError, "0", make(0, 3), (-1, 0)),
            Raises(TypeError, "input", "x", (1,)),
        ],
    ),
    OpRow(
        "Tensor.view",
        lambda make: [
            Sample(make(2, 6), 2, 3, 2),
            Sample(make(2, 6), (2, 1, -1)),
            Sample(make(4), [2, 2]),
        ],
        dtypes=ALL,
        errors=lambda make: [
            Raises(RuntimeError, "5", make(2, 3), 5),
            Raises(RuntimeError, "stride", make(2, 3).T, 6),
        ],
    ),
    OpRow("Tensor.view_as", lambda make: [Sample(make(2, 6), make(2, 3, 2))]),
    OpRow("Tensor.reshape_as", lambda make: [Sample(make(2, 6), make(3, 4))]),
    OpRow("ravel", lambda make: [Sample(make(2, 3)), Sample(make())], method="ravel"),
    OpRow(
        "flatten",
        lambda make: [
            Sample(make(2, 3, 4)),
            Sample(make(2, 3, 4), 1),
            Sample(make(2, 3, 4), 0, 1),
            Sample(make(2, 3, 4), 1, 1),
            Sample(make()),
        ],
        method="flatten",
        errors=lambda make: [
            Raises(RuntimeError, "start_dim", make(2, 3), 1, 0),
            Raises(IndexError, "got 2", make(2, 3), 2),
        ],
    ),
    OpRow(
        "unflatten",
        lambda make: [Sample(make(2, 6), 1, (3, 2)), Sample(make(6, 2), 0, (-1, 2))],
        method="unflatten",
        errors=lambda make: [Raises(RuntimeError, "4", make(2, 6), 1, (4, -1))],
    ),
    OpRow(
        "permute",
        lambda make: [Sample(make(2, 3, 4), (2, 0, 1)), Sample(make(2, 3), (-1, 0))],
        dtypes=ALL,
        method="permute",
        errors=lambda make: [
            Raises(RuntimeError, "2", make(2, 3), (0,)),
            Raises(RuntimeError, "duplicate", make(2, 3), (0, 0)),
            Raises(IndexError, "got 2", make(2, 3), (0, 2)),
        ],
    ),
    OpRow(
        "transpose",
        dims_of_two,
        dtypes=ALL,
        aliases=("swapdims",),
        method="transpose",
        errors=dim_errors,
    ),
    OpRow("swapaxes", dims_of_two, method="swapaxes", errors=dim_errors),
    OpRow(
        "t",
        lambda make: [Sample(make(2, 3)), Sample(make(3)), Sample(make())],
        method="t",
        errors=lambda make: [Raises(RuntimeError, "3D", make(1, 2, 3))],
    ),
    OpRow(
        "adjoint",
        lambda make: [Sample(make(2, 3)), Sample(make(2, 3, 4))],
        dtypes=FLOATS + COMPLEX,
        method="adjoint",
        errors=lambda make: [Raises(RuntimeError, "1-D", make(3))],
    ),
    OpRow(
        "movedim",
        lambda make: [
            Sample(make(2, 3, 4), 0, 2),
            Sample(make(2, 3, 4), (0, 1), (-1, 0)),
            Sample(make(2, 3, 4), -1, 0),
        ],
        aliases=("moveaxis",),
        method="movedim",
        errors=lambda make: [
            Raises(RuntimeError, "[0]", make(2, 3), (0, 1), (0,)),
            Raises(RuntimeError, "0", make(2, 3), (0, 0), (0, 1)),
            Raises(IndexError, "got 3", make(2, 3), 0, 3),
        ],
    ),
    OpRow(
        "Tensor.expand",
        lambda make: [
            Sample(make(2, 1), 2, 3),
            Sample(make(3), (2, 3)),
            Sample(make(1, 3), -1, -1),
            Sample(make(), 2, 0),
        ],
        dtypes=ALL,
        errors=lambda make: [
            Raises(RuntimeError, "(2)", make(3), 2),
            Raises(RuntimeError, "-1", make(3), -1, 3),
            Raises(RuntimeError, "number of sizes", make(2, 3), 3),
        ],
    ),
    OpRow("Tensor.expand_as", lambda make: [Sample(make(2, 1), make(2, 3))]),
    OpRow(
        "broadcast_to",
        lambda make: [Sample(make(3), (2, 3)), Sample(make(2, 1), (4, 2, 3))],
        method="broadcast_to",
        errors=lambda make: [Raises(RuntimeError, "(2)", make(3), (2,))],
    ),
    OpRow(
        "broadcast_tensors",
        lambda make: [Sample(make(2, 1), make(3)), Sample(make(), make(2, 1), make(1, 3))],
        errors=lambda make: [Raises(RuntimeError, "3", make(2), make(3))],
    ),
    OpRow(
        "broadcast_shapes",
        lambda make: [Sample((2, 1), (3,)), Sample((4,), (1,), ()), Sample((0, 1), (1, 3))],
        differentiable=False,
        errors=lambda make: [Raises(RuntimeError, "be broadcastable to", (2, 3), (4,))],
    ),
    OpRow(
        "squeeze",
        lambda make: [
            Sample(make(1, 2, 1)),
            Sample(make(1, 2, 1), 0),
            Sample(make(1, 2, 1), 1),
            Sample(make(1, 2, 1), (0, 1, -1)),
            Sample(make(), 0),
        ],
        dtypes=ALL,
        method="squeeze",
        errors=lambda make: [Raises(IndexError, "got 5", make(1, 2), 5)],
    ),
    OpRow(
        "unsqueeze",
        lambda make: [Sample(make(2, 3), 0), Sample(make(2, 3), -1), Sample(make(), 0)],
        dtypes=ALL,
        method="unsqueeze",
        errors=lambda make: [Raises(IndexError, "[-3, 2]", make(2, 3), 3)],
    ),
    OpRow(
        "Tensor.sum_to_size",
        lambda make: [
            Sample(make(2, 3), 1, 3),
            Sample(make(2, 3), (3,)),
            Sample(make(2, 3), (2, 1)),
            Sample(make(2, 3), 2, 3),
        ],
        dtypes=("float32", "float64", "int64"),
        errors=lambda make: [Raises(RuntimeError, "3", make(2, 3), 4)],
    ),
]
