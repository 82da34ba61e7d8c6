"""One rank is killed at a random moment of some work; the others tell what became of theirs.

... killed.py SEED, or: start (rank 1 is killed before it starts MPI)
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import nnkit
import nnkit.distributed as dist
from nnkit.backend import rendezvous
from nnkit.distributed.fsdp import fully_shard
from nnkit.nn.parallel import DistributedDataParallel

SEED = 0 if sys.argv[1] == "start" else int(sys.argv[1])
TIMEOUT = timedelta(seconds=10)


def collectives() -> None:
    x, outs = nnkit.ones(1000), [nnkit.zeros(1000) for _ in range(dist.get_world_size())]
    works = [dist.all_reduce(x, async_op=True), dist.broadcast(x, 1, async_op=True)]
    dist.all_gather(outs, x)
    dist.all_to_all(outs, [x] * len(outs))
    for work in works:
        assert work is not None
        work.wait()


def large() -> None:
    dist.all_reduce(nnkit.ones(1_000_000))


def objects() -> None:
    dist.all_gather_object([None] * dist.get_world_size(), {"a": [1] * 100})


def messages() -> None:
    rank, size = dist.get_rank(), dist.get_world_size()
    if rank == 0:
        for other in range(1, size):
            dist.recv(nnkit.zeros(10), other)
    else:
        dist.send(nnkit.ones(10), 0)


def meetings() -> None:
    dist.barrier()
    dist.monitored_barrier()


def groups() -> None:
    group = dist.new_group()
    dist.all_reduce(nnkit.ones(1), group=group)
    dist.destroy_process_group(group)


def training(wrap: Callable) -> Callable[[], None]:
    def step() -> None:
        if not made:
            made.append(wrap(nnkit.nn.Sequential(nnkit.nn.Linear(20, 20), nnkit.nn.Linear(20, 5))))
            made.append(nnkit.optim.Adam(made[0].parameters()))
        made[0](nnkit.ones(8, 20)).sum().backward()
        made[1].step()
        made[1].zero_grad()

    made: list[Any] = []
    return step


KINDS: list[Callable[[], None]] = [
    collectives, large, objects, messages, meetings, groups,
    training(DistributedDataParallel), training(fully_shard),
]  # fmt: skip


def _died(met: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)
    return met


def main() -> None:
    draw = random.Random(SEED)
    victim, seconds, size = draw.randrange(3), draw.uniform(0.0, 0.5), int(os.environ["WORLD_SIZE"])
    begins_early = draw.random() < 0.15  # perhaps before the ranks have found each other
    rank = int(os.environ["RANK"])

    def arm() -> None:
        if rank == victim % size:
            timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
            timer.daemon = True
            timer.start()

    if begins_early:
        arm()
    if sys.argv[1] == "start":
        meet = rendezvous.join
        rendezvous.join = lambda *place: _died(meet(*place)) if rank == 1 else meet(*place)
    start = time.monotonic()
    try:
        dist.init_process_group("gloo", timeout=TIMEOUT)
        nnkit.manual_seed(0)
        work = KINDS[SEED % len(KINDS)]
        work()
        if not begins_early:
            arm()
        start = time.monotonic()
        while True:
            work()
    except RuntimeError as error:
        late = time.monotonic() - start - seconds
        os.write(1, f"rank {rank}|{victim % size}|{late:.2f}|{error}\n".encode())
        raise


main()
