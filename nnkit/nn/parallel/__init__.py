"""One module on several GPUs, or in several processes."""

from __future__ import annotations

from typing import Any

from nnkit.nn.parallel.data_parallel import DataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]


def __getattr__(name: str) -> Any:
    # Whoever has one process does not pay for importing process groups.
    if name == "DistributedDataParallel":
        from nnkit.nn.parallel.distributed import DistributedDataParallel

        return DistributedDataParallel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
