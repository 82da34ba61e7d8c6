"""Replacements for decorators and switches of torch that change nothing here."""

from __future__ import annotations

import contextlib
import functools
import logging
from typing import Any

LOG = logging.getLogger("nnkit.compat")


@functools.cache
def say(name: str, instead: str) -> None:
    """Log once that ``name`` does nothing."""
    LOG.warning("%s does nothing in nnkit: %s", name, instead)


def unchanged(function: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return what is decorated: for decorators used with arguments and without.

    Example:
        >>> @unchanged
        ... def f(): ...
        >>> @unchanged(fullgraph=True)
        ... def g(): ...
        >>> f.__name__, g.__name__
        ('f', 'g')
    """
    return function if callable(function) else unchanged


def nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing."""


def false(*args: Any, **kwargs: Any) -> bool:
    return False


class Inert(contextlib.ContextDecorator):
    """A class without effect, for objects of torch that programs create but get no results from."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> Inert:
        return self

    def __exit__(self, *exception: Any) -> None:
        pass
