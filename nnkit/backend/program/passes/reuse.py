"""Formulas write into what they are the last to read."""

from __future__ import annotations

from copy import copy
from typing import Any

from nnkit.backend.door import Slot
from nnkit.backend.program.aliases import OUTER, Aliases
from nnkit.backend.program.passes.common import renamed
from nnkit.backend.program.program import Call, Outside, Program


def reuse_memory(program: Program) -> Program:
    """The program with formulas in place, where nobody reads their first array any more.

    Shape, dtype and strides of the result must be the array's, nothing else may lie in its memory,
    and nobody outside may have seen it.
    """
    aliases = program.found(Aliases)
    sizes: dict[int, int] = {}  # how many buffers lie in each memory
    for number in {n for call in program.calls for n in call.makes}:
        root = aliases.root(number)
        sizes[root] = sizes.get(root, 0) + 1
    last = program.last_uses()
    names: dict[int, int] = {}
    kept: list[Any] = []
    for place, call in enumerate(program.calls):
        if isinstance(call, Outside):
            kept.append(_outside_renamed(call, names))
        else:
            kept.append(_in_place(program, call, place, aliases, sizes, last, names))
    outputs = [names.get(n, n) for n in program.outputs]
    return Program(kept, program.inputs, program.constants, outputs, program.shapes)


def _outside_renamed(call: Outside, names: dict[int, int]) -> Outside:
    if names.keys().isdisjoint(call.reads):
        return call
    other = copy(call)
    other.reads = [names.get(n, n) for n in call.reads]
    return other


def _in_place(
    program: Program, call: Call, place: int, aliases: Aliases, sizes: dict, last: dict, names: dict
) -> Call:
    target: Any = call.arguments[0] if call.arguments else None
    new = renamed(call, names)
    if call.primitive.subject != "formula" or call.writes or target.__class__ is not Slot:
        return new
    number, made = target.number, call.makes
    root = aliases.root(number)
    if (
        len(made) != 1
        or call.shares
        or root == OUTER
        or root in aliases.escaping
        or sizes.get(root) != 1
        or last[number] != place
        or call.reads.count(number) != 1
        or program.shapes.get(number) is None
        or program.shapes[number] != program.shapes.get(made[0])
    ):
        return new
    names[made[0]] = names.get(number, number)
    return Call(f"{call.name}_", new.arguments, None, call.line)
