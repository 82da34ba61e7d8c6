"""Prints formulas as NumPy code.

Each formula becomes one function in two halves. Small operands take plain infix code, which has
the least overhead and lets NumPy return scalars for 0-dim results; from `BLOCK` elements on, one
statement an operation writes into temporaries that are reused as soon as they are free, since
fresh large arrays cost page faults. A temporary is only reused when all operands have one shape.

float16 and bfloat16 operands are widened to float32 and the result is rounded once, or that of each
operation where the formula is stepwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.cpu.half import rounded, truth
from nnkit.backend.cpu.memory import arranged
from nnkit.backend.dtype import HALF, bfloat16
from nnkit.backend.formula import SEEN_THROUGH, Expression, Formula, Trace, interpret

BLOCK = 4096  # elements; below it the temporaries of a formula stay in the first-level cache

INFIX = {
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "div": "({} / {})",
    "neg": "(-{})", "lt": "({} < {})", "le": "({} <= {})", "gt": "({} > {})",
    "ge": "({} >= {})", "eq": "({} == {})", "ne": "({} != {})",
}  # fmt: skip
UFUNCS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "true_divide", "neg": "negative",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal", "abs": "absolute", "asin": "arcsin", "acos": "arccos",
    "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "pow": "power", "round": "rint",
}  # fmt: skip
# Functions that have no `out` argument; their results are never given to another as `out` either.
NO_OUT = SEEN_THROUGH | {"where", "zeros_like"}
ROUNDING = frozenset(("float16", "bfloat16"))
COMPARISONS = frozenset(
    "lt le gt ge eq ne isnan isinf isfinite signbit logical_not logical_and logical_or".split()
)
OF_BYTES = frozenset("lt le gt ge eq ne logical_xor bitwise_xor".split())  # where two are bools


class _Rounding:
    """The functions of formulas on float32 arrays, each result rounded to half precision."""

    def __init__(self, half: Any) -> None:
        self.half = half

    def pow(self, x: Any, exponent: Any) -> Any:
        """A power, to some numbers in steps: as torch raises what is bfloat16, and that alone."""
        if self.half == bfloat16.array and not np.ndim(exponent):
            if exponent == 3:
                return self.mul(self.mul(x, x), x)
            if exponent == -2:
                return self.reciprocal(self.mul(x, x))
        return self.power(x, exponent)

    def __getattr__(self, name: str) -> Callable:
        function = _known()[UFUNCS.get(name, name)]

        def rounded(*arguments: Any) -> Any:
            result = function(*arguments)
            if result.dtype.kind == "b":
                return result
            return result.astype(self.half).astype(np.float32)

        return rounded


def stepwise(formula: Formula) -> Callable:
    """A kernel of float32 arrays that rounds each operation of a formula to half precision."""

    def kernel(half: Any, *arguments: Any) -> Any:
        values = dict(zip(formula.parameters, arguments, strict=True))
        for name in formula.arrays:
            if not isinstance(values[name], (np.ndarray, np.generic)):
                values[name] = np.float32(values[name])  # what it gives is rounded too
        return np.asarray(interpret(formula.trace(), values, _Rounding(half))[0])

    return kernel


def narrow(
    kernel: Callable, arguments: tuple, deciding: tuple, steps: Callable | None = None
) -> Any:
    """Run ``kernel`` in float32 on operands of half precision and round its result once, unless
    another operand is wider; or run ``steps``, which rounds more often. Beside what has dimensions
    a real 0-dim array counts as a number."""
    arrays = [a for a in arguments if isinstance(a, np.ndarray) and a.dtype.kind not in "iub"]
    halves = {id(a) for a in arrays if a.dtype in HALF}
    if any(a.ndim for a in arrays if id(a) in halves):
        halves.update(id(a) for a in arrays if not a.ndim and a.dtype.kind == "f")
        arrays = [a for a in arrays if a.ndim or id(a) not in halves]
    floats = {a.dtype for a in arrays}
    wide = [a.astype(np.float32) if id(a) in halves else a for a in arguments]
    result = steps(*floats, *wide) if steps and len(floats) == 1 else kernel(*wide)
    if result.dtype.kind != "b" and len(floats) == 1:
        result = rounded(result, floats.pop())
    return arranged(result, *deciding)


def _namespace() -> dict[str, Any]:
    """The names in printed code: the ufuncs, our special functions, and scalar mathematics."""
    from nnkit.backend.cpu import elementary, special

    names: dict[str, Any] = {n: f for n, f in vars(np).items() if isinstance(f, np.ufunc)}
    for module in (elementary, special):
        names.update({n: f for n, f in vars(module).items() if not n.startswith("_")})
    names.update(
        ndarray=np.ndarray, asarray=np.asarray, copyto=np.copyto, where=np.where,
        zeros_like=np.zeros_like, HALF=HALF, narrow=narrow, arranged=arranged, truth=truth,
        math=math, inf=math.inf, nan=math.nan,
        __name__="nnkit.backend.cpu.printed",
    )  # fmt: skip
    return names


_names: dict[str, Any] = {}


def _known() -> dict[str, Any]:
    if not _names:
        _names.update(_namespace())
    return _names


def _is_ufunc(node: Expression) -> bool:
    """Whether NumPy's own function does it, which knows half precision and ``casting``."""
    return isinstance(_known().get(UFUNCS.get(node.function, node.function)), np.ufunc)


