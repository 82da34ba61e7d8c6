"""Collectives on several processes: what they compute, and how they fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nnkit.distributed.run import _free_port
from tests.distributed import PROGRAMS, ROOT, check_kill, launch, needs_mpi, succeed

pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [1, 2, 4])  # the others: `python -m tests.distributed`
def test_every_collective(ranks: int) -> None:
    assert succeed("collectives", ranks).count("passed") == ranks


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_random_programs(ranks: int) -> None:
    assert succeed("random_programs", ranks, "nnkit", "60").count("passed") == ranks


def spawned(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, str(PROGRAMS / "spawned.py"), *arguments],
        capture_output=True, text=True, timeout=100, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.parametrize("method", ["file://{}", "tcp://127.0.0.1:{}", "env:{}", "store:{}"])
def test_ranks_that_a_program_starts_itself(method: str, tmp_path: Path) -> None:
    place = tmp_path / "meeting" if method.startswith("file") else _free_port()
    done = spawned(method.format(place))
    assert done.returncode == 0 and done.stdout == "passed\n", done.stderr
    assert not list(tmp_path.iterdir())


def test_one_of_them_fails() -> None:
    """Its error is told, and the other is ended."""
    done = spawned(f"env:{_free_port()}", "fails")
    assert done.returncode == 1 and "ProcessRaisedException" in done.stderr
    assert "-- Process 1 terminated" in done.stderr and "ValueError: the reason" in done.stderr


def test_two_launchers_are_two_machines() -> None:
    port = str(_free_port())
    command = [
        *(sys.executable, "-m", "nnkit.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"),
        *("--master-port", port, "--node-rank"),
    ]
    program = [str(PROGRAMS / "random_programs.py"), "nnkit", "20"]
    launchers = [
        subprocess.Popen(
            [*command, node, *program],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        for node in "01"
    ]  # fmt: skip
    for launcher in launchers:
        output, errors = launcher.communicate(timeout=100)
        assert launcher.returncode == 0 and output == "passed\n", errors


def test_mpiexec_starts_them_as_well() -> None:
    mpiexec = Path(sys.executable).parent / "mpiexec"
    if not mpiexec.exists():
        pytest.skip("there is no mpiexec beside this Python")
    done = subprocess.run(
        [mpiexec, "-n", "2", sys.executable, PROGRAMS / "random_programs.py", "nnkit", "20"],
        capture_output=True, text=True, timeout=100, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.count("passed") == 2, done.stderr


WAITED = r"all_reduce\(float32 \[3\], op=sum\) failed on rank 0 of 3: .*"
FAULTS = {
    "raise": WAITED + "rank 1 ended with ValueError: the reason",
    "kill": WAITED + r"rank 1 is gone: its process \d+ has ended",
    "exit": WAITED + "rank 1 has come to its end",
    "sleep": WAITED + "nothing has come within 2.5 s from rank 1",
    "message": r"recv\(float32 \[3\], src=1\) failed.*: rank 1 sent more than 12 bytes",
    "message dtype": r"recv\(float32 \[3\], src=1\) failed.*: rank 1 sent int32, expected",
    "large message dtype": r"recv\(float32 \[3\], src=1\) failed.*: rank 1 sent int32, expected",
    "monitored": r"rank 0 waited in monitored_barrier: rank 1 .*",
}


# What one rank does otherwise than the others, by collective, and how its call is told.
MISMATCHES = {
    "all_reduce": ("shape", "dtype", "op", "call"),
    "reduce": ("shape", "dtype", "op", "root", "call"),
    "broadcast": ("shape", "dtype", "root", "call"),
    "all_gather": ("shape", "dtype", "call"),
    "gather": ("shape", "dtype", "root", "call"),
    "scatter": ("shape", "dtype", "root", "call"),
    "reduce_scatter": ("shape", "dtype", "op", "call"),
    "all_to_all": ("shape", "dtype", "call"),
    "barrier": ("call",),
}
TOLD = {
    "shape": r"{}\(float32 \[4\]", "dtype": r"{}\(float64 \[3\]", "op": r"{}\(.*op=max",
    "root": r"{}\(float32 \[3\].*(src|dst)=1", "call": r"(?!{})(all_reduce|barrier)\(",
}  # fmt: skip
FAULTS |= {
    f"{name}:{kind}": rf"{name}\(.* failed on rank 0 of 3: .*rank 1 called "
    + TOLD[kind].format(name)
    for name, kinds in MISMATCHES.items()
    for kind in kinds
}
TOGETHER = tuple(kind for kind in FAULTS if ":" in kind)  # a program can have several


@pytest.mark.parametrize("kinds", [TOGETHER, *[(k,) for k in FAULTS if k not in TOGETHER]])
def test_fault_of_one_rank(kinds: tuple[str, ...]) -> None:
    """Every other rank ends in time, with an error that names the ranks, the call, the shapes."""
    before = _segments()
    done = launch("faults", 3, *kinds)
    assert done.returncode != 0
    told = {
        (kind, rank): (float(seconds), text)
        for kind, rank, seconds, text in re.findall(
            r"^([\w: ]+)\|(\d)\|([0-9.]+)\|(.*)$", done.stdout, re.M
        )
    }
    for kind in kinds:
        for rank in "02":
            assert (kind, rank) in told, f"{done.stdout}\n{done.stderr}"
            seconds, text = told[kind, rank]
            assert seconds < 6, text  # the timeout is 2.5 s; machines stutter
            assert rank != "0" or re.search(FAULTS[kind], text), (kind, text)
    until = time.monotonic() + 10  # another test's ranks may be opening theirs
    while not (left := _segments()) <= before and time.monotonic() < until:
        time.sleep(0.1)
    assert left <= before


@pytest.mark.parametrize("seed", [0, 5, 7])
def test_a_rank_is_killed(seed: int) -> None:
    """At a random moment of collectives, of the start, of the making of a group, of trainings."""
    before = _segments()
    check_kill(seed)
    assert not _segments() - before


def test_a_rank_is_killed_while_mpi_starts() -> None:
    """MPI waits there without looking: the server of the meeting ends the others."""
    before = _segments()
    done = launch("killed", 3, "start", seconds=20)
    told = set(re.findall(r"^rank 1 is gone: rank (\d), whose start waits", done.stderr, re.M))
    assert told == {"0", "2"} and done.returncode != 0, done.stderr
    assert not _segments() - before


def _segments() -> set[str]:
    """MPI's segments of shared memory."""
    if not os.path.isdir("/dev/shm"):
        return set()
    return {name for name in os.listdir("/dev/shm") if name.startswith("mpich")}


def test_each_rank_gets_a_share_of_a_data_pipe() -> None:
    """That of torch's ranks, whose workers count as readers too."""
    told = re.findall(r"rank \d, \d workers: \[.*?\]", succeed("pipes", 2))
    assert sorted(told) == [
        "rank 0, 0 workers: [9, 0, 5, 4, 3, 6]",
        "rank 0, 2 workers: [6, 8, 5, 0, 7, 10]",
        "rank 1, 0 workers: [11, 10, 7, 1, 8, 2]",
        "rank 1, 2 workers: [11, 1, 3, 2, 4, 9]",
    ]
