"""The registry of public functions: one definition gives ``nnkit.f``, ``Tensor.f``, ``f_`` and
the ``out=`` form."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.annotations import held
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.history import inplace

PUBLIC: dict[str, Callable] = {}  # what `nnkit` offers under these names
# What serves for sparse tensors in the place of a public function: compositions of others.
COMPOSED: dict[str, Callable] = {}
METHODS: dict[str, Callable] = {}  # what Tensor offers


def public(
    function: Callable | None = None,
    *,
    name: str | None = None,
    method: bool | str = True,
    namespace: bool = True,
    in_place: bool | Callable = False,
    out: bool = False,
    lax: bool = False,
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
        lax: flags and words are left to the function, which in torch is written in Python.
        aliases: further names for all of the same.
    """
    if function is None:
        return functools.partial(
            public, name=name, method=method, namespace=namespace, in_place=in_place, out=out,
            lax=lax, aliases=aliases,
        )  # fmt: skip
    own = name or function.__name__
    offered = held(function, own, out=out, lax=lax)
    for each in (own, *aliases):
        if namespace:
            PUBLIC[each] = offered
        if method:
            bound = method if isinstance(method, str) else each
            taken = held(function, each, True, lax=lax)
            known_as(taken, f"Tensor.{bound}")
            attach(bound, taken)
        if in_place:
            write = inplace(function, each + "_", in_place if callable(in_place) else None)
            writer = held(write, each + "_", True)
            known_as(writer, f"Tensor.{each}_")
            attach(each + "_", writer)
            if namespace:
                PUBLIC[each + "_"] = writer
    return offered


def known_as(function: Callable, name: str) -> None:
    """Tell pickle under which name `nnkit` has a function that its own module does not offer."""
    function.__module__, function.__qualname__ = "nnkit", name


def attach(name: str, function: Callable) -> None:
    """Make ``function`` the Tensor method ``name``."""
    if function.__name__.startswith("_"):
        function.__name__ = name
    METHODS[name] = function
    setattr(Tensor, name, function)
