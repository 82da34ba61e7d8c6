"""What the rows of the losses share."""

from __future__ import annotations

from typing import Any

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


def wrong_reduction(make: Maker) -> list[Raises]:
    return [Raises(ValueError, "foo", make(2, 3), make(2, 3), reduction="foo")]
