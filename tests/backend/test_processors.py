"""The number of threads that the environment, the affinity and the cgroups leave."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nnkit.backend.processors import default_threads


@pytest.fixture(autouse=True)
def many_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)), raising=False)


def system(root: Path, cgroup: str, limits: dict[str, str]) -> str:
    """A tree with the cgroup of a process and the files of its limits."""
    texts = {"proc/self/cgroup": cgroup}
    for name, text in (texts | {f"sys/fs/cgroup/{n}": t for n, t in limits.items()}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


@pytest.mark.parametrize(("text", "threads"), [("3", 3), ("4,2", 4), (" 5 ", 5)])
def test_the_environment(monkeypatch: pytest.MonkeyPatch, text: str, threads: int) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert default_threads() == threads


@pytest.mark.parametrize("text", ["", "0", "-2", "many", "1e9999", "9" * 30])
def test_what_is_no_number_of_threads(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert default_threads(str(tmp_path)) == (1 if text.startswith("1") else 8)


def test_no_cgroups(tmp_path: Path) -> None:
    assert default_threads(str(tmp_path)) == 8


@pytest.mark.parametrize(
    ("limit", "threads"),
    [("max 100000", 8), ("250000 100000", 3), ("1000 100000", 1), ("900000 100000", 8), ("x", 8)],
)
def test_second_version(tmp_path: Path, limit: str, threads: int) -> None:
    assert default_threads(system(tmp_path, "0::/\n", {"cpu.max": limit})) == threads


def test_a_cgroup_inside_another(tmp_path: Path) -> None:
    limits = {"a/b/cpu.max": "max 100000", "a/cpu.max": "200000 100000", "cpu.max": "max 100000"}
    assert default_threads(system(tmp_path, "0::/a/b\n", limits)) == 2


def test_first_version(tmp_path: Path) -> None:
    quota, period = "cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"
    cgroup = "4:memory:/a\n3:cpu,cpuacct:/a\n"
    for text, threads in (("400000\n", 4), ("-1\n", 8)):
        root = system(tmp_path, cgroup, {quota: text, period: "100000\n"})
        assert default_threads(root) == threads
