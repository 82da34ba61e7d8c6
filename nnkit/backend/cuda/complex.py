"""Formulas of complex numbers, evaluated function by function with the arrays' own ufuncs."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cpu import elementary
from nnkit.backend.cpu.printer import UFUNCS
from nnkit.backend.formula import Formula, interpret


class _Ufuncs:
    """The functions of formulas under their names: NumPy's ufuncs, which CuPy's arrays answer."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(elementary, name, None) or getattr(np, UFUNCS.get(name, name))
        setattr(self, name, found)
        return found

    @staticmethod
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))


UFUNCS_OF_FORMULAS = _Ufuncs()


def evaluate(formula: Formula, arguments: tuple) -> Any:
    """The formula's value for these operands and scalars, in their order."""
    values = dict(zip(formula.parameters, arguments, strict=True))
    (value,) = interpret(formula.trace(), values, UFUNCS_OF_FORMULAS)
    return value
