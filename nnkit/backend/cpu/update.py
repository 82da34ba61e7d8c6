"""Prints an optimizer's update as NumPy code.

One call updates a whole parameter group: a loop over the lists of arrays. Every statement writes
into an array that is free by then, the parameter and its state themselves wherever nothing reads
their old value any more. Large arrays go through in blocks, so that the temporaries stay in the
cache; numbers that depend on the step count are computed once per array, in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from nnkit.backend.cpu import native
from nnkit.backend.cpu.printer import COMPARISONS, NO_OUT, UFUNCS, NumpyPrinter, compile_source
from nnkit.backend.dtype import HALF
from nnkit.backend.formula import Expression, Update

BLOCK = 16384  # elements of one block: 64 KiB of float32


def print_update(update: Update) -> Callable:
    """The kernel of an update; the variant for its flags is printed on first use."""
    variants: dict[tuple, Callable] = {}
    arrays = len(update.arrays)
    scalars = arrays + len(update.scalars)

    def made(flags: tuple) -> Callable:
        if flags not in variants:
            printed = _Variant(update, flags)
            variants[flags] = native.bind_update(update.name, printed.trace, printed.loop())
        return variants[flags]

    def kernel(*arguments: Any) -> None:
        flags = arguments[scalars:]
        try:
            variant = variants[flags]
        except (KeyError, TypeError):  # not printed yet, or asked for by what is no bool
            variant = made(tuple(map(bool, flags)))
        variant(arguments[:arrays], arguments[arrays:scalars])

    kernel.__name__ = update.name
    return kernel


class _Variant:
    """The code of an update for one choice of its flags, and for one dtype if that is of half
    precision: then arrays are widened, and rounded where the formula says so."""

    def __init__(self, update: Update, flags: tuple, half: str | None = None) -> None:
        self.update = update
        self.flags = flags
        self.trace, self.targets = update.variant(flags, half)
        self.printer = NumpyPrinter(self.trace, update.scalars + update.counters)
        used = {s for o in self.trace.outputs for s in self.trace.symbols(o)} | set(self.targets)
        self.arrays = [a for a in update.arrays if a in used and a not in update.counters]
        self.counters = [c for c in update.counters if c in used]
        self.numbers = [n for n in self.trace.nodes if self._number(n)]

    def _number(self, node: Expression) -> bool:
        return not node.is_leaf and self.printer._is_scalar[node]

    def loop(self) -> Callable:
        """The function of lists of arrays and scalars."""
        update = self.update
        positions = [update.arrays.index(a) for a in self.arrays]
        counters = [update.arrays.index(c) for c in update.counters]
        steps, body = self.count(), self.body()
        halves: dict[str, tuple] = {}

        def of_half(name: str) -> tuple:
            if name not in halves:
                variant = _Variant(update, self.flags, name)
                halves[name] = variant.count(), variant.body()
            return halves[name]

        def run(lists: tuple, scalars: tuple) -> None:
            update.check(lists)  # the compiled kernel has declined a group that does not fit
            numbers: Any = steps(*scalars) if not counters else None
            for k, arrays in enumerate(zip(*[lists[i] for i in positions], strict=True)):
                counts = [lists[i][k] for i in counters]
                for count in counts:
                    count[...] += 1
                given = (*[count.item() for count in counts], *scalars)
                first = arrays[0]
                if first.dtype in HALF:
                    narrow_steps, narrow_body = of_half(first.dtype.name)
                    _apply_widened(narrow_body, arrays, narrow_steps(*given))
                    continue
                if counters:
                    numbers = steps(*given)
                if first.size <= BLOCK and first.ndim:
                    body(*arrays, *numbers)
                else:
                    _apply(body, arrays, numbers)

        return run

    def count(self) -> Callable:
        """The function that computes every number the statements need."""
        text: dict[Expression, str] = {}
        lines = []
        for node in self.trace.nodes:
            if node.is_leaf:
                text[node] = self.printer.leaf(node)
            elif self.printer._is_scalar[node]:
                name = text[node] = f"n{len(lines)}"
                operands = [text[a] for a in node.arguments]
                lines.append(f"{name} = {self.printer.infix(node, operands)}")
        names = [text[n] for n in self.numbers]
        parameters = ", ".join(self.update.counters + self.update.scalars)
        everything = ", ".join([*self.update.scalars, *names])
        lines.append(f"return ({everything}{',' if everything else ''})")
        source = f"def count({parameters}):\n" + "".join(f"    {line}\n" for line in lines)
        return compile_source(source, "count")

    def body(self) -> Callable:
        """The statements for one block of each array."""
        printer = self.printer
        text: dict[Expression, str] = {n: f"n{i}" for i, n in enumerate(self.numbers)}
        left = dict(self.trace.uses)
        goes_to: dict[Expression, str] = {}
        late: list[tuple[str, Expression]] = []
        for target, output in zip(self.targets, self.trace.outputs, strict=True):
            if output.is_leaf or output in goes_to or output.function in COMPARISONS | NO_OUT:
                late.append((target, output))
            else:
                goes_to[output] = target
        symbols = {n.payload: n for n in self.trace.nodes if n.function == "symbol"}
        lines: list[str] = []
        free: list[str] = []
        temporaries = 0
        for node in self.trace.nodes:
            if node.is_leaf:
                text.setdefault(node, printer.leaf(node))
                continue
            if printer._is_scalar[node]:
                continue
            operands = [text[a] for a in node.arguments]
            for argument in node.arguments:
                left[argument] -= 1
                done = left[argument] == 0 and argument.function not in COMPARISONS | NO_OUT
                done = done and text[argument].startswith("t")
                if done and not argument.is_leaf and text[argument] not in free:
                    free.append(text[argument])
            target = goes_to.get(node)
            old = symbols.get(target) if target else None
            if target and (old is None or left[old] == 0):
                name = target
            elif node.function not in COMPARISONS | NO_OUT and free:
                name = free.pop()
                if target:
                    late.append((target, node))
            else:
                name = f"t{temporaries}"
                temporaries += 1
                lines.append(f"{name} = {printer.infix(node, operands)}")
                text[node] = name
                if target:
                    late.append((target, node))
                    left[node] += 1
                continue
            call = UFUNCS.get(node.function, node.function)
            lines.append(f"{call}({', '.join(operands)}, out={name})")
            text[node] = name
            if name != target and target:
                left[node] += 1
        lines += [f"copyto({target}, {text[output]})" for target, output in late]
        numbers = [f"n{i}" for i in range(len(self.numbers))]
        parameters = ", ".join([*self.arrays, *self.update.scalars, *numbers])
        source = f"def body({parameters}):\n" + "".join(f"    {line}\n" for line in lines)
        return compile_source(source, "body")


def _apply_widened(body: Callable, arrays: tuple, numbers: Any) -> None:
    """Run ``body`` on copies in float32 of arrays in half precision, and round what it wrote."""
    wide = tuple(a.astype(np.float32) for a in arrays)
    _apply(body, wide, numbers)
    for narrow, result in zip(arrays, wide, strict=True):
        narrow[...] = result


def _apply(body: Callable, arrays: tuple, numbers: Any) -> None:
    """Run ``body`` on the arrays of one parameter: whole, or in blocks."""
    first = arrays[0]
    if first.ndim == 0:
        body(*[a.reshape(1) for a in arrays], *numbers)
    elif first.size <= BLOCK or not all(a.flags.c_contiguous for a in arrays):
        body(*arrays, *numbers)
    else:
        flat = [a.reshape(-1) for a in arrays]
        for start in range(0, first.size, BLOCK):
            body(*[a[start : start + BLOCK] for a in flat], *numbers)
