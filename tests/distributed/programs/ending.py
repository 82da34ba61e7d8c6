"""The end of a program of several ranks."""

from __future__ import annotations

import os
from typing import Any


def leave(dist: Any) -> None:
    """Wait for the other ranks, leave the groups and tell that all has passed."""
    dist.barrier()
    dist.destroy_process_group()
    print("passed", flush=True)
    if dist.__name__.startswith("torch."):
        os._exit(0)  # threads that torch's groups leave behind may abort a process that returns
