"""Complex numbers: formulas function by function with the arrays' own ufuncs, and what is linear in
two operands by products of their real and imaginary parts.
"""

from __future__ import annotations

from collections.abc import Callable
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

    # These CuPy lacks for complex numbers.

    @staticmethod
    def sgn(x: Any) -> Any:
        return x / (np.absolute(x) + (x == 0))

    @staticmethod
    def logical_not(x: Any) -> Any:
        return x == 0

    @staticmethod
    def logical_and(x: Any, y: Any) -> Any:
        return np.logical_and(x != 0, y != 0)

    @staticmethod
    def logical_or(x: Any, y: Any) -> Any:
        return np.logical_or(x != 0, y != 0)

    @staticmethod
    def logical_xor(x: Any, y: Any) -> Any:
        return np.logical_xor(x != 0, y != 0)

    @staticmethod
    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))


UFUNCS_OF_FORMULAS = _Ufuncs()


def evaluate(formula: Formula, arguments: tuple) -> Any:
    """The formula's value for these operands and scalars, in their order."""
    values = dict(zip(formula.parameters, arguments, strict=True))
    (value,) = interpret(formula.trace(), values, UFUNCS_OF_FORMULAS)
    return value


def by_parts(kernel: Callable, x: Any, y: Any, *rest: Any) -> Any:
    """``kernel(x, y, *rest)`` for a kernel of real numbers that is linear in ``x`` and in ``y``."""
    from nnkit.backend.cuda import BACKEND as B

    real = B.sub(kernel(x.real, y.real, *rest), kernel(x.imag, y.imag, *rest))
    imag = B.add(kernel(x.real, y.imag, *rest), kernel(x.imag, y.real, *rest))
    return B.make_complex(real, imag)
