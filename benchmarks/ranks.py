"""``python -m benchmarks ranks``: what collectives cost, how much of them backward hides, and what
that lets expect of more ranks.

The program starts itself on so many ranks of one thread each. Times are medians; on a machine with
fewer cores than ranks they say little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import nnkit
import nnkit.distributed as dist
from nnkit import nn, optim
from nnkit.distributed import run as launcher
from nnkit.nn.parallel import DistributedDataParallel

SIZES = (8, 1 << 10, 1 << 16, 1 << 20, 1 << 24)  # bytes on each rank
PREDICTED = (2, 4, 8, 16, 64)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each figure")
    parser.add_argument("--seconds", type=float, default=0.1, help="how long each of them takes")
    parser.add_argument("--width", type=int, default=512, help="of the layers of the model")
    parser.add_argument("--batch", type=int, default=128, help="of each rank")


def run(options: argparse.Namespace) -> None:
    arguments = [f"--{name}={value}" for name, value in vars(options).items() if name != "threads"]
    start = ["--standalone", "--nproc-per-node", str(options.ranks), "-m", "benchmarks.ranks"]
    os.environ["OMP_NUM_THREADS"] = str(options.threads or 1)
    if code := launcher.main([*start, *arguments]):
        sys.exit(code)


def calls(elements: int) -> dict[str, Callable[[], Any]]:
    """Each collective on so many floats of each rank."""
    ranks = dist.get_world_size()
    own, whole = nnkit.ones(elements), nnkit.ones(elements * ranks)
    return {
        "all_reduce": lambda: dist.all_reduce(own, dist.ReduceOp.MAX),
        "reduce": lambda: dist.reduce(own, 0, dist.ReduceOp.MAX),
        "broadcast": lambda: dist.broadcast(own, 0),
        "all_gather": lambda: dist.all_gather_into_tensor(whole, own),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(own, whole, dist.ReduceOp.MAX),
        "all_to_all": lambda: dist.all_to_all_single(whole, whole.clone()),
    }


def seconds_of(step: Callable[[], Any], options: argparse.Namespace) -> float:
    """The median time of a step that all ranks make; rank 0's, which all get."""
    step()
    dist.barrier()
    start = time.perf_counter()
    step()
    once = nnkit.tensor([time.perf_counter() - start])
    dist.all_reduce(once, dist.ReduceOp.MAX)
    count = max(1, int(options.seconds / max(once.item(), 1e-6)))
    found = []
    for _ in range(options.rounds):
        dist.barrier()
        start = time.perf_counter()
        for _ in range(count):
            step()
        found.append((time.perf_counter() - start) / count)
    median = nnkit.tensor([statistics.median(found)], dtype=nnkit.float64)
    dist.broadcast(median, 0)
    return median.item()


def collectives(options: argparse.Namespace) -> tuple[float, float]:
    """Print the table; latency and seconds a byte of `all_reduce`, the line through its ends."""
    tell(f"{'us a call':16}" + "".join(f"{size:>12,} B" for size in SIZES) + f"{'GB/s':>9}")
    times = {name: [] for name in calls(1)}
    for size in SIZES:
        for name, call in calls(size // 4).items():
            times[name].append(seconds_of(call, options))
    for name, row in times.items():
        words = "".join(f"{seconds * 1e6:14.1f}" for seconds in row)
        tell(f"{name:16}{words}{SIZES[-1] / row[-1] / 1e9:9.2f}")
    small, large = times["all_reduce"][0], times["all_reduce"][-1]
    return small, (large - small) / SIZES[-1]


def model_of(options: argparse.Namespace) -> nn.Module:
    nnkit.manual_seed(0)
    layers = [(nn.Linear(options.width, options.width), nn.ReLU()) for _ in range(8)]
    return nn.Sequential(*[part for pair in layers for part in pair])


def steps(options: argparse.Namespace) -> dict[str, Callable[[], Any]]:
    """A step without others, one with them, and its messages alone."""
    x = nnkit.randn(options.batch, options.width)
    own = model_of(options)
    parallel = DistributedDataParallel(model_of(options), bucket_cap_mb=2)

    def step_of(model: nn.Module) -> Callable[[], Any]:
        optimizer = optim.SGD(model.parameters(), 1e-6)

        def step() -> None:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

        return step

    def messages() -> None:
        works: list[Any] = [dist.all_reduce(b.flat, async_op=True) for b in parallel._buckets]
        for work in works:
            work.wait()

    both = step_of(parallel)
    for _ in range(2):
        both()  # after which the buckets are made anew
    return {"alone": step_of(own), "parallel": both, "messages": messages}


def backward_trace(options: argparse.Namespace) -> tuple[float, list[tuple[float, int]]]:
    """Seconds of a backward, and of each bucket when it is full and its bytes; without messages."""
    model = DistributedDataParallel(model_of(options), bucket_cap_mb=2)
    x = nnkit.randn(options.batch, options.width)
    for _ in range(2):
        model(x).square().mean().backward()
    came: dict[Any, float] = {}
    for p in model.module.parameters():
        p.register_hook(lambda g, p=p: came.__setitem__(p, time.perf_counter()))
    with model.no_sync():
        loss = model(x).square().mean()
        start = time.perf_counter()
        loss.backward()
        end = time.perf_counter() - start
    buckets = model._buckets
    return end, [(max(came[p] for p in b.parameters) - start, b.flat.nbytes) for b in buckets]


def simulated(
    ranks: int,
    before: float,
    backward: float,
    buckets: list[tuple[float, int]],
    latency: float,
    per_byte: float,
) -> float:
    """Seconds of a step: buckets leave when they are full, one after another.

    An `all_reduce` of n bytes in a ring takes ``2 (R - 1) latency + 2 (R - 1) / R n per_byte``; the
    figures that were measured on two ranks are ``2 latency`` and ``per_byte``.
    """
    free = 0.0
    for full, size in buckets:
        duration = (ranks - 1) * latency + 2 * (ranks - 1) / ranks * size * per_byte
        free = max(full, free) + duration
    return before + max(backward, free)


def tell(text: str) -> None:
    if dist.get_rank() == 0:
        print(text, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    options = parser.parse_args()
    dist.init_process_group()
    latency, per_byte = collectives(options)
    seconds = {name: seconds_of(step, options) for name, step in steps(options).items()}
    alone, together, sent = (seconds[name] for name in ("alone", "parallel", "messages"))
    hidden = 1 - max(together - alone, 0) / sent
    tell(
        f"\nms a step: alone {alone * 1e3:.2f}, parallel {together * 1e3:.2f} "
        f"({together / alone:.2f} times), its messages alone {sent * 1e3:.2f}: "
        f"{hidden:.0%} of them hidden"
    )
    backward, buckets = backward_trace(options)
    figures = (max(alone - backward, 0.0), backward, buckets, latency, per_byte)
    predicted = {ranks: simulated(ranks, *figures) for ranks in PREDICTED}
    tell("predicted, times a step alone, with a core and a link for each rank:")
    tell(", ".join(f"{ranks} ranks {time / alone:.2f}" for ranks, time in predicted.items()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
