"""Ranks that a program starts itself, without a launcher; they meet at an address, in a file, by
the environment or by a store. And what becomes of them when one fails.

... spawned.py METHOD [FAILS]
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import Any

import nnkit
import nnkit.distributed as dist
import nnkit.multiprocessing as mp


def work(rank: int, size: int, method: str, fails: bool, shared: Any) -> None:
    timeout = timedelta(seconds=30)
    if method.startswith("store:"):
        store = dist.TCPStore("localhost", int(method[6:]), size, rank == 0, timeout)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    elif method.startswith("env:"):
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", method[4:]
        dist.init_process_group("gloo", rank=rank, world_size=size)
    else:
        dist.init_process_group("gloo", init_method=method, rank=rank, world_size=size)
    if fails and rank == 1:
        raise ValueError("the reason")
    x = nnkit.ones(3) * rank
    dist.all_reduce(x)
    assert x.tolist() == [1.0] * 3
    shared[rank] = rank + 1
    dist.destroy_process_group()


if __name__ == "__main__":
    shared = nnkit.zeros(2)
    mp.spawn(work, (2, sys.argv[1], "fails" in sys.argv, shared), nprocs=2)
    assert shared.tolist() == [1.0, 2.0]
    print("passed")
