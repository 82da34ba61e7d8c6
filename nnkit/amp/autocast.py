"""`autocast`: the context of mixed precision, for programs that can switch it off."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from nnkit.backend.device import device
from nnkit.cuda import is_available


class autocast:
    """Mixed precision switched off: inside, everything is computed in its own dtype.

    Args:
        device_type: "cpu" or "cuda"; without a GPU, "cuda" warns and switches itself off.
        dtype: what operations would be cast to.
        enabled: must be false where ``device_type`` is there.
        cache_enabled: without effect.

    Raises:
        ValueError: ``device_type`` is no str.
        NotImplementedError: it is enabled and would have to cast.

    Example:
        >>> import nnkit
        >>> with nnkit.autocast("cpu", enabled=False):
        ...     (nnkit.ones(1, 1) @ nnkit.ones(1, 1)).dtype
        nnkit.float32
    """

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"autocast: device_type must be str, got {type(device_type).__name__}")
        self.device = device(device_type).type
        if enabled and self.device == "cuda" and not is_available():
            warnings.warn("autocast: there is no GPU, so it is switched off", stacklevel=2)
            enabled = False
        if enabled:
            raise NotImplementedError(
                "autocast: casting operations by themselves is not available: cast the model, as "
                "in model.bfloat16(), or pass enabled=False"
            )

    def __enter__(self) -> autocast:
        return self

    def __exit__(self, *exception: Any) -> None:
        pass

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapped
