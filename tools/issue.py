"""Counts the machine instructions of each CUDA kernel's inner loop: what bandwidth they allow.

    python -m tools.issue                  float32 and bfloat16 of every kernel, a table in Markdown
    python -m tools.issue norm reduction   of some sources; 'formulas' and 'updates' are two more
    python -m tools.issue --least          of each kernel and dtype the instance that allows least

Needs no GPU: the wheels nvidia-cuda-nvrtc and nvidia-cuda-nvdisasm. A kernel is compiled for
sm_90 and disassembled; of its loops the one that moves the most bytes of global memory in a turn
counts (the row's, where a row is unrolled). A turn takes as many clocks as the busiest pipe;
the bytes that all processors move so are compared with the bandwidth. Of branches within the loop
that one counts which moves the most bytes, of these the shortest; bytes that a cache gives count as
moved. Latency, waits at barriers and occupancy are not in it.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nnkit.backend.cuda import nvrtc
from nnkit.backend.cuda.source import OPTIONS, expanded
from tests.cuda.instances import FLOATING, KERNELS, names
from tools.nvrtc import PART, Program, Usage, formula_programs, update_programs, usages

TARGET = "sm_90"
PROCESSORS, CLOCK, BANDWIDTH = 132, 1.755e9, 4.8e12  # of an H200; it may run at up to 1.98 GHz
INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]+\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)(.*)")
LEAST = 0.85  # of the bandwidth
WARP = 32
PRODUCT = 4  # clocks that one tensor core takes for a product of 16 x 8 x 16 at full throughput

# Warp instructions that a processor takes in a clock, by pipe: "Throughput of Native Arithmetic
# Instructions" of the CUDA C++ Programming Guide, compute capability 9.0. F2FP, which rounds to
# half precision, is the integer pipe's: "Pipelines" of the Nsight Compute documentation.
RATES = {"issue": 4.0, "integer": 2.0, "double": 2.0, "special": 0.5, "memory": 1.0}
PIPES = {
    "special": r"MUFU|F2I|I2F|F2F(?!P)|FRND|POPC|FLO|BREV|I2I",
    "double": r"D(ADD|MUL|FMA|SETP)",
    "memory": r"LD|ST|ATOM|RED|SHFL",
    "integer": r"IADD3?|ISETP|LOP3|SHF|IMNMX|VIMNMX|LEA|SEL|FSEL|PRMT|FMNMX|FSETP|PLOP3|F2FP|MOV$",
}  # fmt: skip


class Loop(NamedTuple):
    """One turn of a loop, for one thread."""

    instructions: tuple[str, ...]  # their names, without predicates and operands
    moved: int  # bytes of global memory

    @property
    def pipes(self) -> Counter[str]:
        found = Counter(issue=len(self.instructions))
        found.update(filter(None, map(pipe_of, self.instructions)))
        return found

    @property
    def clocks(self) -> float:
        """The clocks of a processor that a turn of one warp takes."""
        return max(count / RATES[pipe] for pipe, count in self.pipes.items())

    @property
    def bandwidth(self) -> float:
        """The share of the bandwidth that instructions allow."""
        return WARP * self.moved / self.clocks * PROCESSORS * CLOCK / BANDWIDTH

    @property
    def products(self) -> int:
        return sum(name.startswith(("HMMA.16816", "HMMA.1688")) for name in self.instructions)


class Row(NamedTuple):
    usage: Usage
    shared: int  # bytes
    loop: Loop | None

    @property
    def allowed(self) -> float:
        """The share of the bandwidth; of what does not move memory, without end."""
        return self.loop.bandwidth if self.loop and not self.loop.products else sys.float_info.max

    @property
    def is_slow(self) -> bool:
        return self.allowed < LEAST


def pipe_of(instruction: str) -> str | None:
    """The pipe of an instruction that takes fewer than the schedulers give, if it has one."""
    return next((p for p, like in PIPES.items() if re.match(like, instruction)), None)


def bytes_of(instruction: str) -> int:
    """The bytes of global memory that an instruction moves for a thread."""
    if not re.match(r"(LDG|STG|LDGSTS)\b", instruction):
        return 0
    width = re.search(r"\.(?:U|S)?(8|16|64|128)\b", instruction)
    return int(width[1]) // 8 if width else 4


class Instruction(NamedTuple):
    name: str
    target: int | None  # where it may jump to
    is_sure: bool  # that it does


def instructions_of(listing: str) -> list[Instruction]:
    """The instructions of a function as nvdisasm lists it."""
    found, labels, joins = [], {}, {}
    for line in listing.splitlines():
        if label := re.match(r"\s*(\.L\w+):", line):
            labels[label[1]] = len(found)
        if one := INSTRUCTION.match(line):
            to = re.search(r"`\((\.L\w+)\)", one[3])
            barrier = re.search(r"\bB\d+", one[3])
            if one[2].startswith("BSSY") and to and barrier:
                joins[barrier[0]] = to[1]  # where those who left its scope meet
            # BRA.DIV leaves for lanes that came apart, which shuffles of whole warps never do.
            jumps = one[2] in ("BRA", "BRA.U") and to and to[1]
            if one[2].startswith("BSYNC") and barrier:
                jumps = joins.get(barrier[0])
            condition = one[1] or re.search(r"\b!?U?P\d", one[3].split("`")[0])
            found.append((one[2], jumps, bool(jumps and not condition)))
    return [Instruction(name, labels.get(to) if to else None, sure) for name, to, sure in found]


def way(body: list[Instruction], start: int) -> tuple[str, ...]:
    """The way through a loop that moves the most bytes, of these the shortest: around divisions'
    rare cases, and through the branch of wide loads."""
    stop = start + len(body)
    best: dict[int, tuple[int, int, tuple[str, ...]]] = {stop: (0, 0, ())}
    never = (-1, 0, ())
    for at in range(stop - 1, start - 1, -1):
        name, target, is_sure = body[at - start]
        nexts = [] if is_sure and target is not None and target > at else [best[at + 1]]
        if target is not None and target > at:
            nexts.append(best.get(target, never))  # outside: the loop is left
        elif target == start:
            nexts = [best[stop]] if is_sure else [*nexts, best[stop]]
        moved, length, names = max(nexts, key=lambda one: one[:2])
        best[at] = (moved, 0, ()) if moved < 0 else (
            moved + bytes_of(name), length - 1, (name, *names))  # fmt: skip
    return best[start][2]


def loops(listing: str) -> Iterator[Loop]:
    """The innermost loops that move memory or multiply, each to its last jump back."""
    everything = instructions_of(listing)
    ends = {
        one.target: at
        for at, one in enumerate(everything)
        if one.target is not None and one.target < at
    }
    inner = -1  # where the latest of them began
    for start, end in sorted(ends.items(), key=lambda item: item[1]):
        if start <= inner:
            continue
        names = way(everything[start : end + 1], start)
        loop = Loop(names, sum(map(bytes_of, names)))
        if loop.moved or loop.products:
            inner = start
            yield loop


def main_loop(listing: str) -> Loop | None:
    """The loop that moves the most bytes, the longest of these; with tensor cores, that which has
    the most products."""
    order = lambda loop: (loop.products, loop.moved, len(loop.instructions))  # noqa: E731
    return max(loops(listing), key=order, default=None)


def nvdisasm() -> str:
    """The path of NVIDIA's disassembler.

    Raises:
        RuntimeError: there is none.
    """
    if found := shutil.which("nvdisasm"):
        return found
    spec = find_spec("nvidia")
    for place in (spec.submodule_search_locations or []) if spec else []:
        if wheels := sorted(Path(place).glob("*/bin/nvdisasm")):
            return str(wheels[-1])
    raise RuntimeError("nvdisasm was not found: pip install nvidia-cuda-nvdisasm")


def functions(code: bytes) -> dict[str, str]:
    """The listing of each function in machine code."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(code)
        file.flush()
        text = subprocess.run(
            [nvdisasm(), "--print-code", file.name], capture_output=True, text=True, check=True
        ).stdout
    found = re.split(r"^\s*\.section\s+\.text\.(\w+),.*$", text, flags=re.M)
    return dict(zip(found[1::2], found[2::2]))


