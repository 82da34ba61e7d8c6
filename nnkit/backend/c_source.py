"""Prints a traced formula as the statements of a C++ function: one assignment for each operation.

The statements work on one element. Arrays are read into variables of the type ``T``; what depends
on scalars alone is computed once, in double precision, as Python would. Whoever prints a loop or a
kernel around them decides how elements are found and stored.
"""

from __future__ import annotations

import math
from zlib import crc32

from nnkit.backend.formula import Expression, Trace

# Their values are bool.
PREDICATES = frozenset(
    "lt le gt ge eq ne isnan isinf isfinite signbit logical_not logical_and logical_or"
    " logical_xor".split()
)
INFIX = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "neg": "-{}",
    "lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}", "eq": "{} == {}",
    "ne": "{} != {}",
}  # fmt: skip
LOGICAL = {
    "logical_not": "!{}", "logical_and": "{} & {}", "logical_or": "{} | {}",
    "logical_xor": "{} != {}",
}  # fmt: skip
# Functions of namespace `math`, in math.h.
FUNCTIONS = frozenset(
    "abs sign sgn exp exp2 expm1 log log2 log10 log1p sqrt reciprocal tanh sigmoid erf erfc"
    " erfinv sin cos tan asin acos atan atan2 sinh cosh asinh acosh atanh floor ceil trunc round"
    " frac remainder fmod div_floor div_trunc maximum minimum fmax fmin copysign nextafter hypot"
    " logaddexp logaddexp2 log_sigmoid heaviside lgamma digamma polygamma_at erfcx ndtri i0 i0e"
    " i1 i1e zeta igamma igammac chebyshev_polynomial_t chebyshev_polynomial_u"
    " chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he"
    " laguerre_polynomial_l legendre_polynomial_p exponent isnan isinf isfinite signbit".split()
)
# Additions that one evaluation is worth.
COSTS = {"div": 4, "sqrt": 6, "reciprocal": 4}
COST_OF_FUNCTION = 20
CHEAP = frozenset(
    "abs sign sgn floor ceil trunc round frac maximum minimum fmax fmin copysign heaviside isnan"
    " isinf isfinite signbit".split()
)


class Unsupported(Exception):
    """The formula needs a function that has no counterpart in C++."""


def fingerprint(trace: Trace) -> int:
    """A checksum of the expressions: compiled code serves only the formula it was printed from."""
    places = {node: place for place, node in enumerate(trace.nodes)}
    rows = [(n.function, n.payload, [places[a] for a in n.arguments]) for n in trace.nodes]
    return crc32(repr((rows, [places[output] for output in trace.outputs])).encode())


class Statements:
    """A trace in C++: ``constants`` before the loop, ``lines`` in it, ``results`` after them.

    ``powers`` are the exponents that are one number for the whole loop: the text of each, by the
    name of the function that raises to it.
    """

    functions = FUNCTIONS

    def __init__(self, trace: Trace, scalars: tuple[str, ...]) -> None:
        self.constants: list[str] = []
        self.lines: list[str] = []
        self.powers: dict[str, str] = {}
        self.cost = 0
        self._scalars = set(scalars)
        self._text: dict[Expression, str] = {}
        self._is_scalar: dict[Expression, bool] = {}
        self._is_bool: dict[Expression, bool] = {}
        for node in trace.nodes:
            self._print(node)
        self.results = [self._as_number(o) for o in trace.outputs]
        self.is_predicate = [self._is_bool[o] for o in trace.outputs]

    def _print(self, node: Expression) -> None:
        self._is_bool[node] = node.function in PREDICATES
        self._is_scalar[node] = (
            node.function == "constant"
            or (node.function == "symbol" and node.payload in self._scalars)
            or (bool(node.arguments) and all(self._is_scalar[a] for a in node.arguments))
        )
        if node.function == "constant":
            self._text[node] = _number(node.payload)
        elif node.function == "symbol":
            self._text[node] = node.payload
        elif node.function in ("conj", "real"):
            (x,) = node.arguments
            self._text[node] = self._text[x] if self._is_scalar[x] else self._as_number(x)
            self._is_bool[node] = False
        elif self._is_scalar[node]:
            name = f"n{len(self.constants)}"
            value = self._operation(node, [self._text[a] for a in node.arguments], "double")
            self.constants.append(f"const double {name} = {value};")
            self._text[node] = name
        else:
            name = f"v{len(self.lines)}"
            self.lines.append(f"const {self._declared(node)} {name} = {self._value(node)};")
            self._text[node] = name
            self._count(node)

    def _declared(self, node: Expression) -> str:
        return "bool" if self._is_bool[node] else "T"

    def _value(self, node: Expression) -> str:
        if node.function == "where":
            condition, x, y = node.arguments
            return f"{self._as_bool(condition)} ? {self._as_number(x)} : {self._as_number(y)}"
        if node.function == "zeros_like":
            return "T(0)"
        if node.function in LOGICAL:
            return LOGICAL[node.function].format(*(self._as_bool(a) for a in node.arguments))
        return self._operation(node, [self._as_number(a) for a in node.arguments], "T")

    def _operation(self, node: Expression, arguments: list[str], number: str) -> str:
        if node.function in INFIX:
            return INFIX[node.function].format(*arguments)
        if node.function == "pow":
            return self._power(node, arguments, number)
        if node.function not in self.functions:
            raise Unsupported(node.function)
        return f"math::{node.function}({', '.join(arguments)})"

    def _power(self, node: Expression, arguments: list[str], number: str) -> str:
        base, exponent = arguments
        if number == "T" and self._is_scalar[node.arguments[1]]:
            scalar = self._text[node.arguments[1]]
            name = next((n for n, e in self.powers.items() if e == scalar), None)
            name = name or f"power{len(self.powers)}"
            self.powers[name] = scalar
            return f"{name}({base})"
        return f"math::pow({base}, {exponent})"

    def _as_number(self, node: Expression) -> str:
        text = self._text[node]
        return f"T({text})" if self._is_scalar[node] or self._is_bool[node] else text

    def _as_bool(self, node: Expression) -> str:
        text = self._text[node]
        return text if self._is_bool[node] else f"({text} != 0)"

    def _count(self, node: Expression) -> None:
        if node.function in FUNCTIONS - CHEAP or node.function == "pow":
            self.cost += COSTS.get(node.function, COST_OF_FUNCTION)
        else:
            self.cost += COSTS.get(node.function, 1)


def _number(value: object) -> str:
    """A Python number as a C++ constant of type double."""
    if isinstance(value, bool):
        return f"{int(value)}.0"
    if not isinstance(value, int | float):
        raise Unsupported(repr(value))
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text
