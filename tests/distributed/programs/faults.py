"""One rank does what it should not; the others tell what became of their call.

... faults.py KIND
"""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta
from typing import Any

import nnkit
import nnkit.distributed as dist

MISMATCHES = {
    "shape": lambda x, group: dist.all_reduce(nnkit.ones(4), group=group),
    "dtype": lambda x, group: dist.all_reduce(nnkit.ones(3, dtype=nnkit.float64), group=group),
    "call": lambda x, group: dist.broadcast(x, 0, group=group),
    "op": lambda x, group: dist.all_reduce(x, op=dist.ReduceOp.MAX, group=group),
}


def misbehave(kind: str, x: Any, group: Any) -> None:
    if kind == "raise":
        raise ValueError("the reason")
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "exit":
        sys.exit(0)
    elif kind == "sleep":
        time.sleep(30)
    elif kind in MISMATCHES:
        MISMATCHES[kind](x, group)


def run(kind: str, group: Any) -> bool:
    """Whether a call has failed, as it is told."""
    x = nnkit.ones(3)
    dist.all_reduce(x, group=group)
    start = time.monotonic()
    try:
        if dist.get_rank() == 1:
            misbehave(kind, x, group)
        elif kind == "monitored":
            dist.monitored_barrier(group)
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
