"""Rows of hashes."""

from __future__ import annotations

import numpy as np

from tests.harness.row import ALL, COMPLEX, Maker, OpRow, Raises, Sample


def along(make: Maker) -> list[Sample]:
    return [
        Sample(make(3, 4)),
        Sample(make(2, 3, 5), 1),
        Sample(make(2, 3, 4), (0, -1), keepdim=True),
        Sample(make(7), (), keepdim=True),
        Sample(make()),
        Sample(make(), 0),
        Sample(make(), -1, keepdim=True),
        Sample(make(0, 3), 1),
    ]


ROWS = [
    OpRow(
        "hash_tensor",
        along,
        dtypes=tuple(dtype for dtype in ALL if dtype not in COMPLEX),
        differentiable=False,
        method="hash_tensor",
        errors=lambda make: [
            Raises(RuntimeError, "mode", make(2), mode=1),
            Raises(RuntimeError, "dim", make(0)),
            Raises(IndexError, "dimension 1", make(2, 0), 1),
            Raises(NotImplementedError, "complex64", make(2, dtype="complex64")),
            Raises(NotImplementedError, "uint64", np.ones(2, np.uint64)),
        ],
    ),
]