def compile_source(source: str, name: str) -> Callable:
    """Compile printed code; the source stays readable as ``function.source``."""
    scope: dict[str, Any] = {}
    exec(compile(source, f"<formula {name}>", "exec"), _known(), scope)
    function = scope[name]
    function.source = source
    _names[f"{name}_kernel"] = function  # how printed code calls itself; `name` may be a ufunc's
    return function


class NumpyPrinter:
    """Prints one trace; subclasses of the same interface print other languages."""

    def __init__(self, trace: Trace, scalars: tuple[str, ...]) -> None:
        self.trace = trace
        self.scalars = set(scalars)
        self._is_scalar: dict[Expression, bool] = {}
        for node in trace.nodes:
            self._is_scalar[node] = (
                node.function == "constant"
                or (node.function == "symbol" and node.payload in self.scalars)
                or (bool(node.arguments) and all(self._is_scalar[a] for a in node.arguments))
            )

    def leaf(self, node: Expression) -> str:
        if node.function == "constant":
            text = repr(node.payload)
            return f"({text})" if text.startswith("-") else text
        return node.payload

    def infix(self, node: Expression, arguments: list[str]) -> str:
        """The value of ``node`` as an expression that allocates its result."""
        if self._is_scalar[node]:
            if node.function in INFIX:
                return INFIX[node.function].format(*arguments)
            if node.function == "pow":
                return f"({' ** '.join(arguments)})"
            if node.function == "conj":
                return f"{arguments[0]}.conjugate()"
            if node.function in ROUNDING:
                return _call(node.function, arguments)
            return f"math.{node.function}({', '.join(arguments)})"
        if node.function in INFIX:
            return INFIX[node.function].format(*arguments)
        return _call(node.function, arguments)

    def small(self) -> tuple[list[str], list[str]]:
        """Lines and result expressions of the version for small operands."""
        lines: list[str] = []
        text: dict[Expression, str] = {}
        for node in self.trace.nodes:
            if node.is_leaf:
                text[node] = self.leaf(node)
                continue
            value = self.infix(node, [text[a] for a in node.arguments])
            if self.trace.uses[node] > 1:
                name = f"v{len(lines)}"
                lines.append(f"{name} = {value}")
                value = name
            text[node] = value
        return lines, [text[o] for o in self.trace.outputs]

    def computes_with(self, array: str, first: str) -> bool:
        """Whether something is computed from ``array`` that has no part of ``first``."""
        for node in _operations(self.trace):
            symbols = self.trace.symbols(node)
            if array in symbols and first not in symbols and node.function not in NO_OUT:
                return True
        return False

    def large(self) -> tuple[list[str], list[str]]:
        """Lines and result names of the version that reuses its temporaries."""
        lines: list[str] = []
        text: dict[Expression, str] = {}
        left = dict(self.trace.uses)
        alias_of: dict[Expression, Expression] = {}
        free: list[str] = []
        count = 0
        for node in self.trace.nodes:
            if node.is_leaf:
                text[node] = self.leaf(node)
                continue
            arguments = [text[a] for a in node.arguments]
            released = []
            if node.function in SEEN_THROUGH:
                (argument,) = node.arguments
                owner = alias_of[node] = alias_of.get(argument, argument)
                left[owner] += self.trace.uses[node]
            for argument in node.arguments:
                argument = alias_of.get(argument, argument)
                left[argument] -= 1
                temporary = text[argument]
                reusable = argument.function not in COMPARISONS | NO_OUT
                if left[argument] == 0 and temporary.startswith("t") and not argument.is_leaf:
                    if reusable and not self._is_scalar[argument]:
                        released.append(temporary)
            free += [r for r in released if r not in free]
            if self._is_scalar[node]:
                text[node] = self.infix(node, arguments)
                continue
            takes_out = node.function not in COMPARISONS | NO_OUT
            if takes_out and free:
                name = free.pop()
                lines.append(_call(node.function, [*arguments, f"out={name}"]))
            else:
                name = f"t{count}"
                count += 1
                lines.append(f"{name} = {self.infix(node, arguments)}")
            text[node] = name
        return lines, [text[o] for o in self.trace.outputs]


