"""The CPU backend: NumPy kernels by subject, formulas printed as NumPy code, and before both the
compiled kernels of `nnkit.backend.cpu.native` where they were built."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from nnkit.backend.algebra import Backend
from nnkit.backend.cpu import native
from nnkit.backend.cpu.printer import print_formula
from nnkit.backend.cpu.update import print_update
from nnkit.backend.formula import Formula, Update


def _formula(name: str, formula: Formula) -> Callable:
    if isinstance(formula, Update):
        return print_update(formula)
    return native.bind_formula(name, formula, print_formula(name, formula))


def _fuse(steps: tuple, *rest: Any) -> Callable:
    kernels = tuple([(getattr(BACKEND, name), *step) for name, *step in steps])
    return native.fuse(kernels, *rest)


_M = native.MODULE
_IN_PROGRAMS = {} if _M is None else {"fuse": _fuse, "plan": _M.Planned, "freeze": _M.Frozen}
BACKEND = Backend("nnkit.backend.cpu", _formula, native.bind, **_IN_PROGRAMS)

# As in torch, a division by zero or an overflow gives inf or NaN without a word. NumPy's errstate
# would cost 1 us an operation and does not reach new threads; a filter on our own frames does.
warnings.filterwarnings(
    "ignore",
    r"(divide by zero|overflow|underflow|invalid value) encountered",
    RuntimeWarning,
    r"nnkit\.backend\.cpu",
)
