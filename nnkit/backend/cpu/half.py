"""float16 and bfloat16: kernels compute in float32 and round their results once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.dtype import HALF


def widened(kernel: Callable) -> Callable:
    """``kernel``, given float32 copies of half arrays; its results become halves again."""

    @functools.wraps(kernel)
    def call(*arguments: Any) -> Any:
        half = next((a.dtype for a in arguments if getattr(a, "dtype", None) in HALF), None)
        if half is None:
            return kernel(*arguments)
        wide = (a.astype(np.float32) if getattr(a, "dtype", None) == half else a for a in arguments)
        results = kernel(*wide)
        return tuple(r if r is None else r.astype(half) for r in results)

    return call
