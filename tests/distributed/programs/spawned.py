"""Ranks that a program starts itself, without a launcher; they meet at an address or in a file."""

from __future__ import annotations

import multiprocessing
import sys

import nnkit
import nnkit.distributed as dist


def work(rank: int, size: int, method: str) -> None:
    dist.init_process_group("gloo", init_method=method, rank=rank, world_size=size)
    x = nnkit.ones(3) * rank
    dist.all_reduce(x)
    assert x.tolist() == [1.0] * 3
    dist.destroy_process_group()
    print("passed", flush=True)


if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=work, args=(r, 2, sys.argv[1])) for r in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    sys.exit(max(process.exitcode or 0 for process in processes))
