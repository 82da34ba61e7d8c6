"""Formulas are computed again where keeping their results would need the most memory."""

from __future__ import annotations

from typing import Any

from nnkit.backend.door import Slot
from nnkit.backend.program.lifetimes import Lifetimes
from nnkit.backend.program.passes.common import renamed
from nnkit.backend.program.program import Call, Program

LEAST = 1 << 16  # bytes that are worth it
SHARE = 8  # of the bytes that a program makes, those made again are at most one in so many


def recompute(program: Program) -> Program:
    """The program that makes some results of formulas twice, so that they need not be kept.

    It is done for what is there at the peak of memory though nothing reads it around it, if all
    that it is made of is kept anyway: of a forward, for its backward.
    """
    if program.bytes_made() < LEAST:
        return program
    left = sum(program.found(Lifetimes).sizes.values()) // SHARE
    while True:
        lives = program.found(Lifetimes)
        profile = lives.profile()
        if not profile:
            return program
        peak = profile.index(max(profile))
        found = [c for c in _candidates(program, lives, peak) if c[0] <= left]
        if not found:
            return program
        size, place, later = max(found)
        left -= size
        program = _twice(program, place, later)


def _candidates(program: Program, lives: Lifetimes, peak: int) -> list[tuple[int, int, int]]:
    """Of each formula that may be computed again after the peak: the bytes, its place, and that of
    the first call which reads the new result."""
    found = []
    for place, call in enumerate(program.calls[:peak]):
        if not isinstance(call, Call) or not _is_repeatable(call, lives):
            continue
        (number,) = call.makes
        size = lives.sizes.get(number, 0)
        uses = [i for i, c in enumerate(program.calls) if number in c.reads]
        later = next((i for i in uses if i > peak), None)
        if size < LEAST or later is None or number in program.outputs or peak in uses:
            continue
        roots = {lives.aliases.root(n) for n in call.reads}
        kept = all(lives.last.get(root, later) >= later for root in roots)
        if kept and lives.are_untouched(call.reads, place + 1, later):
            found.append((size, place, later))
    return found


def _is_repeatable(call: Call, lives: Lifetimes) -> bool:
    return (
        call.primitive.subject == "formula"
        and call.is_pure
        and not call.shares
        and call.result.__class__ is Slot
        and len(call.makes) == 1
        and lives.aliases.is_private(call)
        and lives.aliases.root(call.makes[0]) == call.makes[0]
        and call.makes[0] in lives.sizes
        and not _others(call, lives)
    )


def _others(call: Call, lives: Lifetimes) -> list[int]:
    """The buffers that may lie in what a call makes."""
    own = call.makes[0]
    return [n for n in lives.aliases.roots if n != own and lives.aliases.root(n) == own]


def _twice(program: Program, place: int, later: int) -> Program:
    call: Any = program.calls[place]
    number = call.makes[0]
    other = max(program.shapes) + 1
    names = {number: other}
    shapes = {**program.shapes, other: program.shapes[number]}
    calls: list[Any] = list(program.calls[:later])
    calls.append(Call(call.name, call.arguments, Slot(other), call.line))
    for each in program.calls[later:]:
        calls.append(renamed(each, names) if isinstance(each, Call) else each)
    return Program(calls, program.inputs, program.constants, program.outputs, shapes)
