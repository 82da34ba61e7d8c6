"""`custom_fwd` and `custom_bwd`: the casting state of functions with derivatives of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nnkit.amp.autocast import autocast
from nnkit.amp.state import get_autocast_dtype, is_autocast_enabled
from nnkit.autograd import Tensor
from nnkit.autograd.arguments.casting import is_eligible
from nnkit.backend.dtype import dtype


def _check(device_type: str) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: {type(device_type).__name__}")


def _cast(value: Any, device_type: str, to: dtype) -> Any:
    """An argument with the tensors of a device in another dtype, in whatever holds them."""
    cast = partial(_cast, device_type=device_type, to=to)
    if isinstance(value, Tensor):
        return value.to(to) if is_eligible(value, device_type) else value
    if isinstance(value, Mapping):
        return {cast(key): cast(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(cast, value))
    return value


def custom_fwd(
    fwd: Callable | None = None, *, device_type: str, cast_inputs: dtype | None = None
) -> Callable:
    """Decorates the ``forward`` of an `autograd.Function`: it notes on ``ctx`` how operations are
    cast, for `custom_bwd`.

    Args:
        fwd: the method; None makes a decorator.
        device_type: "cpu" or "cuda".
        cast_inputs: under `autocast`, what floating tensors of that device, but for float64, are
            cast to; the method itself then runs without casts.

    Raises:
        ValueError: ``device_type`` is no str.

    Example:
        >>> import nnkit
        >>> class Twice(nnkit.autograd.Function):
        ...     @staticmethod
        ...     @nnkit.amp.custom_fwd(device_type="cpu")
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...
        ...     @staticmethod
        ...     @nnkit.amp.custom_bwd(device_type="cpu")
        ...     def backward(ctx, g):
        ...         return 2 * g
        >>> x = nnkit.ones(1, requires_grad=True)
        >>> Twice.apply(x).backward()
        >>> x.grad
        tensor([2.])
    """
    _check(device_type)
    if fwd is None:
        return partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    method = fwd

    @functools.wraps(method)
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        enabled = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = enabled and cast_inputs is None
        if not enabled or cast_inputs is None:
            return method(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            cast = partial(_cast, device_type=device_type, to=cast_inputs)
            return method(ctx, *map(cast, args), **{k: cast(v) for k, v in kwargs.items()})

    return forward


def custom_bwd(bwd: Callable | None = None, *, device_type: str) -> Callable:
    """Decorates the ``backward`` of an `autograd.Function`: its operations are cast as those of
    the ``forward`` under `custom_fwd` were.

    Raises:
        ValueError: ``device_type`` is no str.
    """
    _check(device_type)
    if bwd is None:
        return partial(custom_bwd, device_type=device_type)
    method = bwd

    @functools.wraps(method)
    def backward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, ctx._dtype, ctx._fwd_used_autocast):
            return method(ctx, *args, **kwargs)

    return backward