def programs(subjects: list[str]) -> Iterator[Program]:
    for subject in KERNELS:
        if not subjects or subject in subjects:
            chosen = [n for n in names(subject) if re.search(r"float|^[^<]*$", n)]
            chosen = [n for n in chosen if not re.search(r"double|float16(?<!bfloat16)", n)]
            for start in range(0, len(chosen), PART):
                part = tuple(chosen[start : start + PART])
                yield Program(subject, expanded(f"{subject}.cu"), part, OPTIONS)
    for dtype in (FLOATING[0], FLOATING[3]):
        if not subjects or "formulas" in subjects:
            yield from formula_programs(dtype)
    if not subjects or "updates" in subjects:
        yield from update_programs(np.dtype(np.float32))


def examine(program: Program) -> list[tuple[str, Row]]:
    """The kernels of a program, by their C++ names."""
    options = (*program.options, "--ptxas-options=-v")
    found = nvrtc.compile_kernels(program.text, program.names, program.label, TARGET, options)
    by_name = {usage.kernel: usage for usage in usages(found.log)}
    shared = {
        name: int(size)
        for name, size in re.findall(r"'(\w+)' for '\w+'\n(?:.*\n){1,3}?.*Used .*?(\d+) bytes smem",
                                     found.log)
    }  # fmt: skip
    listings = functions(found.code)
    return [
        (expression, Row(by_name[name], shared.get(name, 0), main_loop(listings[name])))
        for expression, name in zip(program.names, found.names)
    ]


