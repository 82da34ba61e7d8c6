"""Numbers that remember how they follow from the sizes of a program's inputs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from nnkit.autograd.surface.size import TRACED

RELATIONS = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
ARITHMETIC = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
}  # fmt: skip


class TracedNumber:
    """A number that is there, and an operation of the graph that computes it.

    Arithmetic gives numbers of this kind; what a comparison gives is remembered as a condition of
    the program.
    """

    node: Any
    tracing: Any

    def __bool__(self) -> bool:
        return self.tracing.compare("!=", self, 0)

    def __hash__(self) -> int:
        return hash(plain(self))

    def __neg__(self) -> Any:
        return self.tracing.calculate(operator.neg, self)


class TracedInt(TracedNumber, int):
    """A whole number of this kind."""


TRACED.add(TracedInt)


class TracedFloat(TracedNumber, float):
    """A number of this kind that is not whole."""


def plain(value: Any) -> Any:
    """A number without its history."""
    if isinstance(value, TracedInt):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, TracedFloat) else value


def _arithmetic(function: Callable, swapped: bool) -> Callable:
    def method(self: Any, other: Any) -> Any:
        if type(other) not in (int, float, TracedInt, TracedFloat):
            return NotImplemented
        pair = (other, self) if swapped else (self, other)
        return self.tracing.calculate(function, *pair)

    return method


def _relation(symbol: str) -> Callable:
    def method(self: Any, other: Any) -> Any:
        if type(other) not in (int, float, bool, TracedInt, TracedFloat):
            return NotImplemented
        return self.tracing.compare(symbol, self, other)

    return method


for _name, _function in ARITHMETIC.items():
    setattr(TracedNumber, f"__{_name}__", _arithmetic(_function, False))
    setattr(TracedNumber, f"__r{_name}__", _arithmetic(_function, True))
for _symbol, _function in RELATIONS.items():
    setattr(TracedNumber, f"__{_function.__name__}__", _relation(_symbol))


def check_size(left: Any, relation: str, right: Any) -> None:
    """Refuse a run whose sizes compare otherwise than where the program was traced.

    Raises:
        AssertionError: they do.
    """
    if not RELATIONS[relation](left, right):
        raise AssertionError(f"Guard failed: {left} {relation} {right}")
