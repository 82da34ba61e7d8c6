"""Damaged and hostile files, and saves that are killed.

    python -m tests.fuzz.files --seconds 60 --seed 0 --processes 2

loads mutants of valid files in processes with a memory limit, then kills processes that save. It
prints what came of them; the exit status is 1 if a load crashed, took more than 2 s of CPU time,
wanted more memory than its limit, raised an error that is not documented, gave anything but data
or changed the process, or if a killed save left a torn file or, after the next save, another file.
``--seed S --number N`` loads one mutant again.
"""

from __future__ import annotations

import argparse
import functools
import io
import itertools
import json
import math
import mmap
import multiprocessing
import os
import pickle
import random
import resource
import select
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter, OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nnkit
from nnkit import export
from nnkit.pickle_reader import Function
from tests.fuzz.mutants import Mutator

LIMIT_S = 2.0  # of CPU time
HANGS_AFTER_S = 60.0  # of wall time, on a machine that others use as well
LIMIT_BYTES = 128 << 20
BATCH = 1000
PROGRAM = b"program.json"  # the name of the first member of an exported program
PLAIN = (int, float, complex, str, bytes, bytearray, type(None), nnkit.Size, nnkit.device)
PLAIN += (type(nnkit.float32), Function, nnkit.TypedStorage)

Finding = tuple[int, str]


@functools.cache
def mutator(seed: int) -> Mutator:
    return Mutator(seed)


# Loading


def outcome(content: bytes) -> tuple[str, bool]:
    """What came of loading a file, and whether it is as documented."""
    start = time.process_time()
    try:
        if PROGRAM in content[:64]:
            program = export.load(io.BytesIO(content))
            result = use([program.state_dict, program.constants, program.module().code])
        else:
            result = use(nnkit.load(io.BytesIO(content), map_location="cpu"))
    except (ValueError, pickle.UnpicklingError) as error:
        result = type(error).__name__
        if type(error) not in (ValueError, pickle.UnpicklingError) or len(str(error)) > 1000:
            return f"error {result}: {str(error)[:200]}", False
    except MemoryError:
        return "over the memory limit", False
    except Exception as error:
        return f"error {type(error).__name__}: {str(error)[:200]}", False
    if time.process_time() - start > LIMIT_S:
        return f"over {LIMIT_S} s", False
    return result, not result.startswith("foreign")


def use(tree: Any) -> str:
    """Look at everything that was loaded, and compute with the tensors."""
    left, seen = [tree], set()
    while left:
        value = left.pop()
        if id(value) in seen or value is nnkit.Tensor:
            continue
        seen.add(id(value))
        if isinstance(value, nnkit.Tensor):
            if math.prod(value.shape) < 10_000:
                (value * 2 if value.dtype != nnkit.bool else ~value).tolist()
        elif type(value) in (list, tuple, set):
            left.extend(value)
        elif type(value) in (dict, OrderedDict, Counter):
            left.extend(
                itertools.chain(value, value.values(), getattr(value, "__dict__", {}).values())
            )
        elif not isinstance(value, PLAIN):
            return f"foreign {type(value)}"
    return "loaded"


def is_sane() -> bool:
    """Whether nnkit still does what it did before all these files were loaded."""
    x = nnkit.ones(2, requires_grad=True)
    (x * x).sum().backward()
    return x.grad is not None and x.grad.tolist() == [2.0, 2.0] and str(x.device) == "cpu"


def _load_all(seed: int, numbers: range, progress: mmap.mmap) -> tuple[Counter, list[Finding]]:
    warnings.simplefilter("ignore")
    figures: Counter[str] = Counter()
    found: list[Finding] = []
    for number in numbers:
        progress[:8] = number.to_bytes(8, "little")
        said, as_documented = outcome(mutator(seed)(number))
        figures[said.partition(":")[0]] += 1
        if not as_documented:
            found.append((number, said))
    if not is_sane():
        found.append((numbers[0], "the process was changed by one of this batch"))
    return figures, found


def load_batch(task: tuple[int, range]) -> tuple[Counter, list[Finding]]:
    """Load the mutants of these numbers in a process of their own."""
    seed, numbers = task
    figures: Counter[str] = Counter()
    found: list[Finding] = []
    while numbers:
        progress = mmap.mmap(-1, 8)
        progress[:8] = numbers[0].to_bytes(8, "little")
        pid, report = _fork(seed, numbers, progress)
        text = _read(report, pid, progress)
        status = os.waitpid(pid, 0)[1]
        if text:
            counts, more = json.loads(text)
            figures.update(counts)
            found += map(tuple, more)
            break
        number = int.from_bytes(progress[:8], "little")
        what = "crash" if status != signal.SIGKILL else f"over {HANGS_AFTER_S} s"
        figures[what] += 1
        found.append((number, f"{what}, status {status}"))
        numbers = range(number + 1, numbers.stop)
    return figures, found


