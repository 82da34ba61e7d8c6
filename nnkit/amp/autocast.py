"""`autocast`: the context in which operations choose their precision."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from nnkit.amp import state
from nnkit.backend.device import device
from nnkit.backend.dtype import bfloat16, float16
from nnkit.backend.warning import warn
from nnkit.cuda import is_available


class autocast:
    """A block, or a decorated function, in which operations choose their precision: products,
    convolutions and attention compute in half precision, what would lose by it, such as losses and
    decompositions, in float32, and all else in the dtype of its operands.

    Weights stay in float32, and so do their gradients. Backward belongs outside of the block.

    Args:
        device_type: "cpu" or "cuda"; without a GPU, "cuda" warns and switches itself off.
        dtype: bfloat16 or float16, by default that of `nnkit.get_autocast_dtype`; for another one
            it warns and switches itself off.
        enabled: false makes a block in which nothing is cast.
        cache_enabled: whether a weight is cast once for all its uses in the outermost block.

    Raises:
        ValueError: ``device_type`` is no str.
        RuntimeError: there is no such device, or nothing can be cast on it.

    Source: Micikevicius et al. 2017, "Mixed precision training"; ``torch.amp.autocast``.

    Example:
        >>> import nnkit
        >>> x = nnkit.ones(2, 2)
        >>> with nnkit.autocast("cpu"):
        ...     y = x @ x
        ...     loss = nnkit.nn.functional.mse_loss(y, x)
        >>> y.dtype, loss.dtype
        (nnkit.bfloat16, nnkit.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device(state.checked(device_type)).type
        self.fast_dtype = state.get_autocast_dtype(self.device) if dtype is None else dtype
        if enabled and self.device == "cuda" and not is_available():
            warn("autocast: there is no GPU, so it is switched off")
            enabled = False
        if enabled and self.fast_dtype not in (bfloat16, float16):
            warn(
                f"autocast: casts to bfloat16 or float16, not to {self.fast_dtype}, so it is "
                "switched off"
            )
            enabled = False
        kept = state.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled, self._cache_enabled = enabled, kept

    def __enter__(self) -> autocast:
        self.prev = state.is_autocast_enabled(self.device)
        self.prev_fastdtype = state.get_autocast_dtype(self.device)
        self.prev_cache_enabled = state.is_autocast_cache_enabled()
        state.set_autocast_enabled(self.device, self._enabled)
        state.set_autocast_dtype(self.device, self.fast_dtype)
        state.set_autocast_cache_enabled(self._cache_enabled)
        state.autocast_increment_nesting()
        return self

    def __exit__(self, *exception: Any) -> None:
        if not state.autocast_decrement_nesting():
            state.clear_autocast_cache()
        state.set_autocast_enabled(self.device, self.prev)
        state.set_autocast_dtype(self.device, self.prev_fastdtype)
        state.set_autocast_cache_enabled(self.prev_cache_enabled)

    def __call__(self, function: Callable) -> Callable:
        if not callable(function):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(function).__name__}"
            )

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapped


def casts_of_now() -> Callable[[], AbstractContextManager]:
    """A maker of blocks in which operations are cast as they are at this moment."""
    keeps = state.is_autocast_cache_enabled()
    blocks = [
        autocast(kind, state.get_autocast_dtype(kind), state.is_autocast_enabled(kind), keeps)
        for kind in ("cpu", "cuda")
    ]

    @contextmanager
    def again() -> Iterator[None]:
        with blocks[0], blocks[1]:
            yield

    return again
