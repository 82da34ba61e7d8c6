"""Calls over numbered buffers as a function: a compiled loop, or Python without the extension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.backend.cpu.native import MODULE
from nnkit.backend.door import Slot
from nnkit.backend.program.printer import print_calls
from nnkit.backend.program.program import Outside, Program


def looped(
    inputs: list[int], constants: dict[int, Any], calls: list[tuple], outputs: list[int]
) -> Callable[..., tuple]:
    """The function from the arrays of ``inputs`` to a tuple of those of ``outputs``.

    Args:
        inputs: the buffers that each run is given.
        constants: those that are the same in each run.
        calls: each a function, the tuple of its arguments, its result, and the buffers that nobody
            needs after it. A `Slot` stands for a buffer, in sequences too.
        outputs: the buffers that each run gives back.
    """
    if MODULE is None:
        return print_calls(inputs, constants, calls, outputs)
    return MODULE.Loop(Slot, inputs, constants, calls, outputs)


def loop_of(program: Program, backend: Any) -> Callable[..., tuple]:
    """The function from the inputs' arrays to a tuple of the outputs', on a backend."""
    gone = program.gone()
    calls = [
        (*_parts(call, program, backend), gone.get(place, ()))
        for place, call in enumerate(program.calls)
    ]
    return looped(program.inputs, program.constants, calls, program.outputs)


def _parts(call: Any, program: Program, backend: Any) -> tuple:
    """The function of a call, its arguments, and its result without what is there already."""
    if isinstance(call, Outside):
        return call.function, tuple(map(Slot, call.reads)), tuple(map(Slot, call.makes)) or None
    made = set(call.makes) - program.constants.keys()
    return getattr(backend, call.name), call.arguments, _made(call.result, made)


def _made(result: Any, made: set[int]) -> Any:
    if result.__class__ is Slot:
        return result if result.number in made else None
    if made and isinstance(result, (tuple, list)):
        return tuple([_made(each, made) for each in result])
    return None
