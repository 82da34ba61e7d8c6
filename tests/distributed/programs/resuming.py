"""A training that saves its state every other step, and goes on from what it finds.

    ... resuming.py FRAMEWORK FOLDER KIND STEPS

KIND is ``parallel`` or ``sharded``. Rank 0 prints the weights' checksum at the end. Killed at any
moment and started again on another number of ranks, it comes to the same weights.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from tests.distributed.programs.models import mlp, sample

FRAMEWORK, FOLDER, KIND, STEPS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
T: Any = import_module(FRAMEWORK)
dist: Any = import_module(f"{FRAMEWORK}.distributed")
checkpoint: Any = import_module(f"{FRAMEWORK}.distributed.checkpoint")
states: Any = import_module(f"{FRAMEWORK}.distributed.checkpoint.state_dict")
fully_shard: Any = import_module(f"{FRAMEWORK}.distributed.fsdp").fully_shard
nn: Any = T.nn


def made() -> Any:
    T.manual_seed(0)
    model = mlp().double()
    if KIND == "parallel":
        return nn.parallel.DistributedDataParallel(model)
    for layer in (model[0], model[2]):
        fully_shard(layer)
    return fully_shard(model)


def state_of(model: Any, optimizer: Any, step: int) -> dict[str, Any]:
    of_model, of_optimizer = states.get_state_dict(model, optimizer)
    return {"model": of_model, "optimizer": of_optimizer, "step": step}


def main() -> None:
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    model = made()
    optimizer = T.optim.Adam(model.parameters(), 1e-2)
    step = 0
    if any(name == ".metadata" for name in os.listdir(FOLDER)):
        state = state_of(model, optimizer, 0)
        checkpoint.load(state, checkpoint_id=FOLDER)
        states.set_state_dict(
            model, optimizer,
            model_state_dict=state["model"], optim_state_dict=state["optimizer"],
        )  # fmt: skip
        step = state["step"]
        print(f"goes on at {step}", flush=True)
    while step < STEPS:
        x, y = sample("mlp", step)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rank::size].contiguous()), y[rank::size])
        loss.backward()
        optimizer.step()
        step += 1
        if step % 2 == 0:
            checkpoint.save(state_of(model, optimizer, step), checkpoint_id=FOLDER)
    options = states.StateDictOptions(full_state_dict=True)
    full = states.get_model_state_dict(model, options=options)
    total = sum(float((p * T.arange(p.numel()).view(p.shape).sin()).sum()) for p in full.values())
    if rank == 0:
        print(f"checksum {total:.15g}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


main()
