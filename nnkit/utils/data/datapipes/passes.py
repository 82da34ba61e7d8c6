"""Passes over a data pipe, of which one is valid at a time."""

from __future__ import annotations

import enum
import functools
import inspect
import reprlib
from collections.abc import Callable, Iterator
from typing import Any

_RAISED_IN = "Raised in the data pipe "
_SHORT = reprlib.Repr()  # a source may be a list of millions
_SHORT.maxother = 80


class _SnapshotState(enum.Enum):
    """Whether a pipe is new, has been brought to a place in its stream, or is being read."""

    NotStarted = 0
    Restored = 1
    Iterating = 2


def one_pass_at_a_time(begin: Callable[[Any], Any]) -> Callable[[Any], Iterator[Any]]:
    """An ``__iter__`` whose iterators end the validity of those before them.

    A generator begins with its first sample, any other iterator when it is made.
    """
    lazy = inspect.isgeneratorfunction(begin)

    @functools.wraps(begin)
    def __iter__(pipe: Any) -> Iterator[Any]:
        restored, pipe._fast_forward_iterator = pipe._fast_forward_iterator, None
        if restored is not None:
            pipe._snapshot_state = _SnapshotState.Iterating
            return restored
        samples = begin(pipe)  # before `reset`, as in torch
        return Pass(pipe, samples, None if lazy else pipe._begin_pass())

    return __iter__


def counted(following: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The ``__next__`` of a pipe that is its own iterator."""

    @functools.wraps(following)
    def __next__(pipe: Any) -> Any:
        sample = following(pipe)
        pipe._number_of_samples_yielded += 1
        return sample

    return __next__


class Pass:
    """An iterator over a data pipe; ``number`` is None until it begins."""

    def __init__(self, pipe: Any, samples: Any, number: int | None) -> None:
        self._pipe = pipe
        self._samples = samples
        self._number = number

    def __iter__(self) -> Pass:
        return self

    def __next__(self) -> Any:
        pipe = self._pipe
        if self._number is None:
            self._number = pipe._begin_pass()
        elif not pipe._is_valid(self._number):
            raise RuntimeError(
                "This iterator has been invalidated: a later one reads the data pipe "
                f"{described(pipe)}, which has one at a time; `fork` gives it several readers"
            )
        try:
            sample = next(self._samples)
        except StopIteration:
            raise
        except Exception as error:
            note(error, pipe)
            raise
        if self._samples is not pipe:
            pipe._number_of_samples_yielded += 1
        return sample

    def __getattr__(self, name: str) -> Any:
        if name == "_samples":  # of an object that is being copied
            raise AttributeError(name)
        return getattr(self._samples, name)


def note(error: Exception, pipe: Any) -> None:
    """Add to an error in which pipe it was raised, unless one further up has done so."""
    noted = any(line.startswith(_RAISED_IN) for line in getattr(error, "__notes__", ()))
    add_note = getattr(error, "add_note", None)  # which Python 3.10 lacks
    if add_note is not None and not noted:
        add_note(_RAISED_IN + described(pipe))


def described(pipe: Any) -> str:
    """A pipe with the arguments that it was made with, in short, and functions by their names."""
    parameters = inspect.signature(type(pipe)).parameters
    values = {name: vars(pipe)[name] for name in parameters if name in vars(pipe)}
    shown = (
        f"{name}={getattr(value, '__name__', None) or _SHORT.repr(value)}"
        for name, value in values.items()
    )
    return f"{pipe}({', '.join(shown)})"
