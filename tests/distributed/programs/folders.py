"""Shards saved in a folder by some ranks, while they go on, and loaded by others.

    ... folders.py FRAMEWORK FOLDER HOW

HOW is ``save``, ``async_save`` or ``load``. All kinds of placements are in the state.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

FRAMEWORK, FOLDER, HOW = sys.argv[1:4]
T: Any = import_module(FRAMEWORK)
dist: Any = import_module(f"{FRAMEWORK}.distributed")
checkpoint: Any = import_module(f"{FRAMEWORK}.distributed.checkpoint")
tensor: Any = import_module(f"{FRAMEWORK}.distributed.tensor")
init_device_mesh: Any = import_module(f"{FRAMEWORK}.distributed.device_mesh").init_device_mesh


def state_of(whole: Any, step: int) -> dict[str, Any]:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    placements = {"rows": tensor.Shard(0), "columns": tensor.Shard(1), "copies": tensor.Replicate()}
    shards = {
        name: tensor.distribute_tensor(whole.clone(), mesh, [placement])
        for name, placement in placements.items()
    }
    return shards | {"plain": whole.clone(), "step": step}


def main() -> None:
    dist.init_process_group("gloo")
    whole = T.arange(35.0).view(7, 5)
    if HOW == "load":
        state = state_of(T.zeros(7, 5), 0)
        checkpoint.load(state, checkpoint_id=FOLDER)
        assert state.pop("step") == 3
        for name, value in state.items():
            found = value if name == "plain" else value.full_tensor()
            assert T.equal(found, whole), name
    elif HOW == "save":
        checkpoint.save(state_of(whole, 3), checkpoint_id=FOLDER)
    else:
        saving = checkpoint.async_save(state_of(whole, 3), checkpoint_id=FOLDER)
        for _ in range(10):
            x = T.ones(3)
            dist.all_reduce(x)
            assert x.tolist() == [dist.get_world_size()] * 3
        saving.result()
    dist.barrier()
    dist.destroy_process_group()


main()
