"""Compiles all CUDA code for several GPUs with no GPU and no driver: kernels, formulas, updates.

    python -m tools.nvrtc                  everything, for sm_75, sm_80 and sm_90
    python -m tools.nvrtc softmax --target sm_80 --list
    python -m tools.nvrtc --quick          whether it compiles, in a fraction of the time
    python -m tools.nvrtc --turn 0         half of them, each for one GPU; turns 1 to 5 are the rest

Needs the wheel nvidia-cuda-nvrtc-cu12 (or -cu13). Prints for each source and target how many
kernels were compiled, the most registers a thread takes, and every kernel that spills registers
(of optimized code alone); exits with 1 if something does not compile.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

import nnkit.nn
import nnkit.optim  # noqa: F401  they enter their formulas into the catalogue
from nnkit.backend.algebra import FORMULAS
from nnkit.backend.cuda import nvrtc
from nnkit.backend.cuda.printer import Variant
from nnkit.backend.cuda.source import OPTIONS, expanded
from nnkit.backend.cuda.update import every_variant
from nnkit.backend.formula import Update
from tests.cuda.instances import FLOATING, KERNELS, names, targets

TARGETS = ("sm_75", "sm_80", "sm_90")
PART = 64  # kernels compiled together


class Program(NamedTuple):
    label: str
    text: str
    names: tuple[str, ...]
    options: tuple[str, ...]


class Usage(NamedTuple):
    kernel: str
    registers: int
    spilled: int  # bytes stored


def kernel_programs(subject: str) -> Iterator[Program]:
    everything = names(subject)
    for start in range(0, len(everything), PART):
        part = everything[start : start + PART]
        yield Program(subject, expanded(f"{subject}.cu"), part, OPTIONS)


def formula_programs(dtype: np.dtype) -> Iterator[Program]:
    """All formulas that this dtype has, in wide loads and along strides."""
    head = expanded("elementwise.cuh")
    structs = []
    for name, formula in FORMULAS.items():
        if isinstance(formula, Update) or (dtype in FLOATING and name.startswith("bitwise")):
            continue
        try:
            variant = Variant(formula, (dtype,) * len(formula.arrays), (), None)
        except RuntimeError:
            continue  # a derivative that there is not
        width = max(1, 16 // dtype.itemsize)
        kernel = variant.linear(width, (False,) * len(formula.arrays)).name
        struct = f"formula_{name}"
        text = variant.text.removeprefix(head).replace("Formula", struct)
        structs.append((text, kernel.replace("nnkit::Formula", f"nnkit::{struct}")))
    yield from parts(f"formulas {dtype}", head, structs)


def update_programs(dtype: np.dtype) -> Iterator[Program]:
    head = expanded("update.cuh")
    for update in FORMULAS.values():
        if isinstance(update, Update):
            structs = []
            for number, variant in enumerate(every_variant(update, dtype)):
                kernel = variant.kernel()
                text = kernel.text.removeprefix(head).replace("struct Update", f"struct U{number}")
                structs.append((text, kernel.name.replace("nnkit::Update", f"nnkit::U{number}")))
            yield from parts(f"update {update.name}", head, structs)


def parts(label: str, head: str, structs: list[tuple[str, str]]) -> Iterator[Program]:
    """Structs, each with the kernel that is made of it, as programs of some of them."""
    for start in range(0, len(structs), PART):
        texts, kernels = zip(*structs[start : start + PART])
        yield Program(label, head + "".join(texts), kernels, (*OPTIONS, "--fmad=false"))


def usages(log: str) -> list[Usage]:
    """The resources of each kernel as ptxas reports them."""
    found = []
    for block in log.split("Compiling entry function")[1:]:
        name = re.search(r"'(\w+)'", block)
        registers = re.search(r"Used (\d+) registers", block)
        spilled = re.search(r"(\d+) bytes spill stores", block)
        if name and registers:
            found.append(Usage(name[1], int(registers[1]), int(spilled[1]) if spilled else 0))
    return found


def programs(subjects: list[str]) -> Iterator[tuple[Program, tuple[str, ...]]]:
    """Each program and the targets it is compiled for: formulas of other dtypes for one alone,
    since nothing in them depends on the target."""
    for subject in KERNELS:
        if not subjects or subject in subjects:
            for program in kernel_programs(subject):
                yield program, targets(subject, TARGETS)
    if not subjects or "formulas" in subjects:
        for dtype in (*FLOATING, np.dtype(np.int64), np.dtype(np.bool_)):
            for program in formula_programs(dtype):
                yield program, TARGETS if dtype == np.float32 else TARGETS[1:2]
    if not subjects or "updates" in subjects:
        for dtype in FLOATING:
            for program in update_programs(dtype):
                yield program, TARGETS if dtype == np.float32 else TARGETS[1:2]


def compile_one(job: tuple[Program, str, bool]) -> tuple[Program, str, list[Usage], str]:
    """The usages of a program's kernels, or the error.

    Quickly, nothing is optimized, and formulas go as far as PTX. What remains can fail where a
    source has PTX of its own or asks for shared memory; of theirs only the headers have any, and
    tests/cuda/test_compile.py compiles one for each dtype that these treat apart to the end.
    """
    program, target, quick = job
    option = "--Ofast-compile=max" if quick else "--ptxas-options=-v"
    is_formula = program.label.startswith("formulas")
    code = target.replace("sm", "compute") if quick and is_formula else target
    options = (*program.options, option)
    try:
        result = nvrtc.compile_kernels(program.text, program.names, program.label, code, options)
    except RuntimeError as error:
        return program, target, [], str(error)
    if quick:
        return program, target, [Usage(name, 0, 0) for name in result.names], ""
    return program, target, usages(result.log), ""


def print_table(table: dict[tuple[str, str], list[Usage]], quick: bool, every_kernel: bool) -> None:
    usage = "" if quick else f" {'registers':>9} {'spilling':>8}"
    print(f"{'source':24} {'target':8} {'kernels':>7}{usage}")
    for (label, target), found in table.items():
        spilling = [u for u in found if u.spilled]
        most = max((u.registers for u in found), default=0)
        usage = "" if quick else f" {most:9} {len(spilling):8}"
        print(f"{label:24} {target:8} {len(found):7}{usage}")
        for one in found if every_kernel else spilling:
            print(f"    {one.kernel}: {one.registers} registers, {one.spilled} bytes spilled")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("subjects", nargs="*", help="subjects, 'formulas', 'updates' (all)")
    parser.add_argument("--target", action="append", help="such as sm_80; may be repeated")
    parser.add_argument("--turn", type=int, help="compile half of them for one target each")
    parser.add_argument("--list", action="store_true", help="print every kernel")
    parser.add_argument(
        "--quick", action="store_true",
        help="do not optimize, formulas to PTX alone: there are no registers and spills to tell",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    jobs = []
    for number, (program, known) in enumerate(programs(options.subjects)):
        wanted = targets(program.label, tuple(options.target or known))
        if options.turn is not None:
            is_left = (number + options.turn // 3) % 2 or not wanted
            wanted = () if is_left else wanted[(number // 2 + options.turn) % len(wanted) :][:1]
        jobs += [(program, target, options.quick) for target in wanted]
    start = time.perf_counter()
    table: dict[tuple[str, str], list[Usage]] = {}
    failures = 0
    with ThreadPoolExecutor(2) as pool:
        for program, target, found, error in pool.map(compile_one, jobs):
            if error:
                failures += 1
                print(error, file=sys.stderr)
            table.setdefault((program.label, target), []).extend(found)
    print_table(table, options.quick, options.list)
    count = sum(map(len, table.values()))
    print(f"{count} kernels in {time.perf_counter() - start:.0f} s, {failures} failures")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
