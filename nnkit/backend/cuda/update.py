"""Prints optimizers' updates as CUDA C++: one launch for a whole parameter group.

With counters of steps a second, tiny launch raises them first, so that no block reads a count that
another one is changing. Everything stays on the GPU: an update can be captured in a CUDA graph.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from nnkit.backend.cuda.creation import copy_
from nnkit.backend.cuda.differences import address, contiguous
from nnkit.backend.cuda.printer import CudaStatements
from nnkit.backend.cuda.source import TYPES, Kernel, current_machine, expanded
from nnkit.backend.dtype import HALF
from nnkit.backend.formula import Update

CHUNK = 4096  # update_chunk of kernels/update.cuh
SIZES = (16, 64, 384)  # tensors that a table may hold; the smallest that is enough is taken


class UpdateVariant:
    """An update for certain values of its flags and one dtype of its arrays."""

    def __init__(self, update: Update, flags: tuple, dtype: np.dtype) -> None:
        trace, targets = update.variant(flags, dtype.name if dtype in HALF else None)
        printed = CudaStatements(trace, update.scalars + update.counters)
        used = set().union(*(trace.symbols(o) for o in trace.outputs)) | set(targets)
        self.update = update
        self.dtype = dtype
        self.names = [a for a in update.arrays if a in used and a not in update.counters]
        self.writes = [n in targets for n in self.names]
        # A counter is raised whether the formula reads it or not.
        self.positions = [update.arrays.index(n) for n in (*self.names, *update.counters)]
        fields = [(s, ctypes.c_double) for s in update.scalars]
        first = len(update.arrays)
        positions = tuple(range(first, first + len(fields)))
        content = {"_fields_": fields, "positions": positions}
        self.struct: Any = type("Update", (ctypes.Structure,), content)
        self.text = expanded("update.cuh") + self._struct(printed, targets)

    def _struct(self, printed: CudaStatements, targets: tuple) -> str:
        counters, count = self.update.counters, len(printed.constants)
        computed = "float" if self.dtype in HALF else TYPES[self.dtype]
        known = [
            f"[[maybe_unused]] const double {c} = numbers[{count + i}];"
            for i, c in enumerate(counters)
        ]
        counting = [*known, *printed.constants]
        counting += [f"numbers[{i}] = n{i};" for i in range(count)]
        applying = known + [
            f"[[maybe_unused]] const double n{i} = numbers[{i}];" for i in range(count)
        ]
        applying += [
            f"[[maybe_unused]] const T {n} = values[{i}];" for i, n in enumerate(self.names)
        ]
        applying += printed.lines
        applying += [
            f"values[{self.names.index(t)}] = {r};" for t, r in zip(targets, printed.results)
        ]
        written = " || ".join(f"a == {i}" for i, w in enumerate(self.writes) if w)
        members = "".join(f"    double {s};\n" for s in self.update.scalars)
        return (
            "namespace nnkit {\nstruct Update {\n"
            f"    using T = {computed};\n"
            f"    static constexpr int arrays = {len(self.names)}, counters = {len(counters)},\n"
            f"                         numbers = {count};\n"
            f"{members}"
            f"    __device__ static constexpr bool writes(int a) {{ return {written}; }}\n"
            "    __device__ void count(double* numbers) const {\n"
            + "".join(f"        {line}\n" for line in counting)
            + "    }\n    __device__ void apply(T* values, const double* numbers) const {\n"
            + "".join(f"        {line}\n" for line in applying)
            + "    }\n};\n}  // namespace nnkit\n"
        )

    @cache  # noqa: B019  variants live as long as the process
    def kernel(self, most: int = SIZES[0]) -> Kernel:
        name = f"nnkit::update_group<nnkit::Update, {TYPES[self.dtype]}, {most}>"
        return Kernel(self.text, name, f"{self.update.name}.cu", ("--fmad=false",))

    @cache  # noqa: B019
    def count_kernel(self, most: int) -> Kernel:
        name = f"nnkit::count_steps<{len(self.names)}, {len(self.update.counters)}, {most}>"
        return Kernel(self.text, name, f"{self.update.name}.cu")

    def run(self, tensors: list[list], scalars: tuple) -> None:
        """Update tensors, each given as its arrays and then its counters."""
        numbers = self.struct(*map(float, scalars))
        limit = current_machine().parameter_bytes - ctypes.sizeof(numbers)
        columns = len(self.positions)
        most = max(m for m in SIZES if ctypes.sizeof(group_type(columns, m)) <= limit)
        for start in range(0, len(tensors), most):
            part = tensors[start : start + most]
            size = next(m for m in SIZES if len(part) <= m)
            group, blocks = filled(part, columns, size)
            if self.update.counters:
                self.count_kernel(size)((1,), (min(64, -(-size // 32) * 32),), (group,))
            self.kernel(size)((blocks,), (256,), (numbers, group))


@cache
def group_type(columns: int, most: int) -> Any:
    """`nnkit::Group` of update.cuh."""
    fields = [
        ("tensors", ctypes.c_int), ("unused", ctypes.c_int),
        ("data", ctypes.c_uint64 * (columns * most)), ("sizes", ctypes.c_int64 * most),
        ("first_block", ctypes.c_int * most),
    ]  # fmt: skip
    return type("Group", (ctypes.Structure,), {"_fields_": fields, "addresses": ("data",)})


def filled(tensors: list[list], columns: int, most: int) -> tuple[Any, int]:
    """The table of some tensors, and the number of blocks that work through them."""
    count = len(tensors)
    sizes = [t[0].size for t in tensors]
    blocks = [-(-n // CHUNK) for n in sizes]
    firsts = [sum(blocks[:i]) for i in range(count)]
    group = group_type(columns, most)(tensors=count)
    group.data[: count * columns] = [address(a) for t in tensors for a in t]
    group.sizes[:count] = sizes
    group.first_block[:count] = firsts
    return group, max(1, sum(blocks))


def print_update(update: Update) -> Callable:
    """The kernel of an update; the variant for its flags and dtype is printed on first use."""
    variants: dict[tuple, UpdateVariant] = {}
    arrays = len(update.arrays)
    scalars = arrays + len(update.scalars)

    def run(*arguments: Any) -> None:
        lists, flags = arguments[:arrays], tuple(map(bool, arguments[scalars:]))
        update.check(lists, same_dtype=True)
        by_dtype: dict[np.dtype, list[int]] = {}
        for i, first in enumerate(lists[0]):
            by_dtype.setdefault(first.dtype, []).append(i)
        for dtype, members in by_dtype.items():
            variant = variants.get((dtype, flags))
            if variant is None:
                variant = variants[dtype, flags] = UpdateVariant(update, flags, dtype)
            tensors = [[lists[p][i] for p in variant.positions] for i in members]
            _run_dense(variant, tensors, arguments[arrays:scalars])

    run.__name__ = update.name
    return run


def _run_dense(variant: UpdateVariant, tensors: list[list], scalars: tuple) -> None:
    """Run on arrays in C order; those in another order are copied there and back."""
    width = len(variant.names)
    dense, back = [], []
    for tensor in tensors:
        if not all(a.flags.c_contiguous for a in tensor[:width]):
            copies = [contiguous(a) for a in tensor[:width]]
            pairs = zip(tensor, copies, variant.writes)
            back += [(a, copy) for a, copy, written in pairs if written and copy is not a]
            tensor = [*copies, *tensor[width:]]
        if tensor[0].size:
            dense.append(tensor)
    if dense:
        variant.run(dense, scalars)
    for array, copy in back:
        copy_(array, copy)


def every_variant(update: Update, dtype: np.dtype) -> Iterator[UpdateVariant]:
    """One variant for each different trace that the flags give."""
    seen: set[str] = set()
    for flags in product((False, True), repeat=len(update.flags)):
        variant = UpdateVariant(update, flags, dtype)
        if variant.text not in seen:
            seen.add(variant.text)
            yield variant
