"""Element-wise arithmetic written once, in infix Python, and traced into an expression graph.

A formula is a Python function of symbols, such as ``lambda x: x / (1 + fn.exp(-x))``. It never runs
on arrays. Instead it is called once with `Expression` objects, which record the operations. A
printer turns the recorded graph into NumPy, C++ or CUDA code, and `interpret` evaluates it with any
other algebra, for instance with Tensor operations when a derivative is differentiated again.

A sub-expression that occurs twice is recorded once, so it is also computed only once.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Number = int | float | bool | complex
ON_NUMBERS = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "pow": operator.pow, "neg": operator.neg, "abs": abs, "maximum": max, "minimum": min,
    "eq": operator.eq, "ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt,
    "conj": lambda x: x.conjugate(), "real": lambda x: x.real,
}  # fmt: skip


SEEN_THROUGH = frozenset(("conj", "real"))  # functions that return their argument or a view of it
BY_ROWS = frozenset(("exp2",))  # functions whose result torch stores by rows in any case
# Functions whose result is exact.
EXACT = frozenset(
    "neg abs sign sgn conj real maximum minimum fmax fmin copysign floor ceil trunc round where"
    " zeros_like eq ne lt le gt ge isnan isinf isfinite signbit logical_not logical_and logical_or"
    " logical_xor".split()
)


class Expression:
    """One node of the graph: a function name and its arguments.

    A leaf has no arguments: its function is ``"symbol"`` (payload: the name) or ``"constant"``
    (payload: the number).
    """

    __slots__ = ("arguments", "function", "payload", "table")

    def __init__(
        self, table: dict, function: str, arguments: tuple[Expression, ...], payload: Any = None
    ) -> None:
        self.table = table
        self.function = function
        self.arguments = arguments
        self.payload = payload

    def __add__(self, other):
        return apply("add", self, other)

    def __radd__(self, other):
        return apply("add", other, self)

    def __sub__(self, other):
        return apply("sub", self, other)

    def __rsub__(self, other):
        return apply("sub", other, self)

    def __mul__(self, other):
        return apply("mul", self, other)

    def __rmul__(self, other):
        return apply("mul", other, self)

    def __truediv__(self, other):
        return apply("div", self, other)

    def __rtruediv__(self, other):
        return apply("div", other, self)

    def __pow__(self, other):
        return apply("pow", self, other)

    def __rpow__(self, other):
        return apply("pow", other, self)

    def __neg__(self):
        return apply("neg", self)

    def __abs__(self):
        return apply("abs", self)

    def __invert__(self):
        return apply("logical_not", self)

    def __and__(self, other):
        return apply("logical_and", self, other)

    def __or__(self, other):
        return apply("logical_or", self, other)

    def __lt__(self, other):
        return apply("lt", self, other)

    def __le__(self, other):
        return apply("le", self, other)

    def __gt__(self, other):
        return apply("gt", self, other)

    def __ge__(self, other):
        return apply("ge", self, other)

    def equal(self, other):
        """``self == other``, element by element (the operator ``==`` compares identities)."""
        return apply("eq", self, other)

    def __bool__(self):
        raise TypeError("a formula cannot branch on a symbol: use fn.where(condition, a, b)")

    @property
    def is_leaf(self) -> bool:
        return not self.arguments

    def __repr__(self) -> str:
        if self.is_leaf:
            return str(self.payload)
        return f"{self.function}({', '.join(map(repr, self.arguments))})"


def _intern(table: dict, function: str, arguments: tuple, payload: Any = None) -> Expression:
    key = (function, arguments, type(payload), payload)
    found = table.get(key)
    if found is None:
        found = table[key] = Expression(table, function, arguments, payload)
    return found


def apply(function: str, *arguments: Expression | Number) -> Expression:
    """Record a call of ``function``; numbers among the arguments become constants."""
    table = next(a.table for a in arguments if isinstance(a, Expression))
    nodes = tuple(
        a if isinstance(a, Expression) else _intern(table, "constant", (), a) for a in arguments
    )
    return _intern(table, function, nodes)


HALF = "half"  # the key, in a table of expressions, of the half precision dtype to round to


class FunctionNamespace:
    """``fn``: the elementary functions of formulas; ``fn.exp(x)`` records ``exp``."""

    def rounded(self, x: Expression) -> Expression:
        """``x`` as torch stores it between two operations: rounded, in a trace for half
        precision."""
        return apply(x.table[HALF], x) if HALF in x.table else x

    def __getattr__(self, name: str) -> Callable[..., Expression]:
        def record(*arguments):
            return apply(name, *arguments)

        record.__name__ = name
        setattr(self, name, record)
        return record


fn = FunctionNamespace()


class Trace:
    """The trace of a formula: its outputs in order, and every distinct node before its users."""

    __slots__ = ("nodes", "outputs", "uses")

    def __init__(self, outputs: tuple[Expression, ...]) -> None:
        self.outputs = outputs
        self.nodes: list[Expression] = []
        self.uses: dict[Expression, int] = {}
        self._visit(outputs)

    def _visit(self, outputs: Iterable[Expression]) -> None:
        for node in outputs:
            self.uses[node] = self.uses.get(node, 0) + 1
            if self.uses[node] == 1:
                self._visit(node.arguments)
                self.nodes.append(node)

    def symbols(self, node: Expression) -> set[str]:
        """The names of the symbols that ``node`` depends on."""
        reached, waiting = {node}, [node]
        while waiting:
            new = set(waiting.pop().arguments) - reached
            reached |= new
            waiting += new
        return {n.payload for n in reached if n.function == "symbol"}


class Formula:
    """A named formula: its parameters in order, which of them are arrays, and its body.

    Args:
        name: the primitive's name on the backend.
        body: a function of symbols that returns one expression or a tuple of them. A parameter
            listed in ``scalars`` is a Python number when the kernel runs; all others are arrays.
        scalars: names of the scalar parameters.
        flags: names of parameters whose value decides the shape of the formula (an optimizer's
            ``nesterov``); the body gets their plain Python values and is traced once for each.
        whole: array parameters with the shape of the result, if torch computes the formula
            operation by operation, as it does most derivatives.
        by_rows: whether the result is stored by rows, whatever the order of its operands.
        stepwise: whether half precision is rounded after each operation, not only at the end.
    """

    def __init__(
        self,
        name: str,
        body: Callable[..., Any],
        scalars: Iterable[str] = (),
        flags: Iterable[str] = (),
        whole: Iterable[str] = (),
        by_rows: bool = False,
        stepwise: bool = False,
    ) -> None:
        code = body.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.name = name
        self.body = body
        self._stepwise = stepwise
        self.flags = tuple(f for f in names if f in set(flags))
        self.arrays = tuple(n for n in names if n not in set(scalars) and n not in self.flags)
        self.scalars = tuple(n for n in names if n in set(scalars))
        self.parameters = self.arrays + self.scalars
        self.whole = frozenset(whole)
        self.by_rows = by_rows
        self._traces: dict[tuple, Trace] = {}

    def trace(self, half: str | None = None, **flags: Any) -> Trace:
        """The expression graph of the body, recorded on first use.

        Args:
            half: the name of a half precision dtype, to which the graph rounds at `fn.rounded`.
            flags: the values of the flags.
        """
        key = (half, *[flags[name] for name in self.flags])
        if key not in self._traces:
            table: dict = {} if half is None else {HALF: half}
            symbols = {n: _intern(table, "symbol", (), n) for n in self.parameters}
            outputs = self.outputs(self.body(**symbols, **flags))
            self._traces[key] = Trace(
                tuple(
                    o if isinstance(o, Expression) else _intern(table, "constant", (), o)
                    for o in outputs
                )
            )
        return self._traces[key]

    @property
    def stepwise(self) -> bool:
        """Whether each operation is rounded, and that makes a difference: an operation uses the
        rounded result of another."""
        nodes = self.trace().nodes if self._stepwise else ()
        return sum(bool(n.arguments) and n.function not in EXACT for n in nodes) > 1

    def outputs(self, result: Any) -> tuple:
        """The body's result as a tuple of expressions."""
        return result if isinstance(result, tuple) else (result,)

    @property
    def deciding(self) -> tuple[str, ...]:
        """The arrays that determine the memory order of the result, in falling priority.

        If torch computes operation by operation, intermediate results are dense. So the order of
        the last operation's result is that of its first operand that is itself computed.
        """
        if self.by_rows:
            return ()
        if not self.whole:
            return self.arrays
        trace = self.trace()
        return self._deciding(trace, trace.outputs[0])[0]

    def _deciding(self, trace: Trace, node: Expression) -> tuple[tuple[str, ...], bool]:
        """The arrays that determine the memory order of ``node``, and whether no others can."""
        if node.is_leaf:
            return ((node.payload,) if node.payload in self.arrays else ()), False
        if node.function in BY_ROWS:
            return (), True
        if node.function in SEEN_THROUGH:
            return self._deciding(trace, node.arguments[0])
        found: dict[str, None] = {}
        for argument in node.arguments:
            names, settled = self._deciding(trace, argument)
            found.update(dict.fromkeys(names))
            if settled:
                break
        return tuple(found), bool(trace.symbols(node) & self.whole)


