"""The registry of public functions: one definition gives ``nnkit.f``, ``Tensor.f``, ``f_`` and
the ``out=`` form."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views import check_cast, inplace, wrote
from nnkit.backend.dtype import OF_ARRAY

PUBLIC: dict[str, Callable] = {}  # what `nnkit` offers under these names
METHODS: dict[str, Callable] = {}  # what Tensor offers


def public(
    function: Callable | None = None,
    *,
    name: str | None = None,
    method: bool | str = True,
    namespace: bool = True,
    in_place: bool | Callable = False,
    out: bool = False,
    aliases: tuple[str, ...] = (),
) -> Any:
    """Register a function whose first parameter is called ``input`` (or a creation function).

    Args:
        name: the public name, by default the function's own.
        method: attach it to Tensor too (a string gives another name there).
        namespace: offer it as ``nnkit.<name>``.
        in_place: attach ``<name>_`` to Tensor (and offer it as ``nnkit.<name>_``); a function of
            its own does it, otherwise the result is computed and copied.
        out: accept ``out=`` in the function form: the result is written into that tensor.
        aliases: further names for all of the same.
    """
    if function is None:
        return functools.partial(
            public, name=name, method=method, namespace=namespace, in_place=in_place, out=out,
            aliases=aliases,
        )  # fmt: skip
    own = name or function.__name__
    offered = with_out(function, own) if out else function
    for each in (own, *aliases):
        if namespace:
            PUBLIC[each] = offered
        if method:
            attach(method if isinstance(method, str) else each, function)
        if in_place:
            writer = inplace(function, each + "_", in_place if callable(in_place) else None)
            attach(each + "_", writer)
            if namespace:
                PUBLIC[each + "_"] = writer
    return offered


def attach(name: str, function: Callable) -> None:
    """Make ``function`` the Tensor method ``name``."""
    METHODS[name] = function
    setattr(Tensor, name, function)


def with_out(function: Callable, name: str) -> Callable:
    """``function`` with a keyword ``out=`` (one tensor, or a tuple for several results)."""

    @functools.wraps(function)
    def call(*arguments: Any, out: Any = None, **options: Any) -> Any:
        result = function(*arguments, **options)
        if out is None:
            return result
        if isinstance(result, tuple):
            if not isinstance(out, (tuple, list)) or len(out) != len(result):
                raise TypeError(
                    f"{name}(): argument 'out' must be a tuple of {len(result)} Tensors"
                )
            written = [write_out(o, r, name) for o, r in zip(out, result, strict=True)]
            return type(result)(written) if type(result) is tuple else type(result)(*written)
        return write_out(out, result, name)

    return call


def write_out(out: Any, result: Tensor, name: str) -> Tensor:
    """Write ``result`` into ``out``, resizing it where its shape differs, as torch does."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if MODE.enabled and (result._requires_grad or out._requires_grad):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    if out._device is not result._device:
        raise RuntimeError(
            f"{name}(): expected argument 'out' on {result._device}, got {out._device}"
        )
    B = out._device.backend
    check_cast(OF_ARRAY[result._data.dtype], OF_ARRAY[out._data.dtype])
    if out._data.shape == result._data.shape:
        B.copy_(out._data, result._data)
    else:
        out._data = B.copy(B.cast(result._data, out._data.dtype))
    wrote(out, name)
    return out
