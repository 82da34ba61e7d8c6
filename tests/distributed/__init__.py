"""Tests of several processes, each started by the launcher."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"

needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"
)


def launch(
    program: str, ranks: int, *arguments: str, seconds: float = 100
) -> subprocess.CompletedProcess:
    """The end of a program of this folder on so many ranks; none of its processes is left."""
    command = [
        *(sys.executable, "-m", "nnkit.distributed.run"),
        *("--standalone", "--nproc-per-node", str(ranks)),
        *(str(PROGRAMS / f"{program}.py"), *arguments),
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # the launcher ends its ranks
        output, errors = process.communicate(timeout=30)
        raise AssertionError(f"{program} on {ranks} ranks has not ended:\n{errors}") from None
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def succeed(program: str, ranks: int, *arguments: str, **settings: Any) -> str:
    """The output of a program that must not fail."""
    done = launch(program, ranks, *arguments, **settings)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def check_memory() -> str:
    """Of four ranks with shards of a model, each needs at most 0.4 of one process's memory."""

    def peaks(ranks: int) -> list[int]:
        return [int(n) for n in re.findall(r"(\d+) MiB", succeed("memory", ranks, "nnkit"))]

    (alone,), each = peaks(1), peaks(4)
    told = f"{alone} MiB in one process, {each} MiB in four ranks"
    assert len(each) == 4 and max(each) <= 0.4 * alone, told
    return told


def check_kill(seed: int) -> None:
    """One of three ranks is killed at a random moment; the others tell why they end, in time."""
    done = launch("killed", 3, str(seed))
    told = re.findall(r"^rank (\d)\|(\d)\|([0-9.-]+)\|(.*)$", done.stdout, re.M)
    victims = {victim for _, victim, _, _ in told}
    ended = re.findall(r"^rank \d is gone: rank (\d), whose start waits", done.stderr, re.M)
    survivors = {rank for rank, _, _, _ in told} | set(ended)
    assert len(survivors) == 2 and len(victims) <= 1 and not survivors & victims, done.stderr
    for _, victim, seconds, text in told:
        assert float(seconds) < 6, text  # none waits for the timeout
        assert f"rank {victim} is gone" in text or "waited in vain" in text, text
