"""The memory of a program: what its runs make and free lies in one arena."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.backend.program.lifetimes import Lifetimes
from nnkit.backend.program.loop import loop_of
from nnkit.backend.program.program import Program

LEAST = 1 << 16  # bytes at the peak that are worth it


def runnable(program: Program, backend: Any) -> Callable[..., tuple]:
    """The program as a function, with its memory planned where it needs much of it.

    Its first run writes down which blocks are taken and given back, those that kernels need for
    themselves among them. From then on each of them has its place, which others have had before.
    """
    run = loop_of(program, backend)
    if backend.plan is None or program.bytes_made() < LEAST:
        return run
    return run if program.found(Lifetimes).peak() < LEAST else backend.plan(run)
