"""Pure calls that stand twice stand once."""

from __future__ import annotations

from typing import Any

from nnkit.backend.door import Slot
from nnkit.backend.program.aliases import OUTER, Aliases
from nnkit.backend.program.program import Call, Outside, Program


def share_common(program: Program) -> Program:
    """The program in which a call that was made before, on the same elements, is its result.

    Two results become one buffer, so neither may be written, nor be seen from outside. Elements
    are the same until something is written into their memory.
    """
    aliases = program.found(Aliases)
    times: dict[int, int] = {}  # how often each memory was written so far
    first: dict[Any, Call] = {}
    same: dict[int, int] = {}
    kept: list[Any] = []
    for call in program.calls:
        if isinstance(call, Outside):
            for root in {OUTER, *map(aliases.root, call.reads)}:
                times[root] = times.get(root, 0) + 1
            kept.append(call)  # what it is given escapes, and was not merged
            continue
        call = renamed(call, same)
        for root in set(map(aliases.root, call.writes)):
            times[root] = times.get(root, 0) + 1
        if call.is_pure and call.makes and aliases.is_private(call):
            read = tuple((n, times.get(aliases.root(n), 0)) for n in call.reads)
            key = call.name, key_of(call.arguments), read
            known = first.setdefault(key, call)
            if known is not call and len(known.makes) == len(call.makes):
                same.update(zip(call.makes, known.makes))
                continue
        kept.append(call)
    return program.replaced(kept)


def renamed(call: Call, names: dict[int, int]) -> Call:
    """A call with other numbers for some buffers."""
    if not names or names.keys().isdisjoint((*call.reads, *call.makes)):
        return call
    return Call(call.name, _renamed(call.arguments, names), _renamed(call.result, names), call.line)


def _renamed(value: Any, names: dict[int, int]) -> Any:
    if isinstance(value, Slot):
        return Slot(names.get(value.number, value.number))
    if isinstance(value, (tuple, list)):
        return type(value)(_renamed(v, names) for v in value)
    return value


def key_of(value: Any) -> Any:
    """A key for comparing arguments: equal only if they are the same to every primitive."""
    if value.__class__ is Slot:
        return "b", value.number
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(key_of, value))
    if isinstance(value, slice):
        return "slice", *map(key_of, (value.start, value.stop, value.step))
    if isinstance(value, (bool, int, str, type(None))):
        return type(value), value
    return (float, value.hex()) if type(value) is float else ("object", id(value))
