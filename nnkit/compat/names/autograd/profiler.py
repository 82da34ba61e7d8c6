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
    """A context manager that times primitives.

    Args:
        enabled: whether they are.
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False, **kwargs: Any) -> None:
        super().__init__(schedule=None if enabled else _never, record_shapes=record_shapes)

    @property
    def function_events(self) -> EventList:
        """Every call, in order."""
        return self.events()

    @property
    def self_cpu_time_total(self) -> float:
        """The microseconds of all calls."""
        return self.events().self_cpu_time_total

    def total_average(self) -> Any:
        """All calls together."""
        return self.events().total_average()

    def table(self, *arguments: Any, **options: Any) -> str:
        """All calls, one a line."""
        return self.events().table(*arguments, **options)

    def __str__(self) -> str:
        return self.table()


class emit_nvtx(profile):
    """A block without effect."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        super().__init__(False)


emit_itt = emit_nvtx
