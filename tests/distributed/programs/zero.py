"""`ZeroRedundancyOptimizer` against the optimizer itself, over 50 steps, with states that move.

... zero.py FRAMEWORK
"""

from __future__ import annotations

import copy
import sys
from importlib import import_module
from typing import Any

from tests.distributed.programs.ending import leave

FRAMEWORK = sys.argv[1]
T: Any = import_module(FRAMEWORK)
dist: Any = import_module(f"{FRAMEWORK}.distributed")
ZERO: Any = import_module(f"{FRAMEWORK}.distributed.optim").ZeroRedundancyOptimizer
nn: Any = T.nn
STEPS = 50


def train(model: Any, optimizer: Any, start: int, steps: int) -> None:
    for step in range(start, start + steps):
        T.manual_seed(step)
        x, y = T.randn(6, 5, dtype=T.float64), T.randn(6, 2, dtype=T.float64)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def check(a: Any, b: Any) -> None:
    for p, q in zip(a.parameters(), b.parameters()):
        assert bool((p == q).all()), float((p - q).abs().max())


def groups(model: Any) -> list:
    return [
        {"params": list(model[0].parameters()), "lr": 0.02},
        {"params": list(model[2].parameters())},
    ]


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for name, options in (
        ("SGD", {"lr": 0.1, "momentum": 0.9}), ("AdamW", {"lr": 0.01, "weight_decay": 0.1})
    ):  # fmt: skip
        kind = getattr(T.optim, name)
        T.manual_seed(0)
        alone = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2)).double()
        shared = copy.deepcopy(alone)
        own = kind(groups(alone), **options)
        zero = ZERO(groups(shared), kind, **options)
        train(alone, own, 0, STEPS)
        train(shared, zero, 0, STEPS)
        check(alone, shared)
        kept = sum(
            len(zero.optim.state[p]) > 0 for p in shared.parameters() if p in zero.optim.state
        )
        assert kept < 4 or dist.get_world_size() == 1, "each rank keeps a part"
        zero.consolidate_state_dict(to=0)
        if rank == 0:
            saved, expected = zero.state_dict(), own.state_dict()
            assert saved["param_groups"][0]["lr"] == expected["param_groups"][0]["lr"]
            assert saved["state"].keys() == expected["state"].keys()
            again = kind(groups(alone), **options)
            again.load_state_dict(saved)  # one process goes on
        box = [zero.state_dict() if rank == 0 else None]
        dist.broadcast_object_list(box, src=0)
        fresh = ZERO(groups(shared), kind, **options)
        fresh.load_state_dict(box[0])
        for group in (*own.param_groups, *fresh.param_groups):
            group["lr"] *= 0.5
        train(alone, own, STEPS, 5)
        train(shared, fresh, STEPS, 5)
        check(alone, shared)
    try:
        ZERO(groups(shared), kind, **options).state_dict()
    except RuntimeError as error:
        assert "has not been consolidated on this rank" in str(error)
    else:
        raise AssertionError
    leave(dist)


main()
