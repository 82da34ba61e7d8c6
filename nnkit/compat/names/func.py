"""torch.func: `functionalize`, and debugging of transforms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit import Tensor
from nnkit.compat.names._C._functorch import get_unwrapped


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """The function itself: its in-place operations need no replacement here."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): Valid options for inputs are: "
            f"remove='mutations' and remove='mutations_and_views', got remove={remove!r}"
        )

    @functools.wraps(func)
    def functionalized(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functionalized


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor of what happens around the transform that a tensor is of; with ``recurse`` around
    all of them. It is to be looked at, not to be computed with."""
    inner = get_unwrapped(tensor)
    return debug_unwrap(inner) if recurse and inner is not tensor else inner