def _call(function: str, arguments: list[str]) -> str:
    """Printed code: the call of a function of formulas."""
    if function in ("maximum", "minimum"):  # of equal zeros NumPy gives the second
        x, y, *rest = arguments
        arguments = [y, x, *rest]
    return f"{UFUNCS.get(function, function)}({', '.join(arguments)})"


def _operations(trace: Trace) -> list[Expression]:
    return [n for n in trace.nodes if not n.is_leaf]


def print_formula(name: str, formula: Formula) -> Callable:
    """The NumPy kernel of a formula; a name that ends in ``_`` writes into the first array."""
    trace = formula.trace()
    arrays, parameters = formula.arrays, ", ".join(formula.parameters)
    if name != formula.name:
        return _print_inplace(name, formula, trace, parameters)
    printer = NumpyPrinter(trace, formula.scalars)
    lines, (result,) = printer.small()
    head: list[str] = []
    body = [*lines, f"r = {result}"]
    deciding = f"({''.join(f'{a}, ' for a in formula.deciding)})"
    narrowed = f"narrow({name}_kernel, ({parameters},), {deciding})"
    operations = sum(not printer._is_scalar[n] for n in _operations(trace))
    if operations > 1:
        head = _head_of_several(name, formula, printer, narrowed)
        body = _in_blocks(printer, arrays, body)
    elif operations == 1:
        root = trace.outputs[0]
        head = _head_of_one(arrays, root, narrowed)
        if root.function in OF_BYTES and len(arrays) == 2:
            told = printer.infix(root, [f"truth({printer.leaf(a)})" for a in root.arguments])
            body = [*lines, f"r = {told} if {_are_bools(arrays)} else {result}"]
    elif result in arrays:
        body = [f"r = {result}.copy()"]
    else:
        raise ValueError(f"formula {name!r} does not depend on an array")
    apart = " or ".join(_lies_apart(array, len(arrays) == 1) for array in arrays)
    body += [
        f"if {apart}:",
        f"    r = arranged(r, *{deciding})",
        "return r if r.__class__ is ndarray else asarray(r)",
    ]
    return compile_source(_function(name, parameters, head + body), name)


def _head_of_several(
    name: str, formula: Formula, printer: NumpyPrinter, narrowed: str
) -> list[str]:
    """Printed code that prepares the operands of several operations: half precision is computed
    in another way, and numbers get the dtype of the arrays."""
    first, *others = formula.arrays
    may_be_numbers = first != "g" and len(others) == 1  # either of two operands, one at a time
    half = [f"{first}.dtype in HALF"] + [f"getattr({o}, 'dtype', None) in HALF" for o in others]
    if may_be_numbers:
        half[0] = f"getattr({first}, 'dtype', None) in HALF"
    steps = narrowed
    if formula.stepwise:
        _known()[f"{name}_steps"] = stepwise(formula)
        steps = f"{narrowed.removesuffix(')')}, {name}_steps)"
    head = [f"if {' or '.join(half)}: return {steps}"]
    if may_be_numbers:
        head.append(_as_array(first, others[0]))
    chooses = printer.trace.outputs[0].function == "where"  # maybe between numbers alone
    return head + [
        _as_array(o, first) for o in others if chooses or printer.computes_with(o, first)
    ]


