"""torch._VF: functions without the wrappers that `torch.functional` puts around them."""

from __future__ import annotations

from typing import Any

import nnkit


def unique_dim(
    input: nnkit.Tensor, dim: int, sorted: bool = True, return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:  # fmt: skip
    """`unique` along a dimension, which always returns all three results, some maybe empty."""
    values, inverse, counts = nnkit.unique(input, sorted, True, True, dim)
    empty = nnkit.empty(0, dtype=nnkit.int64)
    return values, inverse if return_inverse else empty, counts if return_counts else empty


def __getattr__(name: str) -> Any:
    return getattr(nnkit, name)
