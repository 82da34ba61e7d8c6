"""torch.autograd.profiler: the earlier name of `torch.profiler`."""

from __future__ import annotations

from typing import Any

from nnkit import profiler
from nnkit.profiler import EventList as EventList
from nnkit.profiler import FunctionEvent as FunctionEvent
from nnkit.profiler import record_function as record_function


def _never(step: int) -> profiler.ProfilerAction:
    return profiler.ProfilerAction.NONE


class profile(profiler.profile):
    """A block whose primitives are timed.

    Args:
        enabled: whether they are.
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False, **kwargs: Any) -> None:
        super().__init__(schedule=None if enabled else _never, record_shapes=record_shapes)


class emit_nvtx(profile):
    """A block without effect."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        super().__init__(False)
