"""torch.autograd.profiler_util: lists of timed calls, see `nnkit.profiler`."""

from __future__ import annotations

from nnkit.profiler import EventList as EventList
from nnkit.profiler import FunctionEvent as FunctionEvent
from nnkit.profiler import FunctionEventAvg as FunctionEventAvg
from nnkit.profiler import _time as _format_time

__all__ = ["_format_time"]
