"""Rows of the views that only strides can describe."""

from __future__ import annotations

from tests.harness.row import ALL, COMPLEX, FLOATS, Fixed, OpRow, Raises, Sample

ROWS = [
    OpRow(
        "diagonal",
        lambda make: [
            Sample(make(3, 4)),
            Sample(make(3, 4), 1),
            Sample(make(3, 4), -2),
            Sample(make(2, 3, 3), 0, 1, 2),
            Sample(make(2, 3, 4), offset=1, dim1=-1, dim2=0),
            Sample(make(2, 2), 5),
        ],
        dtypes=ALL,
        method="diagonal",
        errors=lambda make: [
            Raises(RuntimeError, "0", make(2, 2), 0, 0, 0),
            Raises(IndexError, "got 2", make(2, 2), 0, 0, 2),
        ],
    ),
    OpRow(
        # The result depends on the memory of the input, so only what any layout agrees on is
        # here; tests/autograd/test_views.py has the rest.
        "as_strided",
        lambda make: [Sample(make(1), (1,), (1,)), Sample(make(1), (3, 2), (0, 0))],
        method="as_strided",
        errors=lambda make: [
            Raises(RuntimeError, "storage", make(2, 3), (5, 5), (3, 1)),
            Raises(RuntimeError, "Negative", make(2, 3), (2, 2), (-1, 1)),
            Raises(RuntimeError, "strides", make(2, 3), (2, 2), (1,)),
        ],
    ),
    OpRow(
        # Fixed: the gradient of the input is torch's, which is not that of finite differences.
        "as_strided_scatter",
        lambda make: [Sample(Fixed(make(1)), make(1), (1,), (1,))],
        method="as_strided_scatter",
        errors=lambda make: [Raises(RuntimeError, "[2]", make(3), make(2), (3,), (1,))],
    ),
    OpRow(
        "Tensor.unfold",
        lambda make: [
            Sample(make(7), 0, 3, 2),
            Sample(make(2, 5), 1, 2, 1),
            Sample(make(5, 2), -2, 2, 3),
            Sample(make(), 0, 1, 1),
        ],
        errors=lambda make: [
            Raises(RuntimeError, "5", make(3), 0, 5, 1),
            Raises(RuntimeError, "step", make(3), 0, 2, 0),
            Raises(IndexError, "got 1", make(3), 1, 2, 1),
        ],
    ),
    OpRow("real", lambda make: [Sample(make(2, 3))], dtypes=COMPLEX + FLOATS),
    OpRow(
        "imag",
        lambda make: [Sample(make(2, 3))],
        dtypes=COMPLEX,
        errors=lambda make: [Raises(RuntimeError, "complex", make(2, dtype="float32"))],
    ),
    OpRow(
        "view_as_real",
        lambda make: [Sample(make(2, 3)), Sample(make())],
        dtypes=COMPLEX,
        errors=lambda make: [Raises(RuntimeError, "complex", make(2, dtype="float32"))],
    ),
    OpRow(
        "view_as_complex",
        lambda make: [Sample(make(3, 2)), Sample(make(2))],
        dtypes=("float32", "float64"),
        any_layout=False,
        errors=lambda make: [
            Raises(RuntimeError, "[2, 3]", make(2, 3)),
            Raises(RuntimeError, "int64", make(2, dtype="int64")),
        ],
    ),
]
