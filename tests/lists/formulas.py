"""Formulas on lists: the one kernel of all element-wise primitives, and that of the updates."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import repeat
from typing import Any

from nnkit.backend.dtype import (
    HALF,
    bool_,
    complex64,
    complex128,
    float32,
    float64,
    int64,
    promote_types,
)  # fmt: skip
from nnkit.backend.formula import ON_NUMBERS, SEEN_THROUGH, Expression, Formula, Trace, Update
from tests.lists.array import (
    Array,
    broadcast,
    converted,
    elements,
    expanded,
    is_inexact,
    made,
    of,
    rounded,
    write,
)  # fmt: skip
from tests.lists.elementary import ELEMENTARY, PREDICATES

BOOL, F32, F64 = bool_.array, float32.array, float64.array
Column = tuple[list, Any]  # numbers and their dtype


def print_formula(name: str, formula: Formula) -> Callable:
    if isinstance(formula, Update):
        return _update(formula)

    def kernel(*arguments: Any) -> Array:
        first = arguments[0]
        if formula.name in SEEN_THROUGH and first.dtype.kind != "c":
            return first  # itself is its conjugate
        return _compute(formula, arguments)

    def kernel_(x: Array, *arguments: Any) -> Array:
        result = _compute(formula, (x, *arguments))
        return write(x, converted(expanded(result, x.shape), x.dtype))

    return kernel if name == formula.name else kernel_


def _compute(formula: Formula, arguments: tuple) -> Array:
    arrays = [a for a in arguments if isinstance(a, Array)]
    shape = broadcast(*[a.shape for a in arrays])
    floats = {a.dtype for a in arrays if is_inexact(a.dtype)}
    half = next(iter(floats)) if len(floats) == 1 and floats <= HALF else None
    values = dict(zip(formula.parameters, [_column(a, shape) for a in arguments], strict=True))
    between = half if formula.stepwise else None
    ((result, dtype),) = _evaluate(formula.trace(), values, math.prod(shape), between)
    if half is not None and dtype == F32:
        result, dtype = rounded(result, half), half
    return made(result, shape, dtype)


def _column(value: Any, shape: tuple) -> Any:
    """The elements of an array, those of half precision as float32; a number itself."""
    if not isinstance(value, Array):
        return value
    return elements(expanded(value, shape)), F32 if value.dtype in HALF else value.dtype


def _evaluate(trace: Trace, values: dict, count: int, half: Any = None) -> list:
    """The columns of the outputs; ``half`` is what each step is rounded to on the way."""
    known: dict[Expression, Any] = {}
    for node in trace.nodes:
        if node.function == "symbol":
            known[node] = values[node.payload]
        elif node.function == "constant":
            known[node] = node.payload
        else:
            arguments = [known[a] for a in node.arguments]
            if any(isinstance(a, tuple) for a in arguments):
                known[node] = _apply(node.function, arguments, half)
            else:
                function = ON_NUMBERS.get(node.function) or getattr(math, node.function)
                known[node] = function(*arguments)
    outputs = [known[o] for o in trace.outputs]
    return [o if isinstance(o, tuple) else ([o] * count, F64) for o in outputs]


def _apply(name: str, arguments: list, half: Any) -> Column:
    columns = [a[0] if isinstance(a, tuple) else repeat(a) for a in arguments]
    values = list(map(ELEMENTARY[name], *columns))
    if name in PREDICATES:
        return values, BOOL
    dtype = _common_dtype(arguments[1:] if name == "where" else arguments)
    if name in ("abs", "real"):
        dtype = of(dtype).to_real().array
    if not is_inexact(dtype) and values and isinstance(values[0], float):
        dtype = F64
    if half is not None:
        values = rounded(values, half)
    return rounded(values, dtype), dtype


def _common_dtype(arguments: list) -> Any:
    """The dtype of the arrays, and that of a number where it is of a higher category."""
    found = None
    for a in arguments:
        if isinstance(a, tuple):
            found = of(a[1]) if found is None else promote_types(found, of(a[1]))
    numbers = [a for a in arguments if not isinstance(a, tuple)]
    if found is None:
        return F64 if any(isinstance(a, float) for a in numbers) else BOOL
    if any(isinstance(a, complex) for a in numbers) and not found.is_complex:
        found = complex64 if found is float32 else complex128
    elif any(isinstance(a, float) for a in numbers) and not is_inexact(found.array):
        found = float64
    elif any(type(a) is int for a in numbers) and found is bool_:
        return promote_types(found, of(_INT64)).array
    return found.array


_INT64 = int64.array


def _update(update: Update) -> Callable:
    """The kernel of an optimizer's update: a whole parameter group, one array after the other."""
    count, numbers = len(update.arrays), len(update.scalars)

    def kernel(*arguments: Any) -> None:
        lists, flags = arguments[:count], tuple(map(bool, arguments[count + numbers :]))
        trace, targets = update.variant(flags)
        update.check(lists)
        used = {s for o in trace.outputs for s in trace.symbols(o)} | set(targets)
        names = [a for a in update.arrays if a in used]
        for arrays in zip(*[lists[update.arrays.index(a)] for a in names], strict=True):
            values: dict[str, Any] = dict(
                zip(update.scalars, arguments[count : count + numbers], strict=True)
            )
            found = dict(zip(names, arrays, strict=True))
            for name, array in found.items():
                if name in update.counters:
                    write(array, [elements(array)[0] + 1])
                    values[name] = elements(array)[0]
                else:
                    values[name] = _column(array, array.shape)
            results = _evaluate(trace, values, arrays[0].size)
            for target, (result, _) in zip(targets, results, strict=True):
                write(found[target], rounded(result, found[target].dtype))

    return kernel
