"""The pass that drops calls whose results nobody uses."""

from __future__ import annotations

from typing import Any

from nnkit.backend.program.program import Call, Program

# Primitives that may refuse the elements that they are given: the error is a result too.
REFUSING = frozenset(("decomposition", "embedding", "exchange", "indexing", "loss"))


def drop_dead(program: Program) -> Program:
    """The program without calls that do nothing but make what is not read."""
    read = set(program.outputs)
    kept: list[Any] = []
    for call in reversed(program.calls):
        droppable = (
            isinstance(call, Call) and call.is_pure and call.primitive.subject not in REFUSING
        )
        if droppable and not read.intersection(call.makes):
            continue
        read.update(call.reads)
        kept.append(call)
    return program.replaced(kept[::-1])
