"""The registry of public functions: one definition gives ``nnkit.f``, ``Tensor.f``, ``Tensor.f_``
and the ``out=`` form."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.annotations import held
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.history import inplace

PUBLIC: dict[str, Callable] = {}  # the functions of the module `nnkit`, by name
# For sparse tensors, the compositions of other functions that replace a public function.
COMPOSED: dict[str, Callable] = {}
METHODS: dict[str, Callable] = {}  # the methods of Tensor, by name


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
    """Decorate a public function: register it, and check the arguments of its calls.

    The first parameter must be called ``input``, except in functions that create tensors.

    Args:
        name: the public name, by default the function's own.
        method: make it a method of Tensor, too (a string gives the method another name).
        namespace: offer it as ``nnkit.<name>``.
        in_place: also make ``<name>_`` a method of Tensor and a function of `nnkit`. If this is a
            function, it does the write; otherwise the result is computed and copied.
        out: accept ``out=`` in the function form: the result is written into that tensor.
        lax: do not check the types of bool and str arguments, as torch does not for functions that
            it defines in Python.
        aliases: further public names.
    """
    if function is None:
        return functools.partial(
            public, name=name, method=method, namespace=namespace, in_place=in_place, out=out,
            lax=lax, aliases=aliases,
        )  # fmt: skip
    own = name or function.__name__
    if function.__doc__ is None:  # the method of a public function that takes arguments otherwise
        function.__doc__ = PUBLIC[own].__doc__
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
    """Set the name under which pickle finds a function in `nnkit`, not in its own module."""
    function.__module__, function.__qualname__ = "nnkit", name


def attach(name: str, function: Callable) -> None:
    """Make ``function`` the Tensor method ``name``."""
    if function.__name__.startswith("_"):
        function.__name__ = name
    METHODS[name] = function
    setattr(Tensor, name, function)
