"""Properties that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.autograd import enable_grad


class lazy_property:
    """A property that is computed when it is first asked for, and kept."""

    def __init__(self, wrapped: Callable) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _OfClass(self.wrapped)
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _OfClass(lazy_property, property):
    """What a class shows of it."""

    def __init__(self, wrapped: Callable) -> None:
        property.__init__(self, wrapped)
