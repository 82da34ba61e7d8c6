"""``python -m benchmarks ranks --predict``: what to expect of up to 1,024 ranks.

A backward of GPT-2 small and of ResNet-50 is watched on this machine, its times are scaled to those
of a faster one, and `ranks_simulation` adds the messages of a network. Prints the tables of
docs/ranks.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

import nnkit
from benchmarks.ranks_simulation import (
    MB,
    Line,
    Trace,
    halving_doubling,
    ring,
    simulated,
    traced,
)
from benchmarks.timing import set_threads
from benchmarks.workloads.sequences import transformer
from benchmarks.workloads.vision import resnet50
from nnkit import optim
from nnkit.nn import functional as F

# The latency of a message of TCP, and of two generations of RDMA; bytes a second in each direction.
NETWORKS = {
    "10 Gbit/s": Line(20e-6, 8 / 10e9),
    "100 Gbit/s": Line(5e-6, 8 / 100e9),
    "400 Gbit/s": Line(2e-6, 8 / 400e9),
}
ALGORITHMS = {"halving": halving_doubling, "ring": ring}
RANKS = (1, 4, 16, 64, 256, 1024)
CAPS = (1, 5, 25, 100, 400)  # of buckets, in MB
STRONG = 64  # batches of a rank in the whole batch that strong scaling divides


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--predict", action="store_true", help="tables for up to 1,024 ranks")
    parser.add_argument(
        "--step-ms", type=float, default=100.0, help="what a predicted step takes on one rank"
    )


def gpt2_small() -> Trace:
    """124 million parameters, of which the embedding's 39 have their gradient last."""
    model = transformer(nnkit, vocabulary=50257, length=1024, layers=12, width=768, heads=12)
    tokens = nnkit.randint(0, 50257, (1, 257))
    x, y = tokens[:, :-1], tokens[:, 1:].flatten()
    optimizer = optim.AdamW(model.parameters())
    return traced(model, lambda: F.cross_entropy(model(x).flatten(0, 1), y), optimizer, rounds=3)


def resnet_50() -> Trace:
    """25.6 million parameters, most of them in the layers whose gradients come first."""
    model = resnet50(nnkit)
    x, y = nnkit.randn(4, 3, 224, 224), nnkit.randint(0, 1000, (4,))
    optimizer = optim.SGD(model.parameters(), 0.1, momentum=0.9)
    return traced(model, lambda: F.cross_entropy(model(x), y), optimizer, rounds=3)


MODELS: dict[str, Callable[[], Trace]] = {"GPT-2 small": gpt2_small, "ResNet-50": resnet_50}


def run(options: argparse.Namespace) -> None:
    set_threads(options.threads)
    nnkit.manual_seed(0)
    traces = {name: trace() for name, trace in MODELS.items()}
    for name, trace in traces.items():
        sent = sum(g.nbytes for g in trace.gradients)
        own = [f"{t * 1e3:.0f}" for t in (trace.forward, trace.backward, trace.optimizer)]
        print(f"{name}: ms of forward, backward, optimizer {', '.join(own)}; {sent / MB:.0f} MB")
    scaled = {name: trace.lasting(options.step_ms / 1e3) for name, trace in traces.items()}
    for name, trace in scaled.items():
        batch = f"{options.step_ms:g} ms on one rank"
        scaling(f"{name}, weak scaling: each rank has a batch of {batch}", trace, lambda ranks: 1)
        scaling(
            f"{name}, strong scaling: {STRONG} batches of {batch} divided among the ranks",
            trace,
            lambda ranks: STRONG / ranks,
        )
    for name, trace in traces.items():
        scaling(f"{name}, weak scaling, with the times of this processor", trace, lambda ranks: 1)
    for name, trace in scaled.items():
        sizes_of_buckets(f"{name}, weak scaling: the best size of buckets in MB", trace)


def table(title: str, columns: Iterable[str], rows: dict[int, list[str]]) -> None:
    """Print a table of Markdown with a row for each number of ranks."""
    columns = list(columns)
    print(f"\n{title}:\n\n| ranks | {' | '.join(columns)} |\n|{' --- |' * (1 + len(columns))}")
    for ranks, cells in rows.items():
        print(f"| {ranks:,} | {' | '.join(cells)} |")


def scaling(title: str, trace: Trace, batch: Callable[[int], float]) -> None:
    """Print the step on each network, its efficiency, and the part of the messages it hides.

    Args:
        batch: how many of the batches of the trace each of so many ranks has. The efficiency is
            what a rank gets done in a second, relative to one that is alone.
    """
    alone = trace.of_batch(batch(1)).seconds / batch(1)
    rows: dict[int, list[str]] = {}
    for ranks in RANKS:
        own = trace.of_batch(batch(ranks))
        found = [simulated(own, halving_doubling(ranks, link)) for link in NETWORKS.values()]
        rows[ranks] = [
            f"{step.seconds * 1e3:.1f} ms, {alone * batch(ranks) / step.seconds:.0%}, "
            f"{step.hidden:.0%}"
            for step in found
        ]
    table(f"{title} (step, efficiency, part of the messages hidden)", NETWORKS, rows)


def sizes_of_buckets(title: str, trace: Trace) -> None:
    """Print the smallest buckets with which a step is within a percent of the shortest."""
    rows: dict[int, list[str]] = {}
    for ranks in RANKS[1:]:
        rows[ranks] = []
        for algorithm in ALGORITHMS.values():
            for link in NETWORKS.values():
                message = algorithm(ranks, link)
                seconds = {c: simulated(trace, message, (c * MB,)).seconds for c in CAPS}
                best = [c for c in CAPS if seconds[c] <= 1.01 * min(seconds.values())]
                rows[ranks].append(str(best[0]))
    table(title, [f"{a}, {n}" for a in ALGORITHMS for n in NETWORKS], rows)
