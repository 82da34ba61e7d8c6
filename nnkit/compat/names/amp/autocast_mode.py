"""torch.amp.autocast_mode: see `nnkit.amp.autocast`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def autocast_decorator(autocast_instance: Any, func: Callable) -> Callable:
    """A function that runs within `nnkit.amp.autocast`."""

    @wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorated
