"""A program for people to read: one line for each call."""

from __future__ import annotations

from math import prod
from typing import Any

from nnkit.backend.door import Slot
from nnkit.backend.dtype import OF_ARRAY


def listing(program: Any) -> str:
    """The text of a program: inputs, each call with the shape of its results and the buffers freed
    after it, outputs; at the end the sums."""
    shapes = program.shapes
    lines = [f"in    {_named(n)}: {_shape(shapes, n)}" for n in program.inputs]
    lines += [f"known {_named(n)}: {_shape(shapes, n)}" for n in sorted(program.constants)]
    kept = {*program.inputs, *program.constants, *program.outputs}
    last = {n: place for n, place in program.last_uses().items() if n not in kept}
    made = 0
    for place, call in enumerate(program.calls):
        text = _call(call)
        results = call.makes
        inner = call.program.calls if hasattr(call, "program") else ()
        if results and (inner or hasattr(call, "name")):
            text += "    # " + "; ".join(_shape(shapes, n) for n in results)
        freed = sorted(n for n, at in last.items() if at == place)
        if freed:
            text += "    frees " + ", ".join(map(_named, freed))
        if not call.shares:
            made += sum(_bytes(shapes, n) for n in results)
        lines.append(text)
        lines += [f"    {_call(formula)}" for formula in inner]
    lines.append(f"out   {', '.join(map(_named, program.outputs))}")
    lines.append(f"{len(program.calls)} calls, {made} bytes made")
    return "\n".join(lines)


def _named(number: int) -> str:
    return f"b{number}"


def _shape(shapes: dict, number: int) -> str:
    if number not in shapes:
        return "?"
    shape, dtype, _ = shapes[number]
    return f"{OF_ARRAY[dtype].name}{list(shape)}" if dtype in OF_ARRAY else f"{dtype}{list(shape)}"


def _bytes(shapes: dict, number: int) -> int:
    if number not in shapes:
        return 0
    shape, dtype, _ = shapes[number]
    return prod(shape) * dtype.itemsize


def _value(value: Any) -> str:
    if value.__class__ is Slot:
        return _named(value.number)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _call(call: Any) -> str:
    if not hasattr(call, "name"):
        given = ", ".join(map(_named, call.reads))
        results = ", ".join(map(_named, call.makes))
        return f"{results} = {call.title}({given})" if results else f"{call.title}({given})"
    given = ", ".join(map(_value, call.arguments))
    text = f"{call.name}({given})"
    return text if call.result is None else f"{_value(call.result)} = {text}"
