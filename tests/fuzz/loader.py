"""Faults in the worker processes of a DataLoader, and in the process that they work for.

    python -m tests.fuzz.loader --seconds 60 --seed 0 --processes 2

runs random loaders with a random fault each, every one in a session of its own, and prints what
came of them; the exit status is 1 if one hangs, leaves a process behind, or gives other batches or
another error than it should. ``--seed S --number N`` runs one case again.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nnkit.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

HANGS_AFTER_S = 60.0
ORPHANED_AFTER_S = {"fork": 3.0, "spawn": 20.0}  # a process that is spawned first imports nnkit
LENGTH = 24
MISTAKES = {"error": "KeyError", "local": "RuntimeError", "unpicklable": ""}  # and what is raised
DEATHS = ("leave", "exit", "kill")  # of a worker
ENDS = ("parent killed", "parent left")
FAULTS = (*MISTAKES, *DEATHS, *ENDS, "none", "slow", "interrupt", "break", "init")
CODE = 7  # with which a process leaves

Finding = tuple[int, str]


@dataclass(frozen=True)
class Case:
    """A loader and its fault, all of it drawn by a seed and a number."""

    fault: str
    at: int  # the sample, or the batch, at which it happens
    delay: float  # the moment, where it comes from outside
    workers: int
    size: int
    prefetch: int
    persistent: bool
    in_order: bool
    streams: bool
    context: str
    work: float  # seconds for a sample

    @staticmethod
    def draw(seed: int, number: int) -> Case:
        rng = random.Random(seed << 40 | number)
        return Case(
            fault=rng.choice(FAULTS),
            at=rng.randrange(LENGTH),
            delay=rng.random() * rng.choice((0.05, 0.3)),
            workers=rng.randint(1, 3),
            size=rng.choice((10, 10_000, 3_000_000)),
            prefetch=rng.choice((1, 2, 8)),
            persistent=rng.random() < 0.5,
            in_order=rng.random() < 0.7,
            streams=rng.random() < 0.3,
            context="spawn" if rng.random() < 0.1 else "fork",
            work=rng.choice((0.0, 0.003, 0.02)),
        )


# What runs in the workers


class Faulty(Dataset):
    def __init__(self, case: Case) -> None:
        self.case = case

    def __len__(self) -> int:
        return LENGTH

    def __getitem__(self, index: int) -> Any:
        class LocalError(Exception):
            pass

        case = self.case
        time.sleep(case.work)
        if index == case.at:
            if case.fault == "error":
                raise KeyError("a mistake")
            if case.fault == "local":
                raise LocalError("a mistake")
            if case.fault == "unpicklable":
                return lambda: 0
            if case.fault == "leave":
                os._exit(CODE)
            if case.fault == "exit":
                sys.exit(CODE)
            if case.fault == "slow":
                time.sleep(2 * HANGS_AFTER_S)
        return index, bytes([index]) * case.size


class Stream(IterableDataset):
    def __init__(self, case: Case) -> None:
        self.samples = Faulty(case)

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        assert info is not None
        return map(self.samples.__getitem__, range(info.id, LENGTH, info.num_workers))


def fail(worker: int) -> None:
    raise OSError("a mistake")


# The process that they work for


def loader_of(case: Case) -> Any:
    return DataLoader(
        Stream(case) if case.streams else Faulty(case),
        batch_size=None,
        num_workers=case.workers,
        prefetch_factor=case.prefetch,
        persistent_workers=case.persistent,
        in_order=case.in_order,
        multiprocessing_context=case.context,
        timeout=0.5 if case.fault == "slow" else 0,
        worker_init_fn=fail if case.fault == "init" else None,
    )


def strike(case: Case, batches: Any) -> None:
    """What happens to the processes from outside."""
    time.sleep(case.delay)
    if case.fault == "kill":
        os.kill(batches._workers[case.at % case.workers].pid, signal.SIGKILL)
    elif case.fault == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    elif case.fault == "parent killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif case.fault == "parent left":
        os._exit(CODE)


def one_pass(case: Case, loader: Any, strikes: bool) -> tuple[list[int], list[str]]:
    """The samples that came, and the errors."""
    got: list[int] = []
    errors: list[str] = []
    batches: Any = None
    try:
        while len(errors) < LENGTH and not (case.fault == "break" and len(got) > case.at):
            try:
                if batches is None:
                    batches = iter(loader)
                    if strikes:
                        threading.Thread(target=strike, args=(case, batches), daemon=True).start()
                index, content = next(batches)
            except StopIteration:
                break
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")
                if case.fault not in MISTAKES:
                    break
            else:
                assert content == bytes([index]) * case.size, "a torn sample"
                got.append(index)
                time.sleep(case.work / case.workers)
    except KeyboardInterrupt:
        errors.append("KeyboardInterrupt")
    return got, errors


def problems(case: Case, got: list[int], errors: list[str], struck: bool) -> Iterator[str]:
    """What is wrong with a pass; ``struck`` if an earlier one had the error from outside."""
    whole = list(range(LENGTH))
    if len(set(got)) != len(got) or not set(got) <= set(whole):
        yield f"samples {got}"
    if case.in_order and not case.streams and got != sorted(got):
        yield f"samples out of order, {got}"
    # It may come too late, and comes but once.
    from_outside = case.fault in ("kill", "interrupt", *ENDS)
    if case.fault == "none" or (from_outside and (struck or not errors)):
        if errors or sorted(got) != whole:
            yield f"samples {got}, errors {errors}"
    elif case.fault == "break":
        if errors or len(got) != case.at + 1:
            yield f"{len(got)} samples instead of {case.at + 1}, errors {errors}"
    elif case.fault in MISTAKES:
        rest = [index for index in whole if index != case.at]
        if len(errors) != 1 or not errors[0].startswith(MISTAKES[case.fault]):
            yield f"errors {errors}"
        elif "DataLoader worker process" not in errors[0]:
            yield f"an error that does not say where, {errors}"
        if not case.streams and sorted(got) != rest:
            yield f"samples {got}"
    else:
        expected = {
            "slow": "RuntimeError: DataLoader timed out after 0.5 seconds",
            "interrupt": "KeyboardInterrupt",
            "init": "OSError: Caught OSError in DataLoader worker process",
        }.get(case.fault, "RuntimeError: DataLoader worker (pid(s)")
        if len(errors) != 1 or not errors[0].startswith(expected):
            yield f"errors {errors}"


def run_here(case: Case) -> list[str]:
    loader = loader_of(case)
    found: list[str] = []
    struck = False
    for first in (True, False):
        got, errors = one_pass(case, loader, strikes=first)
        found += problems(case, got, errors, struck)
        struck = bool(errors)
    return found


# The process that watches


def run_apart(task: tuple[int, int]) -> tuple[Case, list[str]]:
    """Run a case in a session of its own; what is wrong with it."""
    seed, number = task
    case = Case.draw(seed, number)
    command = [sys.executable, "-m", "tests.fuzz.loader", "--here", "--seed", str(seed)]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [*command, "--number", str(number)],
            stdout=output,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = process.wait(HANGS_AFTER_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return case, ["hangs"]
        until = time.monotonic() + ORPHANED_AFTER_S[case.context]
        while (left := session(process.pid)) and time.monotonic() < until:
            time.sleep(0.02)
        output.seek(0)
        text = output.read()
    if left:
        os.killpg(process.pid, signal.SIGKILL)
        return case, [f"leaves {len(left)} processes behind"]
    if case.fault in ENDS and code in (CODE, -signal.SIGKILL):
        return case, []
    return case, json.loads(text) if code == 0 else [f"exit code {code}"]


def session(leader: int) -> list[int]:
    """The processes of a session that still run."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == leader and fields[0] not in "ZX":
                    found.append(int(folder.name))
    return found


