"""Rows of factors of symmetric matrices that need not be definite."""

from __future__ import annotations

import numpy as np

from tests.harness.row import Fixed, Maker, OpRow, Raises, Sample
from tests.ops.decomposition.factorization import WIDE, exchanged

# Of this matrix the second and third row make a block of two.
FACTORS = [[2.0, 0.0, 0.0], [0.5, 0.25, 0.0], [-1.0, 3.0, -0.5]]


def symmetric(make: Maker, *shape: int) -> np.ndarray:
    """Matrices with small elements on the diagonal: some have blocks of two."""
    x = make(*shape)
    return x + x.swapaxes(-1, -2) - 1.5 * np.eye(shape[-1], dtype=x.dtype) * x


def factored(make: Maker, *batch: int) -> tuple[Fixed, np.ndarray]:
    """Factors, and their pivots."""
    kind = make(1).dtype
    LD = np.broadcast_to(np.asarray(FACTORS, kind), (*batch, 3, 3)).copy()
    return Fixed(LD), np.broadcast_to(exchanged(1, -3, -3), (*batch, 3)).copy()


def factor_row(name: str) -> OpRow:
    return OpRow(
        name,
        lambda make: [
            Sample(symmetric(make, 4, 4)),
            Sample(symmetric(make, 2, 5, 5)),
            Sample(symmetric(make, 3, 3), hermitian=True),
            Sample(make(1, 1)),
        ],
        dtypes=WIDE,
        differentiable=False,
        out=True,
        edges=lambda make: [Sample(make(0, 0)), Sample(make(2, 0, 0))],
        errors=lambda make: [
            Raises(RuntimeError, "3 by 2", make(3, 2)),
            Raises(RuntimeError, "2 dimensions", make(3)),
            Raises(RuntimeError, "Long", make(2, 2, dtype="int64")),
            Raises(NotImplementedError, "float16", make(2, 2, dtype="float16")),
            *([Raises(RuntimeError, "zero", 0 * make(2, 2), check_errors=True)] * ("_ex" in name)),
        ],
    )


ROWS = [
    factor_row("linalg.ldl_factor"),
    factor_row("linalg.ldl_factor_ex"),
    OpRow(
        "linalg.ldl_solve",
        lambda make: [
            Sample(*factored(make), make(3, 2)),
            Sample(*factored(make), make(2, 3, 1)),
            Sample(*factored(make, 2), make(3, 1), hermitian=True),
        ],
        dtypes=WIDE,
        differentiable=False,
        out=True,
        errors=lambda make: [
            Raises(IndexError, "matrix B", *factored(make), make(3)),
            Raises(RuntimeError, "incompatible", *factored(make), make(2, 1)),
            Raises(RuntimeError, "pivots of shape", factored(make)[0], exchanged(1), make(3, 1)),
            Raises(RuntimeError, "in size", factored(make)[0], exchanged(0, 1, 9), make(3, 1)),
            Raises(RuntimeError, "of integers", factored(make)[0], make(3), make(3, 1)),
        ],
    ),
]
