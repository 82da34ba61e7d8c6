"""torch.func: what changes nothing here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """The function itself: what it writes in place are the same numbers without."""
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): Valid options for inputs are: "
            f"remove='mutations' and remove='mutations_and_views', got remove={remove!r}"
        )

    @functools.wraps(func)
    def functionalized(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functionalized