def _fork(seed: int, numbers: range, progress: mmap.mmap) -> tuple[int, int]:
    report, ours = os.pipe()
    mutator(seed)  # once, before the fork
    pid = os.fork()
    if pid == 0:
        try:
            limit = virtual_memory() + LIMIT_BYTES
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.write(ours, json.dumps(_load_all(seed, numbers, progress))[:60_000].encode())
        finally:
            os._exit(0)
    os.close(ours)
    return pid, report


def _read(report: int, pid: int, progress: mmap.mmap) -> bytes:
    """What the process reports; it is killed when it stays with one file."""
    at, since = progress[:8], time.monotonic()
    while not select.select([report], [], [], 1.0)[0]:
        if progress[:8] != at:
            at, since = progress[:8], time.monotonic()
        elif time.monotonic() - since > HANGS_AFTER_S:
            os.kill(pid, signal.SIGKILL)
    with os.fdopen(report, "rb") as stream:
        return stream.read()


def virtual_memory() -> int:
    pages = Path("/proc/self/statm").read_text().split()[0]
    return int(pages) * resource.getpagesize()


# Saving


def kill_saves(task: tuple[int, int, float]) -> tuple[Counter, list[Finding]]:
    """Kill processes that save one state after the other, at random moments."""
    seed, kills, until = task
    rng = random.Random(seed)
    figures: Counter[str] = Counter()
    found: list[Finding] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(kills):
            if time.monotonic() > until:
                break
            for problem in _kill_one(rng, Path(folder)):
                found.append((number, problem))
            figures["killed saves"] += 1
    return figures, found


def _kill_one(rng: random.Random, folder: Path) -> Iterator[str]:
    path = folder / rng.choice(("state.safetensors", "state.npz"))
    link = folder / "link"
    link.unlink(missing_ok=True)
    link.symlink_to(path)
    size = rng.choice((10, 10_000, 300_000))
    _save(0, size, path)
    os.chmod(path, 0o600)
    done, ours = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for step in itertools.count(1):
                _save(step, size, link)
                os.write(ours, b".")
        finally:
            os._exit(1)
    os.close(ours)
    time.sleep(rng.random() * rng.choice((0.01, 0.1)))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with os.fdopen(done, "rb") as stream:
        reported = len(stream.read())
    try:
        state = nnkit.load(path)
        if state["x"].tolist() != [float(state["step"])] * size:
            yield "torn: parts of two states"
        if state["step"] < reported:
            yield f"older than reported: {state['step']} < {reported}"
    except Exception as error:
        yield f"torn: {error}"
    if path.stat().st_mode & 0o777 != 0o600 or not link.is_symlink():
        yield "the mode or the link has changed"
    _save(0, size, path)
    left = [name for name in os.listdir(folder) if name.endswith(".tmp")]
    if left:
        yield f"left behind: {left}"


def _save(step: int, size: int, path: Path) -> None:
    nnkit.save({"x": nnkit.full((size,), float(step)), "step": step}, path)


# The command


def run(
    seed: int, seconds: float, processes: int, count: int | None = None, kills: int | None = None
) -> tuple[Counter, list[Finding]]:
    """Load mutants for some seconds, or a number of them, then kill saves for a quarter of it."""
    figures: Counter[str] = Counter()
    found: list[Finding] = []
    mutator(seed)  # imports torch, which takes its time
    end = time.monotonic() + seconds
    numbers = itertools.count(0, BATCH) if count is None else range(0, count, BATCH)
    ranges = (range(n, n + BATCH if count is None else min(n + BATCH, count)) for n in numbers)
    tasks = ((seed, part) for part in ranges)
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        while time.monotonic() < end and (some := list(itertools.islice(tasks, processes * 4))):
            for counts, more in pool.imap_unordered(load_batch, some):
                figures.update(counts)
                found += more
        end = time.monotonic() + (math.inf if kills is not None else seconds / 4)
        share = -(-kills // processes) if kills is not None else 10**9
        saves = [(seed * processes + n, share, end) for n in range(processes)]
        for counts, more in pool.imap_unordered(kill_saves, saves):
            figures.update(counts)
            found += more
    return figures, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--count", type=int, help="so many mutants at most")
    parser.add_argument("--kills", type=int, help="so many killed saves, however long it takes")
    parser.add_argument("--number", type=int, help="load this mutant alone, in this process")
    given = parser.parse_args()
    if given.number is not None:
        content = mutator(given.seed)(given.number)
        print(content)
        print(nnkit.load(io.BytesIO(content)))
        return 0
    start = time.monotonic()
    figures, found = run(given.seed, given.seconds, given.processes, given.count, given.kills)
    loads = sum(figures.values()) - figures["killed saves"]
    print(f"seed {given.seed}: {loads} mutants in {time.monotonic() - start:.0f} s")
    for name, count in figures.most_common():
        print(f"{count:10} {name}")
    print(f"{len(found):10} findings")
    for number, what in found[:50]:
        print(f"  --number {number}: {what}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
