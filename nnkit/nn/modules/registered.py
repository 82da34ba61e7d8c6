"""The short way to what a module registered."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from nnkit.autograd.compiled import bind_entry


class RegisteredInPython:
    """Reads what instances of a class registered under a name.

    The class gets one for each name that was once read: CPython calls `__getattr__` only after a
    look-up has failed with an exception, which takes five times as long as this way.
    """

    __slots__ = ("name", "registry")

    def __init__(self, registry: str, name: str) -> None:
        self.registry = registry
        self.name = name

    def __get__(self, module: Any, owner: type) -> Any:
        try:
            return module.__dict__[self.registry][self.name]
        except (AttributeError, KeyError):  # of the class itself, or of a module without it
            message = f"type object {owner.__name__!r} has no attribute {self.name!r}"
            raise AttributeError(message) from None


Registered = bind_entry(RegisteredInPython)


_in_full: WeakSet[type] = WeakSet()  # the classes from which one with its own look-up derives


def shorten(owner: type, registry: str, name: str) -> None:
    """Give a class the short way to a name, if it has nothing of its own there, and no class that
    derives from it looks names up in its own way."""
    if owner not in _in_full and not any(name in c.__dict__ for c in owner.__mro__):
        setattr(owner, name, Registered(registry, name))


def read_in_full(owner: type) -> None:
    """Take the short ways from a class with its own `__getattr__`, and from those above it."""
    for each in owner.__mro__[:-1]:
        _in_full.add(each)
        for name, value in list(each.__dict__.items()):
            if isinstance(value, Registered):
                delattr(each, name)
