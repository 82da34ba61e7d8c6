"""Timing side by side: the contestants take turns, so that a slow moment hits all of them."""

from __future__ import annotations

import gc
import importlib.util
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FRAMEWORKS = ("nnkit", "torch")
REST = 0.15  # seconds; after a product OpenBLAS's threads hold their cores for up to 0.1 s
QUIET = 0.1  # the share of the machine that other processes may have in a round


@dataclass
class Turns:
    """Seconds a step of each contestant, one figure for each round."""

    seconds: dict[str, list[float]]
    others: float  # the largest share of the machine that other processes had in a round

    def ratio(self, slow: str, fast: str) -> tuple[float, float, float]:
        """The speed of ``fast`` relative to ``slow``: median, lowest and highest of the rounds."""
        pairs = zip(self.seconds[slow], self.seconds[fast], strict=True)
        ratios = sorted(s / f for s, f in pairs)
        return statistics.median(ratios), ratios[0], ratios[-1]


def alternate(
    contestants: dict[str, Callable[[], Any]],
    rounds: int,
    seconds: float,
    patience: float = 0.0,
    clock: Callable[[], float] = time.perf_counter,
) -> Turns:
    """Let everybody run for some ``seconds`` in each round.

    A turn begins with a rest, in which the threads of the contestant before go to sleep, and a few
    steps that are not counted, since the caches hold its data.

    Args:
        patience: seconds in which rounds are repeated that other processes disturbed. Those rounds
            count in which others had the least of the machine.
        clock: what tells the time; `time.process_time` leaves out what others took away.
    """
    counts = {}
    for name, step in contestants.items():
        for _ in range(3):
            step()
        counts[name] = max(1, int(seconds / max(_seconds(step, 1, clock), 1e-6)))
    found: list[tuple[float, list[float]]] = []
    gc.collect()
    others = Others()
    deadline = time.perf_counter() + patience
    while sum(share < QUIET for share, _ in found) < rounds:
        if len(found) >= rounds and time.perf_counter() > deadline:
            break
        turns = []
        others.share()
        for name, step in contestants.items():
            time.sleep(REST)
            _seconds(step, (counts[name] + 9) // 10, clock)
            turns.append(_seconds(step, counts[name], clock) / counts[name])
        share = others.share()
        found.append((share, turns))
        while share >= QUIET and time.perf_counter() < deadline:
            time.sleep(0.1)
            share = others.share()
    found = sorted(found, key=lambda one: one[0])[:rounds]
    columns = zip(*(turns for _, turns in found), strict=True)
    return Turns({n: list(c) for n, c in zip(contestants, columns, strict=True)}, found[-1][0])


class Others:
    """The share of the machine that other processes use; 0 where there is no /proc/stat."""

    def __init__(self) -> None:
        self.before = self._ticks()

    def share(self) -> float:
        """Their share since the last call, between 0 and 1."""
        before, self.before = self.before, self._ticks()
        busy, whole = (b - a for a, b in zip(before, self.before, strict=True))
        return min(max(busy / whole, 0.0), 1.0) if whole > 0 else 0.0

    def _ticks(self) -> tuple[float, float]:
        """The seconds that others used, and the seconds there were, on all processors."""
        try:
            with open("/proc/stat") as file:
                user, nice, system, idle, wait, *rest = map(int, file.readline().split()[1:9])
        except OSError:
            return 0.0, 0.0
        busy = (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")
        whole = busy + (idle + wait) / os.sysconf("SC_CLK_TCK")
        return busy - time.process_time(), whole


def _seconds(step: Callable[[], Any], count: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(count):
        step()
    return clock() - start


def duration(seconds: float) -> str:
    """A time with its unit and three digits."""
    unit, scale = ("ms", 1e3) if abs(seconds) >= 1e-3 else ("us", 1e6)
    value = seconds * scale
    return f"{value:.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f} {unit}"


def has(module: str) -> bool:
    """Whether a module is installed."""
    return importlib.util.find_spec(module) is not None


def set_threads(count: int | None) -> None:
    """Let every framework that is installed use ``count`` threads; None changes nothing."""
    for framework in FRAMEWORKS:
        if count and has(framework):
            importlib.import_module(framework).set_num_threads(count)


def surroundings() -> str:
    """The machine and the versions that a figure belongs to."""
    lines = [f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"]
    for framework in FRAMEWORKS:
        if has(framework):
            module = importlib.import_module(framework)
            lines.append(f"{framework}: {module.__version__}, {module.get_num_threads()} threads")
    lines.append(importlib.import_module("nnkit").show_config())
    return "\n".join(lines)
