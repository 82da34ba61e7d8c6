"""Calls of Python in each replay of a program, which does not look into them.

Methods that change numbers on the host (rates, counts, scales), and these numbers themselves where
arrays are computed with them: a program must not keep either.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from typing import Any

RECORDERS: dict[int, Any] = {}  # who records, by thread
COMPILERS: dict[str, Callable] = {}  # for those below what compiles; it enters itself


def is_recorded() -> bool:
    """Whether somebody writes down what this thread calls."""
    recorder = RECORDERS.get(get_ident())
    return recorder is not None and recorder.is_listening


def break_off(reason: str) -> None:
    """Say that what this thread records cannot be replayed."""
    if RECORDERS and is_recorded():
        RECORDERS[get_ident()].recording.break_off(reason)


def call_recorded(function: Callable, arguments: tuple, options: dict) -> Any:
    """Call a function of which whoever records this thread writes down this one call."""
    return RECORDERS[get_ident()].call_outside(function, arguments, options)


def outside(method: Callable) -> Callable:
    """Decorate a method that replays call as it is."""

    @functools.wraps(method)
    def called(*arguments: Any, **options: Any) -> Any:
        if RECORDERS and is_recorded():
            return call_recorded(method, arguments, options)
        return method(*arguments, **options)

    return called


class LiveNumber(float):
    """A number in a recording that stands for one that each replay reads.

    It reaches the door as it is, or is an ordinary number for whoever computes with it.
    """

    number: int  # of the buffer that holds it in each replay


def live(read: Callable[..., tuple], *arguments: Any) -> tuple:
    """The numbers that a function gives, for primitives: each replay calls it again."""
    if RECORDERS and is_recorded():
        return RECORDERS[get_ident()].read_outside(read, arguments)
    return read(*arguments)


def beforehand(make: Callable[..., Any], *arguments: Any) -> Any:
    """The Tensor that a function makes once, for something that keeps it: replays find it there."""
    if RECORDERS and is_recorded():
        return RECORDERS[get_ident()].make_beforehand(make, arguments)
    return make(*arguments)
