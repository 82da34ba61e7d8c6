"""Prints formulas as CUDA C++ and launches them.

A formula becomes a struct with one function; the kernels around it are templates of
kernels/elementwise.cuh. Operands may have any layout: those that lie alike in memory are read in
wide loads, others along their strides. Half precision is computed in float32 and rounded once.
Complex operands are left to CuPy's own functions (`nnkit.backend.cuda.complex`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from nnkit.backend.c_source import INFIX, Statements
from nnkit.backend.cuda.differences import address, empty, is_array, layout
from nnkit.backend.cuda.launch import (
    MOST_DIMENSIONS,
    THREADS,
    Plans,
    blocks_for,
    element_strides,
    fold,
    inverse,
    pack_width,
    vector_width,
)
from nnkit.backend.cuda.source import TYPES, Kernel, current_machine, expanded
from nnkit.backend.dtype import HALF
from nnkit.backend.formula import SEEN_THROUGH, Expression, Formula, Trace, Update
from nnkit.backend.memory import order_of_result

F4, F8, BOOL = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.bool_)
BITWISE = {
    "bitwise_and": "{} & {}", "bitwise_or": "{} | {}", "bitwise_xor": "{} ^ {}",
}  # fmt: skip
# Functions whose value on integers is an integer; the others make them double, as in NumPy.
OF_INTEGERS = frozenset(
    "symbol constant add sub mul neg abs sign sgn floor ceil trunc round frac remainder fmod"
    " div_floor div_trunc maximum minimum fmax fmin heaviside pow where zeros_like conj real lt"
    " le gt ge eq ne isnan isinf isfinite signbit logical_not logical_and logical_or logical_xor"
    " bitwise_and bitwise_or bitwise_xor invert left_shift right_shift".split()
)


class CudaStatements(Statements):
    """The statements of C++, with what integers and CUDA's `pow` add."""

    def _operation(self, node: Expression, arguments: list[str], number: str) -> str:
        if node.function in BITWISE:
            return f"T({BITWISE[node.function].format(*arguments)})"
        if node.function in ("invert", "left_shift", "right_shift"):
            return f"math::{node.function}({', '.join(arguments)})"
        if node.function in ("float16", "bfloat16"):
            return f"{number}(float({node.function}({arguments[0]})))"
        if number == "T" and node.function in ("add", "sub", "mul", "neg"):
            # C++ computes small integers in int.
            return f"T({INFIX[node.function].format(*arguments)})"
        return super()._operation(node, arguments, number)

    def _power(self, node: Expression, arguments: list[str], number: str) -> str:
        exponent = node.arguments[1]
        if number == "T" and exponent.function == "constant":
            simple = {2: "{0} * {0}", 0.5: "math::sqrt({0})", -1: "T(1) / {0}"}
            if exponent.payload in simple:
                return simple[exponent.payload].format(arguments[0])
        return f"math::power({', '.join(arguments)})"


def print_struct(
    trace: Trace, arrays: tuple, numbers: tuple, scalars: tuple, dtype: str, name: str = "Formula"
) -> str:
    """The struct of a formula that computes in ``dtype`` (C++), with the operands of ``arrays`` as
    arguments and of ``numbers`` as members.

    Raises:
        Unsupported: CUDA has no counterpart of one of its functions.
    """
    printed = CudaStatements(trace, scalars)
    whole = dtype in ("nnkit::int64", "int")
    members = [f"{'int64' if whole else 'double'} {n}_;" for n in numbers]
    members += [f"double {s};" for s in scalars] or ([] if numbers else ["double nothing;"])
    body = [f"[[maybe_unused]] const T {n} = T({n}_);" for n in numbers]
    body += printed.constants + printed.lines + [f"return {printed.results[0]};"]
    result = "bool" if printed.is_predicate[0] else "T"
    parameters = ", ".join(f"[[maybe_unused]] T {a}" for a in arrays)
    return (
        f"namespace nnkit {{\nstruct {name} {{\n"
        f"    using T = {dtype};\n"
        + "".join(f"    {m}\n" for m in members)
        + f"    __device__ {result} operator()({parameters}) const {{\n"
        + "".join(f"        {line}\n" for line in body)
        + "    }\n};\n}  // namespace nnkit\n"
    )


