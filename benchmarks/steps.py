"""``python -m benchmarks steps``: the time of a step of each workload, as a Markdown table."""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.options import add_clock, add_only, add_patience
from benchmarks.peers import compiled_step, jax_step, numpy_step
from benchmarks.roofline import Ceilings, measure, needs
from benchmarks.timing import (
    FRAMEWORKS,
    alternate,
    duration,
    has,
    set_threads,
    surroundings,
)
from benchmarks.workloads import WORKLOADS

TURN = 0.15  # seconds that one contestant runs before the next has its turn

COLUMNS = (
    "workload",
    "nnkit",
    "others",
    "GFLOP/s (of GEMM)",
    "GB/s (of copy)",
    "of roofline",
    "disturbed",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=15, help="turns of each contestant")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    add_only(parser)
    add_clock(parser)
    add_patience(parser)
    parser.add_argument("--compile", action="store_true", help="add what both compile")
    parser.add_argument("--json", metavar="FILE", help="write everything measured to a file")


def contestants(name: str, with_compile: bool) -> dict[str, Callable[[], Any]]:
    """The step functions of everybody who can run the workload, nnkit first."""
    workload = WORKLOADS[name]
    found = {f: workload(importlib.import_module(f)) for f in FRAMEWORKS if has(f)}
    others = {"NumPy": numpy_step(name), "JAX": jax_step(name)}
    if with_compile:
        others |= {f"{f}.compile": compiled_step(f, workload) for f in FRAMEWORKS}
    return found | {label: step for label, step in others.items() if step is not None}


def measured(name: str, options: argparse.Namespace, ceilings: Ceilings) -> dict[str, Any]:
    """The measurements of one workload: seconds, ratios, needs and what it reaches."""
    steps = contestants(name, options.compile)
    turns = alternate(steps, options.rounds, TURN, options.patience, options.clock)
    counted = needs(steps["nnkit"])
    seconds = {k: statistics.median(v) for k, v in turns.seconds.items()}
    mine = seconds["nnkit"]
    return {
        "seconds": seconds,
        "ratios": {k: turns.ratio(k, "nnkit") for k in seconds if k != "nnkit"},
        "others' share of the machine": turns.others,
        "flops": counted.flops,
        "bytes": counted.bytes,
        "of GEMM": counted.flops / mine / ceilings.flops,
        "of copy": counted.bytes / mine / ceilings.bytes,
        "of roofline": counted.least_seconds(ceilings) / mine,
    }


def row(name: str, found: dict[str, Any]) -> str:
    mine = found["seconds"]["nnkit"]
    others = [
        f"{other} {duration(found['seconds'][other])}: {middle:.2f} [{low:.2f}, {high:.2f}]"
        for other, (middle, low, high) in found["ratios"].items()
    ]
    rates = [
        f"{found[what] / mine / 1e9:.1f} ({found[share]:.0%})"
        for what, share in (("flops", "of GEMM"), ("bytes", "of copy"))
    ]
    shares = [f"{found[share]:.0%}" for share in ("of roofline", "others' share of the machine")]
    cells = [name, duration(mine), "; ".join(others), *rates, *shares]
    return "| " + " | ".join(cells) + " |"


def run(options: argparse.Namespace) -> None:
    if options.device == "cuda":
        from benchmarks import gpu

        print(surroundings())
        print(gpu.table(options.only))
        return
    set_threads(options.threads)
    print(surroundings())
    ceilings = measure(options.patience, options.clock)
    print(f"{ceilings}\n")
    print("How many times as fast nnkit is: median of the rounds [lowest, highest].\n")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    results = {}
    for name in WORKLOADS:
        if options.only in name:
            results[name] = measured(name, options, ceilings)
            print(row(name, results[name]), flush=True)
    if options.json:
        page = {"surroundings": surroundings(), "ceilings": vars(ceilings), "workloads": results}
        with open(options.json, "w") as file:
            json.dump(page, file, indent=1)
