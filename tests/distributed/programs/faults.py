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

KIND = sys.argv[1]


def misbehave(x: Any) -> None:
    if KIND == "raise":
        raise ValueError("the reason")
    if KIND == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif KIND == "exit":
        sys.exit(0)
    elif KIND == "sleep":
        time.sleep(30)
    elif KIND == "shape":
        dist.all_reduce(nnkit.ones(4))
    elif KIND == "dtype":
        dist.all_reduce(nnkit.ones(3, dtype=nnkit.float64))
    elif KIND == "call":
        dist.broadcast(x, 0)
    elif KIND == "op":
        dist.all_reduce(x, op=dist.ReduceOp.MAX)
    elif KIND == "group":
        dist.new_group([0, 1])


def main() -> None:
    dist.init_process_group(timeout=timedelta(seconds=1.5))
    x = nnkit.ones(3)
    dist.all_reduce(x)
    start = time.monotonic()
    try:
        if dist.get_rank() == 1:
            misbehave(x)
        elif KIND == "monitored":
            dist.monitored_barrier()
        else:
            dist.all_reduce(x)
    except RuntimeError as error:
        seconds = time.monotonic() - start
        os.write(1, f"{dist.get_rank()}|{seconds:.2f}|{error}\n".encode())  # in one piece
        sys.exit(1)


main()
