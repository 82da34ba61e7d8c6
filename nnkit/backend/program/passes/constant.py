"""Calls whose results are the same in each run are made once."""

from __future__ import annotations

from math import prod
from typing import Any

from nnkit.backend.door import Slot
from nnkit.backend.program.aliases import Aliases
from nnkit.backend.program.program import Call, Program

LIMIT = 1 << 20  # bytes of a result that is kept for good
SHAPES_ALONE = frozenset(("ones_like", "zeros_like"))  # which read no element


def fold_constants(program: Program, backend: Any) -> Program:
    """The program with what is made of no array, or of such results, as constants.

    Only what nobody writes, and nobody outside sees, may be the same array in each run.
    """
    aliases = program.found(Aliases)
    constants = dict(program.constants)
    folded: dict[int, Any] = {}
    kept: list[Any] = []
    for call in program.calls:
        if not isinstance(call, Call) or not _is_foldable(call, program, aliases, folded):
            kept.append(call)
            continue
        (number,) = call.makes
        if call.name in SHAPES_ALONE:
            shape, dtype, _ = program.shapes[call.reads[0]]
            result = getattr(backend, call.name)(backend.zeros(shape, dtype))
        else:
            result = getattr(backend, call.name)(*_filled(call.arguments, folded))
        folded[number] = constants[number] = result
    return program.replaced(kept, constants if folded else None)


def _is_foldable(call: Call, program: Program, aliases: Aliases, folded: dict) -> bool:
    p = call.primitive
    if not call.is_pure or p.subject == "exchange" or call.name == "empty":
        return False
    if call.result.__class__ is not Slot or not call.makes:  # a tuple of pieces is no array
        return False
    number = call.makes[0]
    if number not in program.shapes or not aliases.is_private(call):
        return False
    shape, dtype, _ = program.shapes[number]
    if prod(shape) * dtype.itemsize > LIMIT:
        return False
    if call.name in SHAPES_ALONE:  # of more dimensions the order in memory would count
        return len(shape) < 2 and call.reads[0] in program.shapes
    return all(n in folded for n in call.reads)


def _filled(value: Any, folded: dict[int, Any]) -> Any:
    if value.__class__ is Slot:
        return folded[value.number]
    if isinstance(value, (tuple, list)):
        return type(value)(_filled(v, folded) for v in value)
    return value
