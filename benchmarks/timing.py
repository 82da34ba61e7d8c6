"""Timing side by side: the contestants take turns, so that a slow moment hits all of them."""

from __future__ import annotations

import gc
import importlib.util
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

FRAMEWORKS = ("nnkit", "torch")
Times = dict[str, list[float]]


def alternate(contestants: dict[str, Callable[[], Any]], rounds: int, seconds: float) -> Times:
    """Seconds a step of each contestant, one figure for each turn of some ``seconds``.

    A turn begins with a few steps that are not counted: the threads of the contestant before may
    hold a core for some milliseconds more, and the caches hold its data.
    """
    counts = {}
    for name, step in contestants.items():
        for _ in range(3):
            step()
        counts[name] = max(1, int(seconds / max(_seconds(step, 1), 1e-6)))
    times: Times = {name: [] for name in contestants}
    gc.collect()
    for _ in range(rounds):
        for name, step in contestants.items():
            count = counts[name]
            _seconds(step, (count + 9) // 10)
            times[name].append(_seconds(step, count) / count)
    return times


def _seconds(step: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        step()
    return time.perf_counter() - start


def ratio(times: Times, slow: str, fast: str) -> tuple[float, float, float]:
    """How many times as fast ``fast`` is: median, lowest and highest of the rounds' ratios."""
    ratios = sorted(s / f for s, f in zip(times[slow], times[fast], strict=True))
    return statistics.median(ratios), ratios[0], ratios[-1]


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
    if hasattr(os, "getloadavg"):
        lines.append(f"load of the last minute before the run: {os.getloadavg()[0]:.1f}")
    for framework in FRAMEWORKS:
        if has(framework):
            module = importlib.import_module(framework)
            lines.append(f"{framework}: {module.__version__}, {module.get_num_threads()} threads")
    lines.append(importlib.import_module("nnkit").show_config())
    return "\n".join(lines)