def run(
    seed: int, seconds: float, processes: int, count: int | None = None
) -> tuple[Counter, list[Finding]]:
    """Run cases for some seconds, or a number of them."""
    figures: Counter[str] = Counter()
    found: list[Finding] = []
    end = time.monotonic() + seconds
    numbers = iter(range(count)) if count is not None else itertools.count()
    with ThreadPoolExecutor(processes) as pool:
        while time.monotonic() < end and (some := list(itertools.islice(numbers, processes * 2))):
            tasks = [(seed, number) for number in some]
            for number, (case, wrong) in zip(some, pool.map(run_apart, tasks)):
                figures[case.fault] += 1
                found += [(number, f"{what}; {asdict(case)}") for what in wrong]
    return figures, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--count", type=int, help="so many cases, however long they take")
    parser.add_argument("--number", type=int, help="run this case alone")
    parser.add_argument("--here", action="store_true", help="in this process")
    given = parser.parse_args()
    if given.here:
        print(json.dumps(run_here(Case.draw(given.seed, given.number))), flush=True)
        return 0
    if given.number is not None:
        print(*run_apart((given.seed, given.number)))
        return 0
    seconds = given.seconds if given.count is None else math.inf
    start = time.monotonic()
    figures, found = run(given.seed, seconds, given.processes, given.count)
    print(f"seed {given.seed}: {sum(figures.values())} in {time.monotonic() - start:.0f} s")
    for name, count in sorted(figures.items()):
        print(f"{count:10} {name}")
    print(f"{len(found):10} findings")
    for number, what in found[:50]:
        print(f"  --number {number}: {what}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
