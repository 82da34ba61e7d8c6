"""Prints calls over buffers as a Python function: a line for each call, nothing between them.

What a buffer is called is a local variable, which is deleted after its last use, so that its
memory serves what is made next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.backend.door import Slot
from nnkit.backend.program.program import slots_in
from nnkit.backend.program.source import defined

_LITERALS = (int, bool, str, type(None))


def print_calls(
    inputs: list[int], constants: dict[int, Any], calls: list[tuple], outputs: list[int]
) -> Callable[..., tuple]:
    """The function of `looped`."""
    printed = _Printer({_name(n): value for n, value in constants.items()})
    lines = []
    for function, arguments, result, gone in calls:
        lines.append(printed.line(function, arguments, result))
        if gone:
            lines.append(f"del {', '.join(map(_name, gone))}")
    lines.append(f"return ({''.join(f'{_name(n)}, ' for n in outputs)})")
    body = "".join(f"    {line}\n" for line in lines)
    source = f"def run({', '.join(map(_name, inputs))}):\n{body}"
    return defined("run", source, "<program>", printed.scope)


def _name(number: int) -> str:
    return f"b{number}" if number >= 0 else f"t{-number}"


class _Printer:
    def __init__(self, scope: dict[str, Any]) -> None:
        self.scope = scope
        self.named = 0

    def line(self, function: Any, arguments: tuple, result: Any) -> str:
        text = f"{self.name(function)}({', '.join(map(self.value, arguments))})"
        return text if result is None else f"{_target(result)} = {text}"

    def name(self, value: Any) -> str:
        name = f"k{self.named}"
        self.named += 1
        self.scope[name] = value
        return name

    def value(self, value: Any) -> str:
        if value.__class__ is Slot:
            return _name(value.number)
        if value.__class__ is list and any(True for _ in slots_in(value)):
            return f"[{', '.join(map(self.value, value))}]"
        if value.__class__ is tuple and any(True for _ in slots_in(value)):
            return f"({''.join(f'{self.value(v)}, ' for v in value)})"
        return repr(value) if value.__class__ in _LITERALS else self.name(value)


def _target(result: Any) -> str:
    if result.__class__ is Slot:
        return _name(result.number)
    return "_" if result is None else f"({''.join(f'{_target(r)}, ' for r in result)})"
