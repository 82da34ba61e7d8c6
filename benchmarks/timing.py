"""Timing side by side: the contestants take turns, so that a slow moment hits all of them."""

from __future__ import annotations

import gc
import importlib.util
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any


def alternate(
    contestants: dict[str, Callable[[], Any]], rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Seconds a step of each contestant, one figure for each turn of some ``seconds``."""
    counts = {}
    for name, step in contestants.items():
        for _ in range(3):
            step()
        start = time.perf_counter()
        step()
        counts[name] = max(1, int(seconds / max(time.perf_counter() - start, 1e-6)))
    times: dict[str, list[float]] = {name: [] for name in contestants}
    gc.collect()
    for _ in range(rounds):
        for name, step in contestants.items():
            count = counts[name]
            start = time.perf_counter()
            for _ in range(count):
                step()
            times[name].append((time.perf_counter() - start) / count)
    return times


def ratio(times: dict[str, list[float]], slow: str, fast: str) -> tuple[float, float, float]:
    """How many times as fast ``fast`` is: median, lowest and highest of the rounds' ratios."""
    ratios = sorted(s / f for s, f in zip(times[slow], times[fast], strict=True))
    return statistics.median(ratios), ratios[0], ratios[-1]


def set_threads(count: int) -> None:
    """Let every framework that is installed use ``count`` threads."""
    for framework in ("nnkit", "torch"):
        if has(framework):
            importlib.import_module(framework).set_num_threads(count)


def has(module: str) -> bool:
    """Whether a module is installed."""
    return importlib.util.find_spec(module) is not None


def import_seconds(module: str, runs: int = 7) -> float:
    """The median time a fresh interpreter takes to import ``module``, in seconds."""
    code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    found = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(runs)
    ]
    return statistics.median(found)


def peak_megabytes(framework: str, workload: str, steps: int = 20) -> float:
    """The largest resident memory of a fresh process that runs the workload, in MiB."""
    # The high-water mark since the interpreter started; `getrusage` would count the parent's too.
    code = (
        "import importlib\n"
        "from benchmarks.workloads import WORKLOADS\n"
        f"fw = importlib.import_module({framework!r})\n"
        f"step = WORKLOADS[{workload!r}](fw)\n"
        f"for _ in range({steps}): step()\n"
        "print(next(l for l in open('/proc/self/status') if l.startswith('VmHWM')).split()[1])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    return float(result.stdout) / 1024
