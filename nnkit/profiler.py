"""The time of a program, by the primitives that pass the door and by named blocks.

with nnkit.profiler.profile() as profiler:
    step()
print(profiler.key_averages().table(sort_by="self_cpu_time_total"))
"""

from __future__ import annotations

import enum
import functools
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from nnkit.backend.cost import is_array
from nnkit.backend.device import cpu
from nnkit.backend.door import Doorkeeper, standing

__all__ = [
    "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


class ProfilerActivity(enum.Enum):
    """The kinds of activity that can be profiled; here it is the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """The kinds of steps of a profiler."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """The kinds of activity that can be profiled here."""
    return {ProfilerActivity.CPU}


@dataclass(eq=False)
class FunctionEvent:
    """One call of a primitive, or one run of a named block; times are in microseconds."""

    name: str
    start: float
    thread: int
    input_shapes: list[list[int]]
    end: float = 0.0
    cpu_children: list[FunctionEvent] = field(default_factory=list)
    count: int = 1

    @property
    def key(self) -> str:
        """The name under which it is counted: that of all steps is one."""
        return "ProfilerStep*" if self.name.startswith("ProfilerStep#") else self.name

    @property
    def cpu_time_total(self) -> float:
        """The time from start to end."""
        return self.end - self.start

    @property
    def cpu_time(self) -> float:
        """The time of the call."""
        return self.cpu_time_total / self.count

    @property
    def self_cpu_time_total(self) -> float:
        """The time without that of the calls it has made."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)


@dataclass
class FunctionEventAvg:
    """All events of a name; times are in microseconds."""

    key: str
    input_shapes: list[list[int]]
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    device_time_total = self_device_time_total = cuda_time_total = self_cuda_time_total = 0.0

    @property
    def cpu_time(self) -> float:
        """The mean time of a call."""
        return self.cpu_time_total / self.count


class EventList(list):
    """Events, with their sums by name."""

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """The events of each name together."""
        found: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else []
            new = FunctionEventAvg(event.key, shapes)
            average = found.setdefault((event.key, str(shapes)), new)
            average.count += 1
            average.cpu_time_total += event.cpu_time_total
            average.self_cpu_time_total += event.self_cpu_time_total
        return EventList(found.values())

    def total_average(self) -> FunctionEventAvg:
        """All events together."""
        total = FunctionEventAvg("Total", [])
        for event in self:
            total.count += event.count
            total.self_cpu_time_total += event.self_cpu_time_total
        total.cpu_time_total = total.self_cpu_time_total
        return total

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The averages as a text, largest first if ``sort_by`` names a number of theirs."""
        rows = list(self)
        if sort_by is not None:
            rows.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        whole = self.self_cpu_time_total or 1.0
        with_shapes = any(event.input_shapes for event in rows)
        head = ["Name", "Self CPU %", "Self CPU", "CPU total", "CPU time avg", "# of Calls"]
        lines = [head + ["Input Shapes"] * with_shapes]
        for event in rows[: row_limit if row_limit >= 0 else None]:
            name, limit = event.key, max_name_column_width
            lines.append([
                name if len(name) <= limit else name[: limit - 3] + "...",
                f"{100 * event.self_cpu_time_total / whole:.2f}%",
                *map(_time, (event.self_cpu_time_total, event.cpu_time_total, event.cpu_time)),
                str(event.count),
                *[str(event.input_shapes)[:max_shapes_column_width]] * with_shapes,
            ])  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        rule = "  ".join("-" * width for width in widths)
        text = ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
        total = f"Self CPU time total: {_time(self.self_cpu_time_total)}"
        return "\n".join(
            [*([header] if header else []), rule, text[0], rule, *text[1:], rule, total]
        )

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file that chrome://tracing and Perfetto show."""
        events = [
            {
                "ph": "X", "cat": "cpu_op", "name": e.name, "pid": os.getpid(), "tid": e.thread,
                "ts": e.start, "dur": e.cpu_time_total, "args": {"Input Dims": e.input_shapes},
            }
            for e in self
        ]  # fmt: skip
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schemaVersion": 1, "traceEvents": events}, file)


def _time(microseconds: float) -> str:
    for limit, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= limit:
            return f"{microseconds / limit:.3f}{unit}"
    return f"{microseconds:.3f}us"


class _Watch:
    """The events that a running profiler has seen."""

    def __init__(self, shapes: bool) -> None:
        self.shapes = shapes
        self.events = EventList()
        self._open = threading.local()

    def begin(self, name: str, arguments: tuple = ()) -> FunctionEvent:
        shapes = [list(a.shape) for a in arguments if is_array(a)] if self.shapes else []
        event = FunctionEvent(name, 0.0, threading.get_ident(), shapes)
        running = self._running()
        if running:
            running[-1].cpu_children.append(event)
        running.append(event)
        self.events.append(event)
        event.start = time.perf_counter_ns() / 1000
        return event

    def finish(self, event: FunctionEvent) -> None:
        event.end = time.perf_counter_ns() / 1000
        running = self._running()
        while running and running.pop() is not event:
            pass

    def _running(self) -> list[FunctionEvent]:
        if not hasattr(self._open, "events"):
            self._open.events = []
        return self._open.events


_watches: list[_Watch] = []


class _Keeper(Doorkeeper):
    """Tells a watch of every primitive."""

    def __init__(self, backend: Any, watch: _Watch) -> None:
        super().__init__(backend)
        self._watch = watch

    def passed(self, name: str, function: Callable[..., Any], arguments: tuple) -> Any:
        event = self._watch.begin(name, arguments)
        try:
            return function(*arguments)
        finally:
            self._watch.finish(event)


class record_function:
    """A block, or a function, that profilers show by a name.

    Example:
        >>> import nnkit
        >>> with nnkit.profiler.profile() as profiler, nnkit.profiler.record_function("mine"):
        ...     x = nnkit.ones(2).sum()
        >>> [event.key for event in profiler.key_averages()]
        ['mine', 'full', 'sum']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def __enter__(self) -> record_function:
        self._events = [(watch, watch.begin(self.name)) for watch in _watches]
        return self

    def __exit__(self, *exception: Any) -> None:
        for watch, event in self._events:
            watch.finish(event)

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def named(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return named


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
    skip_first_wait: int = 0, **kwargs: Any,
) -> Callable[[int], ProfilerAction]:  # fmt: skip
    """A schedule of steps for a profiler: wait, warm up, record, and so on from the beginning.

    Args:
        wait, warmup, active: how many steps of each kind.
        repeat: how often; without end if 0.
        skip_first: steps before the first.

    Raises:
        AssertionError: a number is negative, or no step is recorded.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError("Invalid profiler schedule arguments")

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == cycle - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """An ``on_trace_ready`` that writes a trace into a folder, for TensorBoard's plugin."""
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def write(profiler: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' * use_gzip}"
        profiler.export_chrome_trace(os.path.join(dir_name, name))

    return write


class profile:
    """A block whose primitives are timed.

    Args:
        activities: what is looked at; what cannot be is left out.
        schedule: what is done in each step, see `schedule`; `step` tells of the next.
        on_trace_ready: called with the profiler when steps have been recorded.
        record_shapes: keep the shapes of arguments.
        profile_memory, with_stack, with_flops, with_modules: without effect.

    Attributes:
        step_num: the number of the step.

    Source: ``torch.profiler.profile``.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
        **kwargs: Any,
    ) -> None:
        self.schedule = schedule or _always
        self.on_trace_ready, self.record_shapes = on_trace_ready, record_shapes
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._stack: ExitStack | None = None
        self._watch = _Watch(record_shapes)
        self._step: record_function | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin."""
        self._begin()

    def stop(self) -> None:
        """End; what was recorded is handed to ``on_trace_ready``."""
        recorded = self._stack is not None
        self._end()
        if recorded and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self) -> None:
        """Tell that the next step begins."""
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._end()
        if before is ProfilerAction.RECORD_AND_SAVE and self.on_trace_ready is not None:
            self.on_trace_ready(self)
        if before is not ProfilerAction.RECORD:
            if self.current_action.name.startswith("RECORD"):
                self._watch = _Watch(self.record_shapes)
        self._begin()

    def _begin(self) -> None:
        if not self.current_action.name.startswith("RECORD"):
            return
        self._stack = ExitStack()
        self._stack.enter_context(standing(lambda b: _Keeper(b, self._watch), cpu))
        _watches.append(self._watch)
        self._stack.callback(_watches.remove, self._watch)
        if self.schedule is not _always:
            self._stack.enter_context(record_function(f"ProfilerStep#{self.step_num}"))

    def _end(self) -> None:
        if self._stack is not None:
            self._stack.close()
            self._stack = None

    def events(self) -> EventList:
        """Every call, in order."""
        return self._watch.events

    def key_averages(self, group_by_input_shape: bool = False, **kwargs: Any) -> EventList:
        """The calls of each name together."""
        return self._watch.events.key_averages(group_by_input_shape)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as a file that chrome://tracing and Perfetto show; packed for .gz."""
        self._watch.events.export_chrome_trace(path)
        if path.endswith(".gz"):
            import gzip

            with open(path, "rb") as file:
                text = file.read()
            with gzip.open(path, "wb") as packed:
                packed.write(text)

    def add_metadata(self, key: str, value: str) -> None:
        """Metadata is not kept."""
