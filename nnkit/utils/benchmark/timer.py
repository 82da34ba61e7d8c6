"""Measures how long a statement takes."""

from __future__ import annotations

import enum
import statistics
import timeit
from collections.abc import Callable
from textwrap import dedent
from typing import Any, NoReturn

import nnkit
from nnkit.utils.benchmark.measurement import Measurement, TaskSpec, set_torch_threads

_SHORTEST = 1e-9  # seconds; what is measured to be less is taken for this
_OVERHEAD = 1e-4  # of the clock, relative to the time of a block
_MOST_RUNS = 2**31 - 1


def timer() -> float:
    """The seconds of a clock, read when the GPU, if there is one, has done all its work."""
    if nnkit.cuda.is_available():
        nnkit.cuda.synchronize()
    return timeit.default_timer()


class Language(enum.Enum):
    """The language of a statement; of C++ nothing can be timed here."""

    PYTHON = 0
    CPP = 1


def _tidy(code: str) -> str:
    """Code without the indentation and the first line break of a block string."""
    return dedent(code).removeprefix("\n").rstrip()


class Timer:
    """A clock for one statement, which runs it many times and says how the times are spread.

    Before it measures, it runs the statement to warm up, and sets the number of threads.

    Args:
        stmt, setup: Python code; the second runs once before each measurement.
        timer: the clock, a function that returns seconds.
        globals: names that the code may use; ``torch`` is among them.
        label, sub_label, description, env: words by which `Compare` makes tables: of each label
            one, with a row for each sub-label and a column for each description.
        num_threads: of how many threads to compute with.

    Raises:
        ValueError: ``stmt`` is no string, the language is unknown, or ``global_setup``, which is
            for C++, is given.
        NotImplementedError: the language is C++.

    Example:
        >>> timer = Timer("x + y", globals={"x": nnkit.ones(3), "y": 1})
        >>> timer.timeit(10).number_per_run
        10
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError(f"Timer(): stmt must be a str, got {type(stmt).__name__}")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("Timer(): language must be 'python', C++ is not supported")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Timer(): language must be 'python', got {language!r}")
        if global_setup:
            raise ValueError(
                f"Timer(): global_setup is for C++ only, got {global_setup!r}; use setup"
            )
        stmt, setup = _tidy(stmt), _tidy(setup)
        names = {"torch": nnkit, **(globals or {})}
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _seconds(self, number: int) -> float:
        return max(self._timer.timeit(number), _SHORTEST)

    def _threads(self) -> Any:
        return set_torch_threads(self._task_spec.num_threads)

    def timeit(self, number: int = 1000000) -> Measurement:
        """The time of ``number`` runs, measured once, after a hundredth of them to warm up."""
        with self._threads():
            self._seconds(max(int(number // 100), 2))
            return Measurement(number, [self._seconds(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Not there: use `blocked_autorange`."""
        raise NotImplementedError("Timer.repeat(): use Timer.blocked_autorange()")

    def autorange(self, callback: Callable[[int, float], Any] | None = None) -> NoReturn:
        """Not there: use `blocked_autorange`."""
        raise NotImplementedError("Timer.autorange(): use Timer.blocked_autorange()")

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Times of blocks of runs, for at least ``min_run_time`` seconds in all.

        A block is made so long that reading the clock takes no more than 0.01 % of it.

        Args:
            callback: called after each block with the number of its runs and its seconds.
        """
        return self._measured(min_run_time, min_run_time, None, callback, lambda found: True)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], Any] | None = None,
    ) -> Measurement:
        """Times of blocks of runs, until their spread is small.

        That is when the interquartile range of four blocks or more is below ``threshold`` times
        their median, after ``min_run_time`` seconds; but no later than ``max_run_time``.
        """

        def enough(found: Measurement) -> bool:
            return len(found.raw_times) > 3 and found.meets_confidence(threshold)

        return self._measured(0.05, min_run_time, max_run_time, callback, enough)

    def _measured(
        self,
        block_time: float,
        min_run_time: float,
        max_run_time: float | None,
        callback: Callable[[int, float], Any] | None,
        enough: Callable[[Measurement], bool],
    ) -> Measurement:
        total, times = 0.0, []
        with self._threads():
            number = self._block_size(block_time)
            while True:
                times.append(self._seconds(number))
                total += times[-1]
                if callback is not None:
                    callback(number, times[-1])
                found = Measurement(number, times, self._task_spec)
                if enough(found) and total >= min_run_time:
                    return found
                if max_run_time and total > max_run_time:
                    return found

    def _block_size(self, min_run_time: float) -> int:
        overhead = statistics.median(self._seconds(0) for _ in range(5))
        number = 1
        while number * 10 <= _MOST_RUNS:
            seconds = self._seconds(number)
            if overhead / seconds <= _OVERHEAD and seconds >= min_run_time / 1000:
                break
            if seconds > min_run_time:
                break
            number *= 10
        return number

    def collect_callgrind(
        self,
        number: int = 100,
        *,
        repeats: int | None = None,
        collect_baseline: bool = True,
        retain_out_file: bool = False,
    ) -> NoReturn:
        """Not there: instructions are counted by Valgrind, in a process that runs torch."""
        raise NotImplementedError("Timer.collect_callgrind(): nnkit does not count instructions")
