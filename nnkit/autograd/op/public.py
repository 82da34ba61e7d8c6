"""The registry of public functions: one definition gives ``nnkit.f``, ``Tensor.f``, ``Tensor.f_``
and the ``out=`` form."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from nnkit.autograd.arguments.annotations import held
from nnkit.autograd.op.out import Out
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.writes import write

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
    prepare: Callable | None = None,
    out: bool | Out = False,
    in_python: bool = False,
    strict: bool = False,
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
        prepare: checks the arguments of ``<name>_`` and makes those of the primitive of that name,
            which then writes in place where nothing is recorded; see `views.writes.write`.
        out: accept ``out=`` in the function form: the result is written into that tensor. An `Out`
            says what is asked of it, where that is not what most functions ask.
        in_python, strict: whether torch defines it in Python, and checks bools all the same; see
            `held`.
        aliases: further public names.
    """
    if function is None:
        return functools.partial(
            public, name=name, method=method, namespace=namespace, in_place=in_place,
            prepare=prepare, out=out, in_python=in_python, strict=strict, aliases=aliases,
        )  # fmt: skip
    own = name or function.__name__
    if function.__doc__ is None:  # the method of a public function that takes arguments otherwise
        function.__doc__ = PUBLIC[own].__doc__
    for part, called in ((function, own), (in_place, f"{own}_"), (prepare, f"{own}_")):
        if callable(part):  # what Python tells of a wrong call begins with this name
            part.__qualname__ = called
    function.__name__ = own
    offered = held(function, own, out=out, in_python=in_python, strict=strict)
    for each in (own, *aliases):
        if namespace:
            PUBLIC[each] = offered
        if method:
            bound = method if isinstance(method, str) else each
            taken = held(function, each, True, in_python=in_python, strict=strict)
            known_as(taken, f"Tensor.{bound}")
            attach(bound, taken)
        if in_place:
            by = in_place if callable(in_place) else None
            writer = held(inplace(function, each + "_", by, prepare), each + "_", True)
            known_as(writer, f"Tensor.{each}_")
            attach(each + "_", writer)
            if namespace:
                PUBLIC[each + "_"] = writer
    return offered


def inplace(
    function: Callable, name: str, writer: Callable | None = None, prepare: Callable | None = None
) -> Callable:
    """The in-place form of an out-of-place method; ``writer`` does the write if given, else the
    primitive ``name`` with the arguments that ``prepare`` makes."""

    # Do not copy the function's attributes, which concern the check of its arguments.
    @functools.wraps(function, updated=())
    def write_in_place(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
        if writer is not None:
            return writer(self, *arguments, **options)
        if prepare is None:
            return write(self, name, function, *arguments, **options)
        kernel = getattr(self._device.backend, name)
        return write(self, name, function, *arguments, kernel=kernel, prepare=prepare, **options)

    write_in_place.__name__ = write_in_place.__qualname__ = name
    write_in_place.__doc__ = f"In-place version of `{function.__name__}`; returns the tensor."
    return write_in_place


def known_as(function: Callable, name: str) -> None:
    """Set the name under which pickle finds a function in `nnkit`, not in its own module."""
    function.__module__, function.__qualname__ = "nnkit", name


def attach(name: str, function: Callable) -> None:
    """Make ``function`` the Tensor method ``name``."""
    if function.__name__.startswith("_"):
        function.__name__ = name
    METHODS[name] = function
    setattr(Tensor, name, function)