def _in_blocks(printer: NumpyPrinter, arrays: tuple[str, ...], small: list[str]) -> list[str]:
    """Printed code that computes large arrays of floats with reused temporaries, and all others as
    ``small`` does: the temporaries of integers and complex numbers differ in dtype."""
    first, *others = arrays
    same = "".join(
        f" and ({o}.__class__ is not ndarray or {first}.shape == {o}.shape)" for o in others
    )
    large, (temporary,) = printer.large()
    return [
        f"if {first}.size >= {BLOCK} and {first}.dtype.kind == 'f'{same}:",
        *(f"    {line}" for line in [*large, f"r = {temporary}"]),
        "else:",
        *(f"    {line}" for line in small),
    ]


def _head_of_one(arrays: tuple[str, ...], root: Expression, narrowed: str) -> list[str]:
    """Printed code that computes one operation in another way where NumPy's half precision differs
    from torch's."""
    if len(arrays) == 1:
        # NumPy keeps half precision only in a ufunc of one argument.
        if len(root.arguments) == 1 and _is_ufunc(root):
            return []
        return [f"if {arrays[0]}.dtype in HALF: return {narrowed}"]
    if len(arrays) == 2:
        # A number is not rounded to half precision before it is used.
        x, y = arrays
        kind = f"({x} if {x}.__class__ is ndarray else {y}).dtype in HALF"
        # And of equal zeros NumPy gives another one in half precision.
        differ = f"{x}.__class__ is not {y}.__class__ and "
        is_extreme = root.function in ("maximum", "minimum")
        return [f"if {'' if is_extreme else differ}{kind}:", f"    return {narrowed}"]
    head = []
    if root.function == "where":
        x, y = arrays[-2:]
        for number, array in ((x, y), (y, x)):  # a number makes NumPy widen bfloat16
            head.append(f"if {array}.__class__ is ndarray and {array}.dtype in HALF:")
            head.append(f"    {_as_array(number, array)}")
    return head


def _are_bools(arrays: tuple[str, ...]) -> str:
    """Printed code: whether two operands, one maybe a number, may both be of bools."""
    x, y = arrays
    return f"({x} if {x}.__class__ is ndarray else {y}).dtype.kind == 'b'"


def _lies_apart(operand: str, is_array: bool) -> str:
    """Printed code: whether an operand is an array whose elements do not lie by rows. Of those that
    do NumPy's results do too; of others it decides in another way than torch."""
    test = f"not {operand}.flags.c_contiguous"
    return test if is_array else f"{operand}.__class__ is ndarray and {test}"


def _as_array(number: str, other: str) -> str:
    """Printed code that takes a number into the dtype of another operand; what NumPy computes
    with the number alone would be double precision, and would make the result so."""
    return f"if {number}.__class__ is not ndarray: {number} = asarray({number}, {other}.dtype)"


def _print_inplace(name: str, formula: Formula, trace: Trace, parameters: str) -> Callable:
    first = formula.arrays[0]
    operations = _operations(trace)
    root = trace.outputs[0]
    print_formula(formula.name, formula)
    value = f"{formula.name}_kernel({parameters})"
    if len(operations) == 1 and _is_ufunc(root) and root.function not in COMPARISONS:
        printer = NumpyPrinter(trace, formula.scalars)
        given = [*(printer.leaf(a) for a in root.arguments), f"out={first}", "casting='unsafe'"]
        body = [_call(root.function, given), f"return {first}"]
        numbers = [f"{a}.__class__ is not ndarray" for a in formula.arrays[1:]]
        if all(a.function == "symbol" for a in root.arguments) and not formula.scalars:
            half = f"if {first}.dtype in HALF and ({' or '.join(numbers)}):" if numbers else ""
        else:
            half = f"if {first}.dtype in HALF:"
        if root.function in OF_BYTES and numbers:
            half = f"{half[:-1]} or {first}.dtype.kind == 'b':"
        # A number is not rounded to half precision before it is used.
        head = [half, f"    copyto({first}, {value}, casting='unsafe')", f"    return {first}"]
        body = [*(head if half else ()), *body]
    else:
        body = [f"copyto({first}, {value}, casting='unsafe')", f"return {first}"]
    return compile_source(_function(name, parameters, body), name)


def _function(name: str, parameters: str, body: list[str]) -> str:
    return "\n".join([f"def {name}({parameters}):", *(f"    {line}" for line in body)]) + "\n"
