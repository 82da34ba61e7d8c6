"""Calls come later where what they make would be there at the peak of memory."""

from __future__ import annotations

from typing import Any

from nnkit.backend.program.lifetimes import Lifetimes
from nnkit.backend.program.program import Call, Program

LEAST = 1 << 16  # bytes that are worth it
MOST = 64  # calls that are moved


def delay(program: Program) -> Program:
    """The program with pure calls moved behind the peak of memory, where less is there then.

    A gradient of a weight, for instance, waits until the larger ones of activations are gone: what
    it is made of is smaller, or kept anyway.
    """
    if program.bytes_made() < LEAST:
        return program
    for _ in range(MOST):
        lives = program.found(Lifetimes)
        profile = lives.profile()
        if not profile:
            return program
        most = max(profile)
        peak = profile.index(most)
        moved = [_moved(program, place, peak) for place in _movable(program, lives, peak)]
        best = min(moved, key=lambda p: p.found(Lifetimes).peak(), default=program)
        if best.found(Lifetimes).peak() >= most:
            return program
        program = best
    return program


def _movable(program: Program, lives: Lifetimes, peak: int) -> list[int]:
    """The places of calls before the peak whose results are read after it alone."""
    found = []
    for place, call in enumerate(program.calls[:peak]):
        if not isinstance(call, Call) or not call.is_pure or call.shares:
            continue
        roots = {lives.aliases.root(n) for n in call.makes}
        if not call.makes or sum(lives.sizes.get(root, 0) for root in roots) < LEAST:
            continue
        between = program.calls[place + 1 : peak + 1]
        touched = {lives.aliases.root(n) for c in between for n in (*c.reads, *c.makes)}
        if roots.isdisjoint(touched) and lives.are_untouched(call.reads, place + 1, peak + 1):
            found.append(place)
    return found


def _moved(program: Program, place: int, peak: int) -> Program:
    calls: list[Any] = list(program.calls)
    calls.insert(peak, calls.pop(place))
    return program.replaced(calls)