class Variant:
    """A formula for certain dtypes of its operands, None for one that is a number."""

    def __init__(self, formula: Formula, dtypes: tuple, kinds: tuple, target: Any) -> None:
        trace = formula.trace()
        named = list(zip(formula.arrays, dtypes))
        self.arrays = tuple(n for n, d in named if d is not None)
        self.dtypes = tuple(d for d in dtypes if d is not None)
        self.deciding = [self.arrays.index(a) for a in formula.deciding if a in self.arrays]
        numbers = tuple(n for n, d in named if d is None)
        self.computed = computing_dtype(trace, self.dtypes, kinds)
        whole = self.computed.kind in "iu" and self.computed.itemsize >= 4
        member = ctypes.c_int64 if whole else ctypes.c_double
        fields = [(n, member) for n in numbers] + [(s, ctypes.c_double) for s in formula.scalars]
        # Which arguments the members are.
        positions = [i for i, d in enumerate(dtypes) if d is None]
        positions += range(len(dtypes), len(dtypes) + len(formula.scalars))
        content = {"_fields_": fields or _NOTHING, "positions": tuple(positions)}
        self.struct: Any = type("Formula", (ctypes.Structure,), content)
        self.name = formula.name
        text = print_struct(trace, self.arrays, numbers, formula.scalars, TYPES[self.computed])
        half = next((d for d in self.dtypes if d in HALF), None)
        predicate = "__device__ bool operator()" in text
        self.result = target or (BOOL if predicate else half or self.computed)
        self.text = expanded("elementwise.cuh") + text
        self._kernels: dict[tuple, Kernel] = {}

    def linear(self, width: int, same: tuple[bool, ...]) -> Kernel:
        """The kernel for operands that lie in memory as the result does, or are one element."""
        operands = self._operands(same)
        return self._kernel("elementwise_linear", TYPES[self.result], str(width), *operands)

    def strided(self, wide: bool, width: int, same: tuple[bool, ...]) -> Kernel:
        """The one for any strides, by packs of ``width``, within which an operand may be the
        same; ``wide``: counts need 64 bits."""
        index = "nnkit::int64" if wide else "nnkit::uint32"
        result, operands = TYPES[self.result], self._operands(same)
        return self._kernel("elementwise_strided", result, index, str(width), *operands)

    def _operands(self, same: tuple[bool, ...]) -> list[str]:
        return [f"nnkit::{'Same' if s else 'Each'}<{TYPES[d]}>" for s, d in zip(same, self.dtypes)]

    def _kernel(self, *name: str) -> Kernel:
        found = self._kernels.get(name)
        if found is None:
            function, *arguments = name
            full = f"nnkit::{function}<nnkit::Formula, {', '.join(arguments)}>"
            found = Kernel(self.text, full, f"{self.name}.cu", ("--fmad=false",))
            self._kernels[name] = found
        return found


_NOTHING = [("nothing", ctypes.c_double)]


def computing_dtype(trace: Trace, dtypes: tuple, kinds: tuple) -> np.dtype:
    """The dtype of the computation: float32 for half precision, NumPy's promotion else."""
    wide = [F4 if d in HALF else d for d in dtypes]
    common = np.result_type(*wide, *(k(0) for k in kinds))
    if common.kind in "iub" and any(_is_real(n) for n in trace.nodes):
        return F8
    return common


def _is_real(node: Expression) -> bool:
    """Whether integers cannot hold the value: inf is not the bool that it would become."""
    if node.function == "constant":
        return isinstance(node.payload, float) and not node.payload.is_integer()
    return node.function not in OF_INTEGERS


@cache
def walk_type(arrays: int) -> Any:
    """`nnkit::Walk<arrays>` of elementwise.cuh."""
    sizes = ctypes.c_int64 * MOST_DIMENSIONS
    fields = [("dimensions", ctypes.c_int), ("unused", ctypes.c_int), ("sizes", sizes),
              ("strides", sizes * arrays)]  # fmt: skip
    return type("Walk", (ctypes.Structure,), {"_fields_": fields})


def numbers_of(formula: Formula) -> tuple[int, int]:
    """From which to which (without it) of its arguments numbers vary that need no other kernel."""
    arrays, last = len(formula.arrays), len(formula.arrays) + len(formula.scalars)
    return (arrays, last) if isinstance(formula, Update) else (0, last)


def print_formula(name: str, formula: Formula) -> Callable:
    """The CUDA kernel of a formula; a name that ends in ``_`` writes into the first array."""
    if isinstance(formula, Update):
        from nnkit.backend.cuda.update import print_update

        return print_update(formula)
    in_place = name != formula.name
    if formula.name in SEEN_THROUGH and not in_place:
        return lambda x: interpreted(formula, (x,), False) if x.dtype.kind == "c" else x
    count = len(formula.arrays)
    variants: dict[tuple, Variant] = {}
    plans = Plans()

    def plan_for(arguments: tuple) -> Plan | None:
        operands = arguments[:count]
        arrays = [a for a in operands if is_array(a)]
        dtypes = tuple(a.dtype if is_array(a) else None for a in operands)
        kinds = tuple(type(a) for a in operands if not is_array(a))
        variant = variants.get((dtypes, kinds))
        if variant is None:
            if any(d is not None and d.kind == "c" for d in dtypes) or complex in kinds:
                return None
            target = dtypes[0] if in_place else None
            variant = variants[dtypes, kinds] = Variant(formula, dtypes, kinds, target)
        return Plan(variant, arrays, arguments, in_place)

    def run(*arguments: Any) -> Any:
        key = tuple([layout(a) for a in arguments])
        plan = plans.get(key)
        if plan is None:
            plan = plan_for(arguments)
            if plan is None:
                return interpreted(formula, arguments, in_place)
            plans.keep(key, plan)
        return plan(arguments)

    run.__name__ = name
    return run


