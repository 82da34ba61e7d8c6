"""torch.testing._comparison: see `nnkit.testing`."""

from __future__ import annotations

from typing import Any

import nnkit
from nnkit.testing.comparison import TOLERANCES


def default_tolerances(
    *inputs: Any, dtype_precisions: dict[Any, tuple[float, float]] | None = None
) -> tuple[float, float]:
    """The largest ``(rtol, atol)`` for the dtypes of tensors, or for dtypes."""
    dtypes = [each if isinstance(each, nnkit.dtype) else each.dtype for each in inputs]
    known = dtype_precisions or {d: TOLERANCES.get(d.name, (0.0, 0.0)) for d in dtypes}
    rtol, atol = zip(*(known.get(d, (0.0, 0.0)) for d in dtypes))
    return max(rtol), max(atol)
