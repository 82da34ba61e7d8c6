"""Measurements: the statement, its times, and how far they are to be believed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from textwrap import indent
from typing import Any

import nnkit

# The parts of a second, by the thousand that a time's logarithm lies in.
_UNITS = {-3: ("ns", 1e-9), -2: ("us", 1e-6), -1: ("ms", 1e-3)}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}
_Z = 1.645  # of a two-sided confidence of 90 %
_FINEST = 25e-9  # seconds; no confidence interval is taken to be narrower
_MOST_FIGURES = 4
_SOME_SPREAD, _GREAT_SPREAD = 0.1, 0.25  # of the interquartile range, relative to the median


@dataclass(frozen=True, repr=False)
class TaskSpec:
    """The statement that a `Timer` times, its setup, and the words by which it is known.

    Measurements of equal tasks are merged by `Measurement.merge` and `Compare`.
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement where there is none, and the sub-label."""
        if self.label is None and "\n" in self.stmt:
            more = f" ({self.sub_label})" if self.sub_label else ""
            return f"stmt:{more}\n{indent(self.stmt, '  ')}"
        name = self.stmt if self.label is None else self.label
        return f"{name}: {self.sub_label}" if self.sub_label else name

    def setup_str(self) -> str:
        """The setup as `summarize` shows it; empty if there is none."""
        if self.setup in ("", "pass"):
            return ""
        if "\n" in self.setup:
            return f"setup:\n{indent(self.setup, '  ')}"
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """The title, the description and the setup, each on lines of its own."""
        parts = (self.title, self.description or "", self.setup_str())
        return "\n".join(f"{text}\n" if "\n" in text else text for text in parts if text)


@dataclass(repr=False)
class Measurement:
    """Times of a task: ``raw_times`` in seconds, each of ``number_per_run`` runs.

    The fields of the task are attributes too (``label``, ``num_threads``, ...). Times are per run.

    Example:
        >>> task = TaskSpec(stmt="f()", setup="pass")
        >>> found = Measurement(100, [1e-4, 2e-4, 3e-4], task)
        >>> found.median, found.num_threads
        (2e-06, 1)
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """The seconds that one run took, by each measurement."""
        return [seconds / self.number_per_run for seconds in self.raw_times]

    @cached_property
    def _sorted(self) -> Any:
        return nnkit.tensor(sorted(self.times), dtype=nnkit.float64)

    @cached_property
    def _quartiles(self) -> tuple[float, float, float]:
        if not self.raw_times:
            return -1.0, -1.0, -1.0
        low, middle, high = (self._sorted.quantile(q).item() for q in (0.25, 0.5, 0.75))
        return low, middle, high

    @property
    def median(self) -> float:
        """The median of the times; -1 where there are none."""
        return self._quartiles[1]

    @property
    def mean(self) -> float:
        """The mean of the times; -1 where there are none."""
        return self._sorted.mean().item() if self.raw_times else -1.0

    @property
    def iqr(self) -> float:
        """The interquartile range: how far the middle half of the times reaches."""
        return self._quartiles[2] - self._quartiles[0]

    @property
    def significant_figures(self) -> int:
        """The figures of the median that can be believed, 1 to 4.

        Those in which it is greater than the confidence interval, ``1.645 s / sqrt(n)`` of the
        middle half of the times, taken to be no narrower than 25 ns.
        """
        count = len(self.raw_times)
        middle = self._sorted[count // 4 : math.ceil(3 * count / 4)].float()
        spread = middle.std(correction=0).item() / nnkit.tensor(len(middle)).sqrt().item()
        interval = max(_Z * spread, _FINEST)
        figures = math.floor(_log10(self.median / interval))
        return min(max(figures, 1), _MOST_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times are spread so far that `repr` warns."""
        return bool(self.raw_times) and not self.meets_confidence()

    def meets_confidence(self, threshold: float = _SOME_SPREAD) -> bool:
        """Whether the interquartile range, relative to the median, is below a threshold."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The title of the task."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The words that `Compare` writes before the row."""
        return self.sub_label or self.stmt or "[Unknown]"

    def _warning(self) -> str:
        if not self.has_warnings:
            return ""
        advice = (
            "This could indicate system fluctuation."
            if self.meets_confidence(_GREAT_SPREAD)
            else "This suggests significant environmental influence."
        )
        return (
            f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% "
            f"of the median measurement.\n           {advice}"
        )

    def __repr__(self) -> str:
        low, middle, high = self._quartiles
        count, threads = len(self.raw_times), self.num_threads
        unit, scale = select_unit(middle)
        several = count > 1
        lines = [super().__repr__(), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if several else ''}{middle / scale:.2f} {unit}")
        if count >= 4:
            reach = f"{low / scale:.2f} to {high / scale:.2f}"
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({reach})")
        lines.append(
            f"  {count} measurement{'s' if several else ''}, {self.number_per_run} runs "
            f"{'per measurement,' if several else ','} {threads} thread{'s' if threads > 1 else ''}"
        )
        lines.append(self._warning())
        return "\n".join(lines).strip()

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, with the times of all; ``metadata`` is dropped."""
        times: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            times.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, found, task) for task, found in times.items()]


_FIELDS = frozenset(field.name for field in fields(TaskSpec))


def _log10(x: float) -> float:
    """The logarithm in single precision, by which torch chooses units and figures."""
    return nnkit.tensor(x, dtype=nnkit.float32).log10().item()


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time is a number from 1 to 1000, and how many seconds it is.

    Example:
        >>> select_unit(0.002)
        ('ms', 0.001)
    """
    return _UNITS.get(int(_log10(t) // 3), ("s", 1))


def unit_to_english(u: str) -> str:
    """The word for a unit of `select_unit`.

    Raises:
        KeyError: it is none of these.

    Example:
        >>> unit_to_english("us")
        'microsecond'
    """
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to ``n`` significant figures, in single precision.

    Raises:
        AssertionError: ``n`` is no whole number.

    Example:
        >>> trim_sigfig(1234.0, 2)
        1200.0
    """
    if n != int(n):
        raise AssertionError(f"trim_sigfig(): n must be a whole number, got {n}")
    scale = 10 ** (math.ceil(_log10(abs(x))) - n)
    return (nnkit.tensor(x / scale, dtype=nnkit.float32).round() * scale).item()


def ordered_unique(elements: Iterable[Any]) -> list[Any]:
    """The elements without repetitions, in the order in which they first come.

    Example:
        >>> ordered_unique("abacb")
        ['a', 'b', 'c']
    """
    return list(dict.fromkeys(elements))


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """A block in which ``n`` threads compute."""
    before = nnkit.get_num_threads()
    try:
        nnkit.set_num_threads(n)
        yield
    finally:
        nnkit.set_num_threads(before)