def line_of(source: str, expression: str, row: Row) -> str:
    """A row of the table in Markdown."""
    name = expression.replace("nnkit::", "")
    usage, loop = row.usage, row.loop
    cells = [source, f"`{name}`", usage.registers, usage.spilled, row.shared]
    if loop is None:
        cells += ["", "", "", ""]
    elif loop.products:
        share = min(1.0, PRODUCT * loop.products / len(loop.instructions))
        cells += [len(loop.instructions), f"{loop.products} products", "issue", f"{share:.0%}"]
    else:
        busiest = max(loop.pipes, key=lambda p: loop.pipes[p] / RATES[p])
        per_byte = len(loop.instructions) / loop.moved
        cells += [len(loop.instructions), f"{per_byte:.2f}", busiest, f"{loop.bandwidth:.0%}"]
    return f"| {' | '.join(map(str, cells))} |"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("subjects", nargs="*", help="sources, 'formulas', 'updates' (all)")
    parser.add_argument("--slow", action="store_true", help="only what allows too little")
    parser.add_argument(
        "--least", action="store_true", help="of each kernel and dtype what allows the least"
    )
    options = parser.parse_args(arguments)
    print("| source | kernel | registers | spilled | shared | instructions | a byte | busiest"
          " | allowed |\n|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    slow = count = 0
    least: dict[tuple[str, str, bool], tuple[float, str]] = {}
    with ThreadPoolExecutor(2) as pool:
        chosen = list(programs(options.subjects))
        for program, rows in zip(chosen, pool.map(examine, chosen)):
            for expression, row in rows:
                line = line_of(program.label, expression, row)
                slow, count = slow + row.is_slow, count + 1
                if options.least:
                    kernel = (program.label, expression.partition("<")[0], "bfloat16" in expression)
                    known = least.get(kernel, (math.inf, ""))
                    least[kernel] = min(known, (row.allowed, line))
                elif row.is_slow or not options.slow:
                    print(line)
    for _, line in least.values():
        print(line)
    print(f"\n{slow} of {count} kernels are limited below {LEAST:.0%} of the bandwidth")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
