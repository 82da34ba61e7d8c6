"""The most memory that a rank has held in a training of 50 million parameters.

    ... memory.py FRAMEWORK

One rank has the whole model, several have it in shards.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

FRAMEWORK = sys.argv[1]
T: Any = import_module(FRAMEWORK)
dist: Any = import_module(f"{FRAMEWORK}.distributed")
fully_shard: Any = import_module(f"{FRAMEWORK}.distributed.fsdp").fully_shard
LAYERS, WIDTH, BATCH, STEPS = 12, 2048, 16, 4


def peak() -> float:
    """The most resident memory of this process so far, in MiB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def main() -> None:
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    T.manual_seed(0)
    layers = []
    for _ in range(LAYERS):
        layers += [T.nn.Linear(WIDTH, WIDTH), T.nn.Tanh()]
    model = T.nn.Sequential(*layers)
    if size > 1:
        for layer in model[::2]:
            fully_shard(layer)
        fully_shard(model)
    optimizer = T.optim.Adam(model.parameters(), 1e-4)
    x = T.randn(BATCH, WIDTH)[rank::size]
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    print(f"{peak():.0f} MiB\n", end="", flush=True)
    dist.barrier()
    dist.destroy_process_group()


main()
