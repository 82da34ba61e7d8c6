"""torch._vmap_internals: the older name of `vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit import func as transforms


def _vmap(
    func: Callable, in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False
) -> Callable:
    return transforms.vmap(func, in_dims, out_dims)
