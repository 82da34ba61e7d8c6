"""``python -m benchmarks profile``: where the time of a workload's step goes, by primitive."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import nnkit
from benchmarks.timing import duration, set_threads
from benchmarks.workloads import WORKLOADS
from nnkit.backend.door import Counter, Timer, standing


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workload", help="text that its name contains")
    parser.add_argument("--steps", type=int, default=20, help="steps to take the medians of")
    parser.add_argument("--rows", type=int, default=15, help="primitives to show")


def profile(name: str, step: Callable[[], Any], count: int, rows: int) -> None:
    """Print the primitives of one workload, the longest first.

    "above the door" is the rest of an unwatched step: Python, the graph, the engine, and giving
    back the memory of arrays. Where it is small it may come out below zero.
    """
    cpu = nnkit.device("cpu")
    for _ in range(3):
        step()
    unwatched, watched = [], []
    for _ in range(count):  # by turns, so that a slow moment hits both
        start = time.perf_counter()
        step()
        unwatched.append(time.perf_counter() - start)
        with standing(Timer, cpu) as timer:
            step()
        watched.append(timer.seconds)
    with standing(Counter, cpu) as counter:
        step()
    whole = statistics.median(unwatched)
    times = {p: statistics.median(t[p] for t in watched) for p in counter.calls}
    print(f"{name}: {duration(whole)} a step\n")
    print("| primitive | calls | time | share | GFLOP/s | GB/s |\n|---|---|---|---|---|---|")
    longest = sorted(times, key=lambda p: -times[p])
    for primitive in longest[:rows]:
        seconds = times[primitive]
        rates = [t[primitive] / seconds / 1e9 for t in (counter.flops, counter.bytes)]
        cells = [primitive, str(counter.calls[primitive]), duration(seconds)]
        line(*cells, f"{seconds / whole:.1%}", *(f"{r:.1f}" for r in rates))
    rest = sum(times[p] for p in longest[rows:])
    if rest:
        line(f"{len(longest) - rows} others", "", duration(rest), f"{rest / whole:.1%}", "", "")
    above = whole - sum(times.values())
    line("above the door", "", duration(above), f"{above / whole:.1%}", "", "")
    print()


def line(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |")


def run(options: argparse.Namespace) -> None:
    set_threads(options.threads)
    for name, workload in WORKLOADS.items():
        if options.workload in name:
            profile(name, workload(nnkit), options.steps, options.rows)
