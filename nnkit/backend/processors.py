"""The number of processors that this process may use, as threads for the kernels."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator


def default_threads(root: str = "/") -> int:
    """``OMP_NUM_THREADS`` where it begins with a positive number; else the processors that the
    affinity leaves to this process, or as many as the quota of its cgroup is worth if it is less.

    Args:
        root: where ``proc`` and ``sys`` are, Linux's descriptions of the process and its cgroup.
    """
    asked = re.match(r"\s*(\d+)", os.environ.get("OMP_NUM_THREADS", ""))
    if asked and 0 < int(asked[1]) <= 1 << 16:
        return int(asked[1])
    has_affinity = hasattr(os, "sched_getaffinity")
    processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, min([processors, *(int(quota + 0.5) for quota in _quotas(root))]))


def _quotas(root: str) -> Iterator[float]:
    """The processors that each cgroup above this process may use at once, where it has a limit."""
    for line in _words(f"{root}/proc/self/cgroup", "\n"):
        _number, controllers, path = line.split(":", 2)
        second = not controllers  # version 2 of cgroups has one hierarchy for all controllers
        if not second and "cpu" not in controllers.split(","):
            continue
        top = f"{root}/sys/fs/cgroup" if second else f"{root}/sys/fs/cgroup/cpu"
        parts = path.strip("/").split("/")
        for depth in range(len(parts), -1, -1):
            folder = "/".join([top, *parts[:depth]])
            if second:
                limit = _words(f"{folder}/cpu.max", None)
            else:
                files = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
                limit = [word for name in files for word in _words(f"{folder}/{name}", None)]
            if len(limit) == 2 and all(map(str.isdecimal, limit)) and int(limit[1]) > 0:
                yield int(limit[0]) / int(limit[1])


def _words(path: str, separator: str | None) -> list[str]:
    """The parts of a small file that are not empty; none where there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            return [word for word in file.read().split(separator) if word]
    except OSError:
        return []