class Update(Formula):
    """A formula that rewrites some of its arrays: an optimizer's step for one parameter.

    The body returns a dict from array names to new values. The primitive takes a list of arrays
    for each array parameter, and updates all of them in one call.

    Args:
        counters: array parameters that count steps, each a single number. It is incremented
            first, and the body sees the new count as a scalar.
    """

    def __init__(
        self,
        name: str,
        body: Callable[..., dict],
        scalars: Iterable[str] = (),
        flags: Iterable[str] = (),
        counters: Iterable[str] = (),
    ) -> None:
        super().__init__(name, body, scalars, flags)
        self.counters = tuple(counters)
        self.writes: dict[tuple, tuple[str, ...]] = {}
        self._names: tuple[str, ...] = ()

    def outputs(self, result: dict) -> tuple:
        self._names = tuple(result)
        return tuple(result.values())

    def check(self, lists: Sequence[list], same_dtype: bool = False) -> None:
        """RuntimeError if the shape or kind of dtype of a state differs from its parameter's.

        Args:
            lists: the arrays of a group, one list for each array parameter.
            same_dtype: whether the dtypes must be equal, not only of one kind.
        """
        for name, arrays in zip(self.arrays, lists, strict=True):
            for first, array in zip(lists[0], arrays):
                counts = name in self.counters
                if counts and same_dtype:
                    alike = array.dtype.char == "f"
                elif counts:
                    alike = array.dtype.kind in "fiu"
                elif same_dtype:
                    alike = array.dtype == first.dtype
                else:
                    alike = array.dtype.kind == first.dtype.kind
                if not alike or (array.size != 1 if counts else array.shape != first.shape):
                    expected = f"shape {list(first.shape)} and dtype {first.dtype}"
                    expected = "one number" if counts else expected
                    raise RuntimeError(
                        f"{self.name}: {name!r} of a parameter must have {expected}, got shape "
                        f"{list(array.shape)} and dtype {array.dtype}"
                    )

    def variant(self, values: tuple, half: str | None = None) -> tuple[Trace, tuple[str, ...]]:
        """The trace for these values of the flags, and the name of the array of each output."""
        trace = self.trace(half, **dict(zip(self.flags, values, strict=True)))
        self.writes.setdefault(values, self._names)
        return trace, self.writes[values]


def interpret(trace: Trace, values: Mapping[str, Any], algebra: Any) -> tuple:
    """Evaluate a trace with the functions of ``algebra``."""
    known: dict[Expression, Any] = {}
    for node in trace.nodes:
        if node.function == "symbol":
            known[node] = values[node.payload]
        elif node.function == "constant":
            known[node] = node.payload
        else:
            arguments = [known[a] for a in node.arguments]
            if all(isinstance(a, Number) for a in arguments):
                function = ON_NUMBERS.get(node.function) or getattr(math, node.function)
            else:
                function = getattr(algebra, node.function)
            known[node] = function(*arguments)
    return tuple(known[o] for o in trace.outputs)