def interpreted(formula: Formula, arguments: tuple, in_place: bool) -> Any:
    """A formula of complex numbers, one function of CuPy's after the other."""
    from nnkit.backend.cuda.complex import evaluate

    value = evaluate(formula, arguments)
    if not in_place:
        return value
    first = arguments[0]
    first[...] = value if first.dtype.kind == "c" else value.real
    return first


class Plan:
    """A call of a formula for operands of certain layouts; only addresses and numbers change."""

    __slots__ = ("arrays", "axes", "constants", "in_place", "numbers", "shape", "variant", "work")

    def __init__(self, variant: Variant, arrays: list, arguments: tuple, in_place: bool) -> None:
        self.variant = variant
        self.in_place = in_place
        self.arrays = [i for i, a in enumerate(arguments) if is_array(a)][: len(arrays)]
        self.numbers = [i for i in range(len(arguments)) if i not in self.arrays]
        self.constants = None if self.numbers else variant.struct()
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        axes = order_for(shape, arrays, [arrays[i] for i in variant.deciding])
        self.shape = shape if axes is None else tuple(shape[axis] for axis in axes)
        self.axes = None if axes is None else inverse(axes)
        out = arrays[0] if in_place else self.empty(arrays[0])
        self.work = work_for(variant, arrays, out) if out.size else None

    def empty(self, like: Any) -> Any:
        out = like.__class__(self.shape, self.variant.result)
        return out if self.axes is None else out.transpose(self.axes)

    def __call__(self, arguments: tuple) -> Any:
        arrays = [arguments[i] for i in self.arrays]
        out = arrays[0] if self.in_place else self.empty(arrays[0])
        if self.work is not None:
            constants = self.constants
            if constants is None:
                constants = self.variant.struct(*[arguments[i] for i in self.numbers])
            self.work(constants, out, arrays)
        return out


class Work(NamedTuple):
    """A launch for operands of certain layouts."""

    kernel: Kernel
    blocks: tuple[int]
    counts: tuple  # the arguments between the formula and the arrays

    def __call__(self, formula: Any, out: Any, arrays: list) -> None:
        self.kernel(self.blocks, (THREADS,), (formula, *self.counts, out, *arrays))


def work_for(variant: Variant, arrays: list, out: Any) -> Work:
    processors = current_machine().processors
    shape, count = out.shape, out.size
    sizes: tuple[int, ...]
    walks: list[tuple[int, ...]]
    if out.flags.c_contiguous and all(
        a.shape == shape and a.flags.c_contiguous or a.size == 1 for a in arrays
    ):
        sizes = (count,)
        walks = [(1,), *((int(a.shape == shape and count > 1),) for a in arrays)]
    else:
        strides = [element_strides(a.shape, a.strides, a.itemsize, shape) for a in (out, *arrays)]
        sizes, walks = fold(shape, strides)
    if len(sizes) <= 1 and all(w in ((), (1,), (0,)) for w in walks):
        same = tuple(w != (1,) for w in walks[1:])
        whole = [(address(out), out.itemsize)]
        whole += [(address(a), a.itemsize) for a, s in zip(arrays, same) if not s]
        width = vector_width(count, whole)
        blocks = blocks_for(-(-count // width), THREADS, processors)
        return Work(variant.linear(width, same), (blocks,), (np.int64(count),))
    if len(sizes) > MOST_DIMENSIONS:
        raise RuntimeError(
            f"{variant.name}(): operands that lie differently in memory may have at most "
            f"{MOST_DIMENSIONS} dimensions on CUDA, got {out.ndim}: call contiguous() first"
        )
    operands = [(address(a), a.itemsize) for a in (out, *arrays)]
    width, same = pack_width(sizes, walks, operands)
    packs = count // width
    walk = walk_type(len(arrays) + 1)(dimensions=len(sizes))
    walk.sizes[: len(sizes)] = sizes
    walk.sizes[len(sizes) - 1] //= width
    for k, steps in enumerate(walks):
        walk.strides[k][: len(steps)] = (*steps[:-1], steps[-1] * width)
    kernel = variant.strided(packs >= 1 << 31, width, same[1:])
    blocks = blocks_for(packs, THREADS, processors)
    return Work(kernel, (blocks,), (np.int64(packs), walk))


def order_for(shape: tuple, arrays: list, deciding: list) -> tuple[int, ...] | None:
    """The order of axes in memory, torch's, of what is computed from each element of some arrays,
    as some of them decide; None where it is that of the axes."""
    by_rows = all(a.flags.c_contiguous for a in arrays)
    return None if by_rows else order_of_result(shape, deciding)


def empty_for(shape: tuple, dtype: np.dtype, like: Any) -> Any:
    """Memory for what is computed from each element of an array, in torch's order."""
    axes = order_for(shape, [like], [like])
    if axes is None:
        return empty(shape, dtype, like)
    return empty(tuple(shape[axis] for axis in axes), dtype, like).transpose(inverse(axes))
