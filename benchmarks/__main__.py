"""``python -m benchmarks``: prints how fast nnkit is, as ratios against the others."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys

import nnkit
from benchmarks import ops
from benchmarks.peers import compiled_step, jax_step, numpy_step
from benchmarks.timing import alternate, has, import_seconds, peak_megabytes, ratio
from benchmarks.workloads import WORKLOADS

TURN = 0.15  # seconds that one contestant runs before the next has its turn
MODES = {"ops": ops.main}


def contestants(name: str, with_compile: bool) -> dict:
    """The step functions of everybody who can run the workload."""
    workload = WORKLOADS[name]
    found = {"nnkit": workload(nnkit)}
    if has("torch"):
        import torch

        found["torch"] = workload(torch)
        if with_compile:
            found["torch.compile"] = compiled_step(torch, workload)
    for label, make in (("NumPy", numpy_step), ("JAX", jax_step)):
        step = make(name)
        if step is not None:
            found[label] = step
    return found


def header() -> None:
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}")
    print(nnkit.show_config())
    if has("torch"):
        import torch

        print(f"torch: {torch.__version__}, {torch.get_num_threads()} threads")
    print()


def steps(names: list[str], rounds: int, with_compile: bool) -> None:
    """Microseconds a step, and how many times as fast nnkit is (median [lowest, highest])."""
    for name in names:
        times = alternate(contestants(name, with_compile), rounds, TURN)
        micro = {k: statistics.median(v) * 1e6 for k, v in times.items()}
        print(f"{name}: nnkit {micro['nnkit']:.0f} us")
        for other in times:
            if other != "nnkit":
                middle, low, high = ratio(times, other, "nnkit")
                print(
                    f"    {middle:6.2f}x as fast as {other} ({micro[other]:.0f} us)"
                    f"  [{low:.2f}, {high:.2f}]"
                )


def imports() -> None:
    seconds = {m: import_seconds(m) for m in ("numpy", "nnkit", "torch") if has(m)}
    print("import, ms: " + ", ".join(f"{m} {s * 1e3:.0f}" for m, s in seconds.items()))
    print(f"    nnkit over numpy: {(seconds['nnkit'] - seconds['numpy']) * 1e3:.0f} ms")


def memory(names: list[str]) -> None:
    for name in names:
        peaks = {f: peak_megabytes(f, name) for f in ("nnkit", "torch") if has(f)}
        print(f"peak memory, {name}: " + ", ".join(f"{f} {p:.0f} MiB" for f, p in peaks.items()))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="turns of each contestant")
    parser.add_argument("--only", help="workloads whose name contains this text")
    parser.add_argument("--compile", action="store_true", help="add torch.compile")
    options = parser.parse_args()
    names = [n for n in WORKLOADS if not options.only or options.only in n]
    header()
    steps(names, options.rounds, options.compile)
    if not options.only:
        imports()
        memory(names)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in MODES:
        MODES[sys.argv[1]](sys.argv[2:])
    else:
        main()
