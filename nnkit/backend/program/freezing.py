"""Constant operands of a program, such as weights in inference, that stay packed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nnkit.backend.program.aliases import OUTER, Aliases
from nnkit.backend.program.program import Outside, Program


def frozen(
    run: Callable[..., tuple], program: Program, backend: Any, counters: dict[int, list]
) -> Callable[..., tuple]:
    """The function that runs a program, in whose calls kernels keep what they make of constants.

    A program that writes memory from outside, or calls something else between its primitives, may
    write its constants: it stays as it is.

    Args:
        counters: of each constant that may be frozen lists that begin with how often it was
            written: what was made of constants is forgotten when one of them changes.
    """
    others = [call for call in program.calls if type(call) is Outside][:-1]
    if backend.freeze is None or others or OUTER in program.found(Aliases).written or not counters:
        return run
    arrays = tuple([program.constants[n] for n in counters])
    lists = {id(each): each for lists in counters.values() for each in lists}
    return backend.freeze(run, arrays, tuple(lists.values()))
