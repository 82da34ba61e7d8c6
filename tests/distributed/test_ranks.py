"""Collectives on several processes: what they compute, and how they fail."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nnkit.distributed.run import _free_port
from tests.distributed import PROGRAMS, ROOT, launch, needs_mpi, succeed

pytestmark = needs_mpi
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_collective(ranks: int) -> None:
    assert succeed("collectives", ranks).count("passed") == ranks


@needs_torch
def test_the_same_program_under_torch() -> None:
    done = succeed("collectives", 2, "torch", launcher="torch.distributed.run")
    assert done.count("passed") == 2


@pytest.mark.parametrize("ranks", [2, 3])
def test_random_programs(ranks: int) -> None:
    assert succeed("random_programs", ranks, "nnkit", "300").count("passed") == ranks


@pytest.mark.parametrize("where", ["file", "address"])
def test_ranks_that_a_program_starts_itself(where: str, tmp_path: Path) -> None:
    method = f"file://{tmp_path}/meeting"
    if where == "address":
        method = f"tcp://127.0.0.1:{_free_port()}"
    done = subprocess.run(
        [sys.executable, str(PROGRAMS / "spawned.py"), method],
        capture_output=True, text=True, timeout=100, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.count("passed") == 2, done.stderr


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
    "shape": WAITED + r"rank 1 called all_reduce\(float32 \[4\], op=sum\)",
    "dtype": WAITED + r"rank 1 called all_reduce\(float64 \[3\], op=sum\)",
    "call": WAITED + r"rank 1 called broadcast\(float32 \[3\], src=0\)",
    "op": WAITED + r"rank 1 called all_reduce\(float32 \[3\], op=max\)",
    "monitored": r"rank 0 waited in monitored_barrier: rank 1 .*",
}


MISMATCHES = ("shape", "dtype", "call", "op")  # of which a program can have several


@pytest.mark.parametrize("kinds", [MISMATCHES, *[(k,) for k in FAULTS if k not in MISMATCHES]])
def test_fault_of_one_rank(kinds: tuple[str, ...]) -> None:
    """Every other rank ends in time, with an error that names the ranks, the call, the shapes."""
    before = _segments()
    done = launch("faults", 3, *kinds)
    assert done.returncode != 0
    told = {
        (kind, rank): (float(seconds), text)
        for kind, rank, seconds, text in re.findall(
            r"^(\w+)\|(\d)\|([0-9.]+)\|(.*)$", done.stdout, re.M
        )
    }
    for kind in kinds:
        for rank in "02":
            assert (kind, rank) in told, f"{done.stdout}\n{done.stderr}"
            seconds, text = told[kind, rank]
            assert seconds < 6, text  # the timeout is 2.5 s; machines stutter
            assert rank != "0" or re.search(FAULTS[kind], text), text
    until = time.monotonic() + 10  # another test's ranks may be opening theirs
    while not (left := _segments()) <= before and time.monotonic() < until:
        time.sleep(0.1)
    assert left <= before


def _segments() -> set[str]:
    """MPI's segments of shared memory."""
    if not os.path.isdir("/dev/shm"):
        return set()
    return {name for name in os.listdir("/dev/shm") if name.startswith("mpich")}
