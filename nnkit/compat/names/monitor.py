"""torch.monitor: events, which are passed to handlers, and statistics, which are logged as such."""

from __future__ import annotations

import datetime
import enum
import operator
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "STAT_EVENT",
    "Aggregation",
    "Event",
    "EventHandlerHandle",
    "Stat",
    "TensorboardEventHandler",
    "log_event",
    "register_event_handler",
    "unregister_event_handler",
]

STAT_EVENT = "torch.monitor.Stat"


class Aggregation(enum.Enum):
    """The statistics of a `Stat`. ``VALUE`` has no effect, as in torch."""

    VALUE = 0
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6

    def __int__(self) -> int:
        return self.value


class Event:
    """An event: a name, a time, and data, numbers or strings by name.

    Raises:
        TypeError: an argument is of another type.
    """

    def __init__(self, name: str, timestamp: datetime.datetime, data: dict[str, Any]) -> None:
        given = (name, str), (timestamp, datetime.datetime), (data, dict)
        if not all(isinstance(value, kind) for value, kind in given) or not all(
            isinstance(value, (int, float, str)) for value in data.values()
        ):
            raise TypeError(
                "Event(): expected a name, a datetime, and a dict of numbers or strings"
            )
        self.name = name
        self.timestamp = timestamp
        self.data = {k: float(v) if v is True or v is False else v for k, v in data.items()}


class EventHandlerHandle:
    """The handle of a registered handler, for `unregister_event_handler`."""

    def __init__(self, callback: Callable[[Event], None]) -> None:
        self._callback = callback


_handles: list[EventHandlerHandle] = []


def register_event_handler(callback: Callable[[Event], None]) -> EventHandlerHandle:
    """Call ``callback(event)`` for each event from now on."""
    _handles.append(EventHandlerHandle(callback))
    return _handles[-1]


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Remove a handler of events."""
    if handler in _handles:
        _handles.remove(handler)


def log_event(event: Event) -> None:
    """Call all handlers with an event.

    Raises:
        TypeError: it is no `Event`.
    """
    if not isinstance(event, Event):
        raise TypeError(f"log_event(): expected an Event, got {type(event).__name__}")
    for handle in [*_handles]:
        handle._callback(event)


class Stat:
    """Statistics of added numbers, logged as an `Event` once in each window of time.

    Args:
        name: the prefix of the names in the event's data, such as ``loss.mean``.
        aggregations: the statistics to log.
        window_size: the length of a window; remaining values are logged at the end.
        max_samples: with so many values a window is logged at once, and its further values are
            dropped.

    Raises:
        TypeError: an argument is of another type.
        ValueError: the window is not positive.
    """

    def __init__(
        self,
        name: str,
        aggregations: Sequence[Aggregation],
        window_size: datetime.timedelta,
        max_samples: int = sys.maxsize,
    ) -> None:
        self._values: list[float] = []
        if not isinstance(window_size, datetime.timedelta) or not all(
            isinstance(each, Aggregation) for each in aggregations
        ):
            raise TypeError("Stat(): expected a name, Aggregations and a timedelta")
        if window_size <= datetime.timedelta(0):
            raise ValueError(f"Stat(): window_size must be positive, got {window_size}")
        self.name = name
        self._told = [each for each in Aggregation if each in aggregations and each.value]
        self._window_size = window_size.total_seconds()
        self._max_samples = max_samples
        self._lock = threading.Lock()
        self._logged: list[float] = []  # the values of the window that was logged last
        self._window = self._logged_window = 0

    @property
    def count(self) -> int:
        """The number of values added since the last event."""
        return len(self._values)

    def add(self, v: float) -> None:
        """Add a value."""
        value = float(v if hasattr(v, "__float__") else operator.index(v))  # type: ignore[arg-type]
        with self._lock:
            self._log_if_due()
            if self._logged_window != self._current_window():
                self._values.append(value)
                self._log_if_due()

    def get(self) -> dict[Aggregation, float]:
        """The statistics that were logged last; 0 before."""
        return {each: _aggregate(each, self._logged) for each in self._told}

    def _current_window(self) -> int:
        return int(time.monotonic() / self._window_size) + 1

    def _log_if_due(self) -> None:
        window = self._current_window()
        due = window != self._window or len(self._values) >= self._max_samples
        if due and self._logged_window != window:
            self._log()
            self._logged_window, self._window = self._window, window

    def _log(self) -> None:
        self._logged, self._values = self._values, []
        if self._logged:
            data = {f"{self.name}.{each.name.lower()}": v for each, v in self.get().items()}
            log_event(Event(STAT_EVENT, datetime.datetime.now(), data))

    def __del__(self) -> None:
        if self._values:
            self._log()


def _aggregate(kind: Aggregation, values: list[float]) -> float:
    if not values:
        return 0.0
    if kind is Aggregation.MEAN:
        return sum(values) / len(values)
    return float({3: len, 4: sum, 5: max, 6: min}[kind.value](values))


class TensorboardEventHandler:
    """A handler that writes the events of `Stat` to a writer of TensorBoard."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == STAT_EVENT:
            for name, value in event.data.items():
                self._writer.add_scalar(name, value, walltime=event.timestamp.timestamp())
