"""``python -m benchmarks memory``: peak memory and the time of the import, in fresh processes."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

from benchmarks.options import add_only
from benchmarks.timing import FRAMEWORKS, has
from benchmarks.workloads import WORKLOADS

# VmHWM is the high-water mark since the interpreter started; `getrusage` counts the parent's too.
PROGRAM = """
import gc, importlib, sys
from benchmarks.workloads import WORKLOADS
framework, workload, threads, steps, way = sys.argv[1:]
def status(field):
    line = next(l for l in open("/proc/self/status") if l.startswith(field))
    return int(line.split()[1]) / 1024
fw = importlib.import_module(framework)
if int(threads):
    fw.set_num_threads(int(threads))
fw.nn.Linear, fw.optim.SGD  # so that what is imported lazily is there
imported = status("VmRSS")
step = WORKLOADS[workload](fw)
if way == "compiled":
    step = fw.compile(step, fullgraph=True)
for _ in range(int(steps)):
    step()
if way:  # from here on the mark is that of later steps
    gc.collect()
    fw.cpu.empty_cache()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    step()
    step()
print(status("VmHWM"), imported)
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add_only(parser)
    parser.add_argument("--steps", type=int, default=8, help="steps to run of each workload")
    parser.add_argument(
        "--compile", action="store_true", help="add later steps of nnkit, eager and compiled"
    )


def fresh(code: str, *arguments: str) -> list[float]:
    """The numbers that a program prints in an interpreter of its own."""
    command = [sys.executable, "-c", code, *arguments]
    result = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return [float(word) for word in result.stdout.split()]


def import_seconds(module: str, runs: int = 7) -> float:
    """The median time a fresh interpreter takes to import ``module``, in seconds."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    return statistics.median(fresh(code)[0] for _ in range(runs))


def imports() -> None:
    seconds = {m: import_seconds(m) for m in ("numpy", *FRAMEWORKS) if has(m)}
    print("import, ms: " + ", ".join(f"{m} {s * 1e3:.0f}" for m, s in seconds.items()))
    print(f"nnkit over numpy: {(seconds['nnkit'] - seconds['numpy']) * 1e3:.0f} ms\n")


def run(options: argparse.Namespace) -> None:
    if not options.only:
        imports()
    print("Peak resident memory, MiB (in brackets: over the import)\n")
    found = {f: (f, "") for f in FRAMEWORKS if has(f)}
    if options.compile:
        found |= {f"nnkit, later, {way}": ("nnkit", way) for way in ("eager", "compiled")}
    print("| workload | " + " | ".join(found) + " |\n|---|" + "---|" * len(found))
    for name in WORKLOADS:
        if options.only in name:
            cells = []
            for framework, way in found.values():
                threads, steps = str(options.threads or 0), str(options.steps)
                peak, imported = fresh(PROGRAM, framework, name, threads, steps, way)
                cells.append(f"{peak:.0f} ({peak - imported:.0f})")
            print("| " + " | ".join([name, *cells]) + " |", flush=True)
