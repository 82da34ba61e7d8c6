"""torch.nn.parallel.distributed: one model in many processes, which nnkit cannot do yet."""

from __future__ import annotations

from typing import Any

from nnkit.nn import Module


class DistributedDataParallel(Module):
    """A class to ask whether a module is of it; no module is.

    Raises:
        RuntimeError: one is to be made: there is no process group.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "DistributedDataParallel: nnkit has no process groups; this is one process"
        )
