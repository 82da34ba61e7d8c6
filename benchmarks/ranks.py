"""``python -m benchmarks ranks``: what collectives cost, how much of them backward hides, and
whether a simulation of the step tells the same.

The program starts itself on so many ranks of one thread each. What is compared takes turns, all
ranks at the same time; times are medians over the rounds, of the rank that takes longest. With
``--predict`` it prints what the simulation says of up to 1,024 ranks.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import nnkit
import nnkit.distributed as dist
from benchmarks import ranks_prediction
from benchmarks.ranks_simulation import MB, Line, fitted, simulated, traced
from benchmarks.workloads.sequences import transformer
from nnkit import nn, optim
from nnkit.distributed import run as launcher
from nnkit.distributed.collectives import scale_and_sum
from nnkit.distributed.groups import default_group
from nnkit.nn import functional as F
from nnkit.nn.parallel import DistributedDataParallel

SIZES = (8, 1 << 10, 1 << 14, 1 << 17, 1 << 20, 1 << 22, 1 << 24)  # bytes on each rank


def perceptron(batch: int | None) -> tuple[nn.Module, Callable[[Any], nnkit.Tensor]]:
    """8 layers of 512 and 8 MB of gradients, for which 128 samples are few."""
    layers = [(nn.Linear(512, 512), nn.ReLU()) for _ in range(8)]
    x = nnkit.randn(batch or 128, 512)
    return nn.Sequential(
        *[part for pair in layers for part in pair]
    ), lambda model: model(x).square().mean()


def gpt(batch: int | None) -> tuple[nn.Module, Callable[[Any], nnkit.Tensor]]:
    """4 layers of width 256 and 12 MB of gradients, for 4 times 64 tokens."""
    tokens = nnkit.randint(0, 65, (batch or 4, 65))
    x, y = tokens[:, :-1], tokens[:, 1:].flatten()
    model = transformer(nnkit, vocabulary=65, length=64, layers=4, width=256, heads=4)
    return model, lambda model: F.cross_entropy(model(x).flatten(0, 1), y)


MODELS = {"mlp": perceptron, "gpt": gpt}
BUCKET_MB = 2


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15, help="turns of everything")
    parser.add_argument("--seconds", type=float, default=0.1, help="how long a turn takes")
    parser.add_argument("--model", choices=MODELS, default="mlp")
    parser.add_argument("--batch", type=int, help="of each rank")
    ranks_prediction.add_options(parser)


def run(options: argparse.Namespace) -> None:
    if options.predict:
        ranks_prediction.run(options)
        return
    names = ("rounds", "seconds", "model", "batch")
    given = {name: getattr(options, name) for name in names}
    arguments = [f"--{name}={value}" for name, value in given.items() if value is not None]
    start = ["--standalone", "--nproc-per-node", str(options.ranks), "-m", "benchmarks.ranks"]
    os.environ["OMP_NUM_THREADS"] = str(options.threads or 1)
    if code := launcher.main([*start, *arguments]):
        sys.exit(code)


def tell(text: str) -> None:
    if dist.get_rank() == 0:
        print(text, flush=True)


@dataclass(frozen=True)
class Turns:
    """Seconds a step, one figure for each round: of the wall's clock and of the processor's."""

    wall: list[float]
    cpu: list[float]

    @property
    def seconds(self) -> float:
        """The median."""
        return statistics.median(self.wall)

    @property
    def cpu_share(self) -> float:
        """The part of the time in which the processor worked."""
        return min(statistics.median(self.cpu) / self.seconds, 1.0)


def turn(step: Callable[[], Any], count: int) -> tuple[float, float]:
    """Seconds a step by both clocks, of the rank that takes longest."""
    dist.barrier()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        step()
    own = [time.perf_counter() - wall, time.process_time() - cpu]
    longest = nnkit.tensor(own, dtype=nnkit.float64) / count
    dist.all_reduce(longest, dist.ReduceOp.MAX)
    return tuple(longest.tolist())


def in_turns(steps: dict[str, Callable[[], Any]], options: argparse.Namespace) -> dict[str, Turns]:
    """Let everything run for some time in each round."""
    counts = {}
    for name, step in steps.items():
        turn(step, 3)  # buckets are made anew after the first
        counts[name] = max(1, int(options.seconds / max(turn(step, 1)[0], 1e-6)))
    rounds = [
        {name: turn(step, counts[name]) for name, step in steps.items()}
        for _ in range(options.rounds)
    ]
    return {name: Turns(*map(list, zip(*(r[name] for r in rounds)))) for name in steps}


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


def collectives(options: argparse.Namespace) -> Line:
    """Print what each takes at each size, and the line through them; that of `all_reduce`."""
    found = [in_turns(calls(size // 4), options) for size in SIZES]
    tell(f"{'us a call':16}" + "".join(f"{size:>12,}" for size in SIZES) + " bytes")
    lines = {}
    for name in found[0]:
        times = [turns[name].seconds for turns in found]
        lines[name] = fitted(SIZES, times)
        tell(f"{name:16}" + "".join(f"{seconds * 1e6:12.1f}" for seconds in times))
    tell(f"\n{'as a line':16}{'us':>12}{'GB/s':>12}{'largest error':>16}")
    for name, line in lines.items():
        errors = [abs(line(n) / turns[name].seconds - 1) for n, turns in zip(SIZES, found)]
        rate = 1e-9 / line.per_byte
        tell(f"{name:16}{line.latency * 1e6:12.1f}{rate:12.2f}{max(errors):16.0%}")
    return lines["all_reduce"]


class Trainer:
    """The same small network on each rank, by itself or with others."""

    def __init__(self, options: argparse.Namespace, group: Any = None, **arguments: Any) -> None:
        nnkit.manual_seed(0)
        self.model: Any
        self.model, self.loss_of = MODELS[options.model](options.batch)
        if group is not None:
            self.model = DistributedDataParallel(
                self.model, process_group=group, bucket_cap_mb=BUCKET_MB, **arguments
            )
        self.optimizer = optim.SGD(self.model.parameters(), 1e-6)

    def loss(self) -> nnkit.Tensor:
        return self.loss_of(self.model)

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.loss().backward()
        self.optimizer.step()

    @cached_property
    def sent(self) -> list[list[nnkit.Tensor]]:
        """Tensors as they travel in a step."""
        found = []
        for bucket in self.model._buckets:
            bucket.store_zeros()
            found += bucket.messages()
            bucket.end()
        return found

    def messages(self) -> None:
        """Those of a step, alone."""
        factor = 1 / dist.get_world_size()
        group = default_group()
        works = [scale_and_sum(message, factor, group) for message in self.sent]
        for work in works:
            work.wait()


class Watch:
    """Notes when the gradients and the messages of a model come.

    Of each step it keeps the seconds of waiting for messages after the last gradient, and the part
    of the time with messages under way that lay before it.
    """

    def __init__(self, trainer: Trainer) -> None:
        self.trainer = trainer
        self.last_gradient = 0.0
        self.leaves: dict[Any, float] = {}
        self.arrives: dict[Any, float] = {}
        self.waits: list[float] = []
        self.before: list[float] = []
        for _ in range(2):
            trainer.step()  # after which the buckets are made anew
        # hooks of parameters would make the model copy gradients that it sends from where they are
        ready = trainer.model._ready

        def comes(*arguments: Any) -> None:
            self.last_gradient = time.perf_counter()
            ready(*arguments)

        trainer.model._ready = comes
        for bucket in trainer.model._buckets:
            self.watch(bucket)

    def watch(self, bucket: Any) -> None:
        send, arrived, receive = bucket.send, bucket.arrived, bucket.receive

        def sends(*arguments: Any) -> None:
            self.leaves[bucket] = time.perf_counter()
            send(*arguments)

        def asks() -> bool:
            found = arrived()
            if found:
                self.arrives.setdefault(bucket, time.perf_counter())
            return found

        def receives() -> None:
            receive()
            self.arrives.setdefault(bucket, time.perf_counter())

        bucket.send, bucket.arrived, bucket.receive = sends, asks, receives

    def step(self) -> None:
        self.arrives.clear()
        self.trainer.step()
        first, last = min(self.leaves.values()), max(self.arrives.values())
        waits = max(last - self.last_gradient, 0.0)
        self.waits.append(waits)
        self.before.append(1 - waits / (last - first))


def overlap(options: argparse.Namespace, message: Line) -> None:
    """Print what messages add to a step, and what the simulation says of it."""
    everybody = dist.group.WORLD
    own_groups = [dist.new_group([rank]) for rank in range(dist.get_world_size())]
    own = own_groups[dist.get_rank()]
    alone, copying = Trainer(options), Trainer(options, own)
    parallel = Trainer(options, everybody)
    views = Trainer(options, everybody, gradient_as_bucket_view=True)
    watch = Watch(Trainer(options, everybody))
    turns = in_turns(
        {
            "rank 0, the others sleep": alone.step if dist.get_rank() == 0 else lambda: None,
            "each rank by itself": alone.step,
            "DDP in groups of one rank": copying.step,
            "DDP": parallel.step,
            "DDP, gradients as views": views.step,
            "DDP, watched": watch.step,
            "the messages alone": parallel.messages,
        },
        options,
    )
    tell(f"\n{'ms a step':28}{'median':>8}{'least':>8}{'most':>8}{'processor':>12}")
    for name, each in turns.items():
        times = "".join(f"{s * 1e3:8.2f}" for s in (each.seconds, min(each.wall), max(each.wall)))
        tell(f"{name:28}{times}{each.cpu_share:12.0%}")
    step, sent = turns["DDP"], turns["the messages alone"]
    for name in ("rank 0, the others sleep", "each rank by itself"):
        ratios = [a / b for a, b in zip(step.wall, turns[name].wall, strict=True)]
        tell(f"DDP takes {statistics.median(ratios):.2f} times {name}")
    waits, before = statistics.median(watch.waits), statistics.median(watch.before)
    trace = traced(copying.model, copying.loss, copying.optimizer, options.rounds)
    by_itself = turns["DDP in groups of one rank"]
    trace = trace.lasting(by_itself.seconds)
    # Where ranks share processors a step has not the whole of one either.
    cpu_share = min(sent.cpu_share / by_itself.cpu_share, 1.0)
    expected = simulated(trace, message, (BUCKET_MB * MB,), cpu_share)
    lasting = sum(m.arrives - m.leaves for m in expected.messages)
    tell(
        f"traced: {waits * 1e3:.2f} ms of waiting after the last gradient, "
        f"{1 - waits / sent.seconds:.0%} of the messages' time hidden; {before:.0%} of the time "
        "with messages under way lay before it"
    )
    added = step.seconds - by_itself.seconds
    tell(f"by the difference of the steps: {1 - added / sent.seconds:.0%} hidden")
    tell(
        f"simulated: a step of {expected.seconds * 1e3:.2f} ms "
        f"({expected.seconds / step.seconds - 1:+.0%}), {expected.waits * 1e3:.2f} ms of waiting, "
        f"{expected.hidden:.0%} hidden by the difference, messages of {lasting * 1e3:.2f} ms "
        f"({lasting / sent.seconds - 1:+.0%})"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    options = parser.parse_args()
    dist.init_process_group()
    overlap(options, collectives(options))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
