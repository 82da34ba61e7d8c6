"""``python -m benchmarks profile``: where the time of a workload's step goes, by primitive."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import nnkit
from benchmarks.options import add_clock
from benchmarks.timing import duration, set_threads
from benchmarks.workloads import WORKLOADS
from nnkit.backend.door import Counter, Timer, standing


def add_options(parser: argparse.ArgumentParser) -> None:
    add_clock(parser)
    parser.add_argument("workload", help="text that its name contains")
    parser.add_argument("--steps", type=int, default=20, help="steps to take the medians of")
    parser.add_argument("--rows", type=int, default=15, help="primitives to show")


def profile(name: str, step: Callable[[], Any], options: argparse.Namespace) -> None:
    """Print the primitives of one workload, the longest first.

    "above the door" is the rest of an unwatched step: Python, the graph, the engine, and giving
    back the memory of arrays. Where it is small it may come out below zero.
    """
    cpu, clock = nnkit.device("cpu"), options.clock
    for _ in range(3):
        step()
    unwatched, watched = [], []
    for _ in range(options.steps):  # by turns, so that a slow moment hits both
        start = clock()
        step()
        unwatched.append(clock() - start)
        with standing(partial(Timer, clock=clock), cpu) as timer:
            step()
        watched.append(timer.seconds)
    with standing(Counter, cpu) as counter:
        step()
    whole = statistics.median(unwatched)
    times = {p: statistics.median(t[p] for t in watched) for p in counter.calls}
    print(f"{name}: {duration(whole)} a step\n")
    print("| primitive | calls | time | share | GFLOP/s | GB/s |\n|---|---|---|---|---|---|")
    longest = sorted(times, key=lambda p: -times[p])
    for primitive in longest[: options.rows]:
        seconds = times[primitive]
        rates = [t[primitive] / seconds / 1e9 for t in (counter.flops, counter.bytes)]
        cells = [primitive, str(counter.calls[primitive]), duration(seconds)]
        line(*cells, f"{seconds / whole:.1%}", *(f"{r:.1f}" for r in rates))
    rest = sum(times[p] for p in longest[options.rows :])
    if rest:
        line(
            f"{len(longest) - options.rows} others",
            "",
            duration(rest),
            f"{rest / whole:.1%}",
            "",
            "",
        )
    above = whole - sum(times.values())
    line("above the door", "", duration(above), f"{above / whole:.1%}", "", "")
    print()


def line(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |")


def run(options: argparse.Namespace) -> None:
    set_threads(options.threads)
    for name, workload in WORKLOADS.items():
        if options.workload in name:
            profile(name, workload(nnkit), options)
