"""Prints a program as a Python function: a line for each call, nothing between them.

What a buffer is called is a local variable, which is deleted after its last use, so that its
memory serves what is made next. The primitives are looked up when the function is made: a call
costs what calling the kernel costs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.backend.door import Slot
from nnkit.backend.program.program import Outside, Program, slots_in
from nnkit.backend.program.source import defined

_LITERALS = (int, bool, str, type(None))


def print_program(program: Program, backend: Any) -> Callable[..., tuple]:
    """The function from the inputs' arrays to a tuple of the outputs', on a backend."""
    printed = _Printer(program, backend)
    return defined("run", printed.source(), "<program>", printed.scope)


class _Printer:
    def __init__(self, program: Program, backend: Any) -> None:
        self.program = program
        self.backend = backend
        self.scope: dict[str, Any] = {f"b{n}": a for n, a in program.constants.items()}
        self.statics = 0

    def source(self) -> str:
        program = self.program
        last = program.last_uses()
        kept = {*program.constants, *program.outputs}
        free: dict[int, list[int]] = {}
        for number, place in last.items():
            if number not in kept:
                free.setdefault(place, []).append(number)
        lines = []
        for place, call in enumerate(program.calls):
            lines.append(self.line(call))
            if place in free:
                lines.append(f"del {', '.join(f'b{n}' for n in sorted(free[place]))}")
        outputs = "".join(f"b{n}, " for n in program.outputs)
        lines.append(f"return ({outputs})")
        parameters = ", ".join(f"b{n}" for n in program.inputs)
        return f"def run({parameters}):\n" + "".join(f"    {line}\n" for line in lines)

    def line(self, call: Any) -> str:
        if isinstance(call, Outside):
            name = f"outside{self.statics}"
            self.statics += 1
            self.scope[name] = call.function
            given = ", ".join(f"b{n}" for n in call.reads)
            results = "".join(f"b{n}, " for n in call.makes)
            return f"{results}= {name}({given})" if results else f"{name}({given})"
        self.scope[f"do_{call.name}"] = getattr(self.backend, call.name)
        text = f"do_{call.name}({', '.join(map(self.value, call.arguments))})"
        made = set(call.makes) - self.program.constants.keys()
        return f"{_target(call.result, made)} = {text}" if made else text

    def value(self, value: Any) -> str:
        if value.__class__ is Slot:
            return f"b{value.number}"
        if value.__class__ is list and any(True for _ in slots_in(value)):
            return f"[{', '.join(map(self.value, value))}]"
        if value.__class__ is tuple and any(True for _ in slots_in(value)):
            return f"({''.join(f'{self.value(v)}, ' for v in value)})"
        if value.__class__ in _LITERALS:
            return repr(value)
        name = f"k{self.statics}"
        self.statics += 1
        self.scope[name] = value
        return name


def _target(result: Any, made: set[int]) -> str:
    if result.__class__ is Slot:
        return f"b{result.number}" if result.number in made else "_"
    if isinstance(result, (tuple, list)):
        return f"({''.join(f'{_target(r, made)}, ' for r in result)})"
    return "_"
