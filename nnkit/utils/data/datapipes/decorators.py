"""Decorators of data pipes: their names as methods, determinism, and checks of arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, get_origin, get_type_hints

from nnkit.utils.data.datapipes.datapipe import DataPipe, IterDataPipe, MapDataPipe

__all__ = [
    "argument_validation",
    "functional_datapipe",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "runtime_validation",
    "runtime_validation_disabled",
]


class functional_datapipe:
    """A decorator that makes a class of data pipes a method of all others of its kind.

    Args:
        name: of the method.
        enable_df_api_tracing: accepted; there are no data frames.

    Raises:
        Exception: the name is taken.

    Example:
        >>> from nnkit.utils.data import IterDataPipe, functional_datapipe
        >>> from nnkit.utils.data.datapipes.iter import IterableWrapper
        >>> @functional_datapipe("doubled")
        ... class Doubler(IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         for sample in self.source:
        ...             yield 2 * sample
        >>> list(IterableWrapper([1, 2]).doubled())
        [2, 4]
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        kind = cls.cls if isinstance(cls, non_deterministic) else cls
        for base in (IterDataPipe, MapDataPipe):
            if isinstance(kind, type) and issubclass(kind, base):
                base.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)
        return cls


class guaranteed_datapipes_determinism:
    """A context in which pipes that are marked `non_deterministic` cannot be made."""

    on = False

    def __enter__(self) -> None:
        self._before = self.on
        guaranteed_datapipes_determinism.on = True

    def __exit__(self, *exception: Any) -> None:
        guaranteed_datapipes_determinism.on = self._before


class runtime_validation_disabled(nullcontext[None]):
    """A context in which samples are not held against the types of their pipes, as nowhere."""


class non_deterministic:
    """A decorator of a stream whose samples, or their order, depend on chance.

    Args:
        arg: the class; or a function that tells so from the arguments of the class that is
            decorated next.

    Raises:
        TypeError: what is decorated is no IterDataPipe; or such a pipe is made within
            `guaranteed_datapipes_determinism`.
    """

    cls: Any = None

    def __init__(self, arg: type[IterDataPipe[Any]] | Callable[..., bool]) -> None:
        if isinstance(arg, type):
            self.cls, self.is_random = _checked(arg), lambda *args, **kwargs: True
        elif callable(arg):
            self.is_random = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is None:
            self.cls = _checked(args[0])
            return self
        if guaranteed_datapipes_determinism.on and self.is_random(*args, **kwargs):
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic with these arguments, which "
                "'guaranteed_datapipes_determinism' does not allow"
            )
        return self.cls(*args, **kwargs)


def _checked(cls: Any) -> Any:
    if not (isinstance(cls, type) and issubclass(cls, IterDataPipe)):
        raise TypeError(
            "Only `IterDataPipe` can be decorated with `non_deterministic`, but "
            f"{getattr(cls, '__name__', cls)} is found"
        )
    return cls


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that raises TypeError where an argument is not the data pipe of its annotation.

    The types of the samples are not compared.
    """
    signature = inspect.signature(f)
    hints = {name: get_origin(hint) or hint for name, hint in get_type_hints(f).items()}
    pipes = {n: h for n, h in hints.items() if isinstance(h, type) and issubclass(h, DataPipe)}

    @functools.wraps(f)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name in pipes and not isinstance(value, pipes[name]):
                raise TypeError(
                    f"Expected argument {name!r} as a {pipes[name].__name__}, but found "
                    f"{type(value)}"
                )
        return f(*args, **kwargs)

    return checked


def runtime_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """The ``__iter__`` of a pipe itself: the types of samples are not checked.

    Raises:
        TypeError: it is another method.
    """
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")
    return f
