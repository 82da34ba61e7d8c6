"""The backend of the device ``meta``: arrays that have shape, strides and dtype, and no memory.

Views and results have the geometry that they would have on the CPU. What writes does nothing, what
would tell an element raises. A primitive that has a reference body is followed through it; a
formula is computed of single ones, for its dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.algebra import CATALOGUE, Backend
from nnkit.backend.cpu.printer import print_formula
from nnkit.backend.formula import Formula
from nnkit.backend.meta.array import Meta, empty, of_operands


class MetaBackend(Backend):
    """The primitives on arrays without memory."""

    def _find(self, name: str) -> Callable[..., Any]:
        primitive = CATALOGUE.get(name)
        if primitive is not None and primitive.writes:
            return _written
        return super()._find(name)


def _written(x: Any, *rest: Any) -> Any:
    """The first argument, which a primitive would write and returns."""
    return x


def _formula(name: str, formula: Formula) -> Callable[..., Any]:
    kernel = print_formula(name, formula)
    count = len(formula.arrays)

    def compute(*arguments: Any) -> Any:
        operands = arguments[:count]
        arrays = [a for a in operands if a.__class__ is Meta]
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        ones = [np.ones((1,), a.dtype) if a.__class__ is Meta else a for a in operands]
        result = kernel(*ones, *arguments[count:])
        if result is ones[0]:  # of a real number the conjugate is itself
            return arrays[0]
        return of_operands(shape, result.dtype, arrays)

    return compute


BACKEND = MetaBackend("nnkit.backend.meta", _formula, lambda name, kernel: kernel)

__all__ = ["BACKEND", "Meta", "empty"]
