"""Prints formulas and updates as C++ files: what `setup.py` compiles beside the kernels."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from nnkit.backend.c_source import Statements, Unsupported, fingerprint
from nnkit.backend.formula import EXACT, Expression, Formula, Trace, Update

FORMULAS_OF_FILE = 40
MOST_OPERANDS = 8  # formula.h: most_operands, arrays and scalars
MOST_ARRAYS, MOST_SCALARS = 10, 16  # update.h: most_arrays_of_update, most_scalars_of_update


# Functions that are computed faster for blocks of numbers within a bound: `math::with_circle`,
# `math::with_inverse` and `math::with_gamma` find those.
BOUNDED = {
    "sin": "circle", "cos": "circle", "tan": "circle", "erfinv": "inverse", "lgamma": "gamma",
    "digamma": "gamma",
}  # fmt: skip
# Functions whose result in half precision is not that of float32, rounded.
APART_IN_HALVES = frozenset(("div_trunc", "nextafter"))


class LoopStatements(Statements):
    """Statements of a loop.

    ``bounded`` is the array whose elements are the arguments of all `BOUNDED` functions, if there
    is one and they are of one ``family``. Where it is ``stepwise`` each operation is rounded to the
    type ``Half``, which may be void.
    """

    def __init__(self, trace: Trace, scalars: tuple[str, ...], stepwise: bool = False) -> None:
        self.stepwise = stepwise
        nodes = [n for n in trace.nodes if n.function in BOUNDED]
        found = {(n.arguments[0], BOUNDED[n.function]) for n in nodes}
        names = {x.payload if x.function == "symbol" else None for x, _ in found} - {*scalars}
        self.bounded = names.pop() if len(found) == len(names) == 1 else None
        self.family = BOUNDED[nodes[0].function] if self.bounded else ""
        super().__init__(trace, scalars)

    def _operation(self, node: Expression, arguments: list[str], number: str) -> str:
        if self.bounded and node.function in BOUNDED:
            return f"{self.family}.{node.function}({self.bounded})"
        return super()._operation(node, arguments, number)

    def _value(self, node: Expression) -> str:
        value = super()._value(node)
        is_exact = node.function in EXACT and not any(self._is_scalar[a] for a in node.arguments)
        if not self.stepwise or is_exact or self._is_bool[node]:
            return value
        return f"rounded<Half>({value})"

    def _power(self, node: Expression, arguments: list[str], number: str) -> str:
        power = super()._power(node, arguments, number)
        name, scalar = power.partition("(")[0], self._text[node.arguments[1]]
        if not self.stepwise or name not in self.powers:
            return power
        return f"math::power_in_steps<Half>({name}, {scalar}, {arguments[0]})"


def print_files(formulas: Iterable[Formula]) -> dict[str, str]:
    """C++ files by name for all formulas that C++ can express."""
    files = {}
    for header, texts in (
        ("formula", [_formula(f) for f in formulas if not isinstance(f, Update)]),
        ("update", [v for f in formulas if isinstance(f, Update) for v in _update(f)]),
    ):
        printed = [t for t in texts if t]
        for start in range(0, len(printed), FORMULAS_OF_FILE):
            name = f"printed_{header}_{start // FORMULAS_OF_FILE}.cpp"
            files[name] = _file(header, printed[start : start + FORMULAS_OF_FILE])
    return files


def _file(header: str, printed: list[str]) -> str:
    return (
        "// Printed by nnkit.backend.cpu.native.printer from the formulas in Python.\n"
        f'#include "{header}.h"\n#include "math.h"\n#include "power.h"\n\n'
        "namespace nnkit {\nnamespace {\n\n" + "\n".join(printed) + "\n}  // namespace\n"
        "}  // namespace nnkit\n"
    )


def _formula(formula: Formula) -> str | None:
    try:
        trace = formula.trace()
        printed = LoopStatements(trace, formula.scalars, formula.stepwise)
    except (Unsupported, RuntimeError):  # RuntimeError: a derivative that there is not
        return None
    if trace.outputs[0].function == "conj":
        return None  # NumPy gives a real array back as it is
    if len(trace.outputs) != 1 or max(map(len, (formula.arrays, formula.scalars))) > MOST_OPERANDS:
        return None
    loop = f"loop_{formula.name}"
    lines = [
        f"[[maybe_unused]] const T* const {a}_ = operands[{i}];"
        for i, a in enumerate(formula.arrays)
    ]
    lines += _scalars(formula.scalars) + printed.constants
    lines += _loop(
        printed,
        [f"[[maybe_unused]] const T {a} = {a}_[i];" for a in formula.arrays],
        [f"result[i] = Result({printed.results[0]});"],
    )
    is_predicate = printed.is_predicate[0]
    is_apart = any(node.function in APART_IN_HALVES for node in trace.nodes)
    refuses_halves = str(is_apart or formula.stepwise and is_predicate).lower()
    loops = [f"{loop}<{t}, {t}>" for t in ("float", "double")]
    if is_predicate:
        loops += [f"{loop}<{t}, bool>" for t in ("float", "double")]
    elif formula.stepwise:
        loops += ["nullptr", "nullptr"]
        loops += [f"{loop}<float, float, {half}>" for half in ("Float16", "BFloat16")]
    deciding = "".join(str(formula.arrays.index(a)) for a in formula.deciding)
    return (
        "template <class T, class Result, class Half = void>\n"
        f"void {loop}([[maybe_unused]] const T* const* operands,\n"
        "    [[maybe_unused]] const double* scalars, Result* __restrict result, Index count) {\n"
        + _indented(lines)
        + "}\n"
        f'const FormulaRegistration register_{formula.name}({{"{formula.name}", '
        f"{fingerprint(trace)}u, {len(formula.arrays)}, {len(formula.scalars)},\n"
        f'    "{deciding}", {refuses_halves}, {max(1, printed.cost)}, {", ".join(loops)}}});\n'
    )


def _update(update: Update) -> Iterable[str | None]:
    """A function for each choice of the flags; choices with the same trace share it."""
    seen: dict[int, str] = {}
    for values in product((False, True), repeat=len(update.flags)):
        trace, targets = update.variant(values)
        mark = fingerprint(trace)
        if mark in seen:
            continue
        seen[mark] = ""
        yield _variant(update, trace, targets, mark)


def _variant(update: Update, trace, targets: tuple[str, ...], mark: int) -> str | None:
    scalars = update.counters + update.scalars
    try:
        printed = LoopStatements(trace, scalars)
    except Unsupported:
        return None
    used = set().union(*(trace.symbols(o) for o in trace.outputs)) | set(targets)
    arrays = [a for a in update.arrays if a not in update.counters]
    if len(arrays) > MOST_ARRAYS or len(scalars) > MOST_SCALARS:
        return None
    loop = f"loop_{update.name}_{mark}"
    lines = [f"T* const {a}_ = arrays[{i}];" for i, a in enumerate(arrays) if a in used]
    lines += _scalars(scalars) + printed.constants
    lines += _loop(
        printed,
        [f"[[maybe_unused]] const T {a} = {a}_[i];" for a in arrays if a in used],
        [f"{t}_[i] = {r};" for t, r in zip(targets, printed.results)],
    )
    needs = "".join("1" if a in used else "0" for a in arrays)
    writes = "".join("1" if a in targets else "0" for a in arrays)
    counts = "".join("1" if a in update.counters else "0" for a in update.arrays)
    return (
        "template <class T>\n"
        f"void {loop}(T* const* arrays, [[maybe_unused]] const double* scalars, Index count) {{\n"
        + _indented(lines)
        + "}\n"
        f'const UpdateRegistration register_{update.name}_{mark}({{"{update.name}", {mark}u,\n'
        f'    "{counts}", "{needs}", "{writes}", {len(update.scalars)}, '
        f"{max(1, printed.cost)}, {loop}<float>, {loop}<double>}});\n"
    )


def _scalars(names: tuple[str, ...]) -> list[str]:
    return [f"[[maybe_unused]] const double {n} = scalars[{i}];" for i, n in enumerate(names)]


def _loop(printed: LoopStatements, reads: list[str], writes: list[str]) -> list[str]:
    """The loop over the elements, inside one function for each exponent that is a scalar, and for
    the functions that are faster within a bound.
    """
    start, stop = ("start", "stop") if printed.bounded else ("0", "count")
    # The arrays of an element are different ones, or the very same: nothing is carried over.
    loop = ["#pragma GCC ivdep", f"for (Index i = {start}; i < {stop}; ++i) {{"]
    loop += [f"    {line}" for line in [*reads, *printed.lines, *writes]] + ["}"]
    heads = [f"with_power<T>({e}, [&](auto {name}) {{" for name, e in printed.powers.items()]
    if printed.bounded:
        arguments = f"auto {printed.family}, Index start, Index stop"
        heads.append(f"with_{printed.family}({printed.bounded}_, count, [&]({arguments}) {{")
    for head in heads:
        loop = [f"math::{head}", *(f"    {line}" for line in loop), "});"]
    return loop


def _indented(lines: list[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)
