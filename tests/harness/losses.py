"""What the rows of the losses share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.harness.row import Fixed, Maker, Raises

F = "nn.functional."
REDUCTIONS = ("mean", "sum", "none")
# A loss of half precision is one number from many: torch rounds on the way, nnkit at the end.
ROUNDED: dict[str, Any] = {
    "tolerance": {"float16": (2**-9, 4e-3), "bfloat16": (2**-6, 4e-2)},
    "reason": "torch rounds each step to half precision, nnkit computes in float32 and rounds once",
}


def fixed(make: Maker, *shape: int, low: float = 0.2, high: float = 1.5) -> Fixed:
    return Fixed(make(*shape, low=low, high=high))


def labels(make: Maker, *shape: int, below: int, ignored: int | None = None) -> np.ndarray:
    """Class labels, the first of which is the ignored one if that is given."""
    index = make.index(*shape, below=below)
    if ignored is not None:
        index.reshape(-1)[0] = ignored
    return index


def wrong_reduction(make: Maker) -> list[Raises]:
    return [Raises(ValueError, "foo", make(2, 3), make(2, 3), reduction="foo")]
