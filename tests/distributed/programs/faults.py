"""One rank does what it should not; the others tell what became of their call.

... faults.py KIND...

KIND is a fault, or COLLECTIVE:DIFFERENCE; all of several are of the second form.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import nnkit
import nnkit.distributed as dist

T = nnkit.Tensor

# What is sent where three elements of float32 are expected.
MESSAGES = {
    "message": nnkit.ones(4),
    "message dtype": nnkit.ones(3, dtype=nnkit.int32),
    "large message dtype": nnkit.ones(10**6, dtype=nnkit.int32),
}


def parts(x: T) -> list[T]:
    """A tensor for each rank."""
    return [x.clone() for _ in range(dist.get_world_size())]


def at_root(x: T, root: int) -> list[T] | None:
    return parts(x) if dist.get_rank() == root else None


# Calls with a tensor, a root and an operation, of which one rank has another one than the others.
CALLS: dict[str, Callable[[T, int, Any, Any], Any]] = {
    "all_reduce": lambda x, root, op, group: dist.all_reduce(x, op, group),
    "reduce": lambda x, root, op, group: dist.reduce(x, root, op, group),
    "broadcast": lambda x, root, op, group: dist.broadcast(x, root, group),
    "all_gather": lambda x, root, op, group: dist.all_gather(parts(x), x, group),
    "gather": lambda x, root, op, group: dist.gather(x, at_root(x, root), root, group),
    "scatter": lambda x, root, op, group: dist.scatter(x, at_root(x, root), root, group),
    "reduce_scatter": lambda x, root, op, group: dist.reduce_scatter(x, parts(x), op, group),
    "all_to_all": lambda x, root, op, group: dist.all_to_all(parts(x), parts(x), group),
    "barrier": lambda x, root, op, group: dist.barrier(group),
}


def mismatch(both: str, group: Any) -> None:
    """A collective in which rank 1 differs, and in what, as NAME:KIND."""
    name, kind = both.split(":")
    differs = dist.get_rank() == 1
    x = nnkit.ones(
        4 if differs and kind == "shape" else 3,
        dtype=nnkit.float64 if differs and kind == "dtype" else nnkit.float32,
    )
    root = 1 if differs and kind == "root" else 0
    op = dist.ReduceOp.MAX if differs and kind == "op" else dist.ReduceOp.SUM
    if differs and kind == "call":
        name = "barrier" if name == "all_reduce" else "all_reduce"
    CALLS[name](x, root, op, group)


def misbehave(kind: str, group: Any) -> None:
    if kind == "raise":
        raise ValueError("the reason")
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "exit":
        sys.exit(0)
    elif kind == "sleep":
        time.sleep(30)
    elif kind in MESSAGES:
        for other in (0, 2):
            dist.send(MESSAGES[kind], other, group)


def run(kind: str, group: Any) -> bool:
    """Whether a call has failed, as it is told."""
    x = nnkit.ones(3)
    dist.all_reduce(x, group=group)
    start = time.monotonic()
    try:
        if ":" in kind:
            mismatch(kind, group)
        elif dist.get_rank() == 1:
            misbehave(kind, group)
        elif kind == "monitored":
            dist.monitored_barrier(group)
        elif kind in MESSAGES:
            dist.recv(x, 1, group)
        else:
            dist.all_reduce(x, group=group)
    except RuntimeError as error:
        seconds = time.monotonic() - start
        told = f"{kind}|{dist.get_rank()}|{seconds:.2f}|{error}\n"
        os.write(1, told.encode())  # in one piece
        return True
    return False


def main() -> None:
    timeout = timedelta(seconds=2.5)
    dist.init_process_group(timeout=timeout)
    failed = [run(kind, dist.new_group(timeout=timeout)) for kind in sys.argv[1:]]
    sys.exit(any(failed))


main()
