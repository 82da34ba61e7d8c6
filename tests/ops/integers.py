"""Rows of the ops on whole numbers."""

from __future__ import annotations

from tests.harness.elementwise import binary, two
from tests.harness.row import INTS, Raises

ROWS = [
    binary(
        name,
        samples=two,
        dtypes=INTS,
        differentiable=False,
        specials=(-6, -1, 0, 1, 4, 6, 9),
        errors=lambda make: [
            Raises(NotImplementedError, "float32", make(2, dtype="float32"), make(2)),
            Raises(TypeError, "other", make(2), 2),
        ],
    )
    for name in ("gcd", "lcm")
]
