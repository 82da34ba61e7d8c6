"""A DataLoader's worker processes: order, seeds, errors, streams, and their end."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.utils.data import DataLoader
from tests.frameworks import raises
from tests.utils.samples import lists

FORKS = "fork" in multiprocessing.get_all_start_methods()
pytestmark = pytest.mark.skipif(not FORKS, reason="local datasets need fork")


def dataset(data: Any, get: Any, size: int = 6) -> Any:
    class Given(data.Dataset):
        def __len__(self) -> int:
            return size

        def __getitem__(self, index: int) -> Any:
            return get(index)

    return Given()


def load(data: Any, *arguments: Any, **options: Any) -> Any:
    options.setdefault("num_workers", 2)
    return data.DataLoader(*arguments, multiprocessing_context="fork", **options)


def test_batches_come_in_the_samplers_order(lib: ModuleType, data: Any) -> None:
    def slow_at_first(index: int) -> Any:
        time.sleep(0.2 if index == 0 else 0)
        return {"x": lib.full((2,), index), "name": str(index)}

    batches = list(load(data, dataset(data, slow_at_first, 5), batch_size=2))
    assert [batch["name"] for batch in batches] == [["0", "1"], ["2", "3"], ["4"]]
    assert lists([batch["x"] for batch in batches]) == [
        [[0, 0], [1, 1]],
        [[2, 2], [3, 3]],
        [[4, 4]],
    ]


def test_or_as_they_come(data: Any) -> None:
    def slow_at_first(index: int) -> int:
        time.sleep(0.5 if index == 0 else 0)
        return index

    loader = load(data, dataset(data, slow_at_first, 4), batch_size=None, in_order=False)
    assert list(loader)[0] == 1 and sorted(loader) == [0, 1, 2, 3]


def test_seeds_are_torchs(torch: ModuleType) -> None:
    def draw(lib: ModuleType) -> Any:
        def get(index: int) -> Any:
            info = lib.utils.data.get_worker_info()
            numbers = (np.random.rand(), random.random(), float(lib.rand(1)))
            return index, info.id, info.num_workers, lib.initial_seed() == info.seed, *numbers

        lib.manual_seed(3)
        loader = load(lib.utils.data, dataset(lib.utils.data, get), batch_size=2, shuffle=True)
        return [lists(list(loader)) for _ in range(2)], lib.rand(1).item()

    import_module("torch.utils.data")
    assert draw(nnkit) == draw(torch)


def test_init_functions_and_persistence(lib: ModuleType, data: Any) -> None:
    def init(worker: int) -> None:
        data.get_worker_info().dataset.base = 10 * worker

    given = dataset(data, lambda index: (given.base + index, os.getpid()), 4)
    loader = load(data, given, batch_size=None, worker_init_fn=init, persistent_workers=True)
    next(iter(loader))  # a pass that is left early
    passes = [list(loader) for _ in range(2)]
    assert [value for value, _ in passes[0]] == [0, 11, 2, 13]
    assert passes[0] == passes[1]


def test_streams(lib: ModuleType, data: Any) -> None:
    class Counted(data.IterableDataset):
        def __iter__(self) -> Any:
            info = data.get_worker_info()
            return iter(range(info.id, 9, info.num_workers))

    expected = [[0, 2], [1, 3], [4, 6], [5, 7], [8]]
    loader = load(data, Counted(), batch_size=2, persistent_workers=True)
    for _ in range(2):
        assert lists(list(loader)) == expected
    assert lists(list(load(data, Counted(), batch_size=2, drop_last=True))) == expected[:-1]
    assert list(load(data, Counted(), batch_size=None))[:4] == [0, 1, 2, 3]


@pytest.mark.parametrize("error", [KeyError, ValueError, UnicodeDecodeError])
def test_errors_come_over(error: Any, lib: ModuleType, data: Any) -> None:
    def get(index: int) -> int:
        if index == 2:
            raise (
                error("utf-8", b"", 0, 1, "bad 2")
                if error is UnicodeDecodeError
                else error("bad 2")
            )
        return index

    batches = iter(load(data, dataset(data, get, 4), batch_size=None))
    assert [next(batches), next(batches)] == [0, 1]
    expected = RuntimeError if error is UnicodeDecodeError else error
    with pytest.raises(expected) as caught:
        next(batches)
    assert "DataLoader worker process 0" in str(caught.value) and "bad 2" in str(caught.value)
    assert next(batches) == 3


def test_errors_of_the_init_function(lib: ModuleType, data: Any) -> None:
    def init(worker: int) -> None:
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        next(iter(load(data, [1, 2], worker_init_fn=init)))


def test_timeout_and_death(lib: ModuleType, data: Any) -> None:
    loader = load(data, dataset(data, lambda index: time.sleep(9)), timeout=0.3)
    with raises(lib, RuntimeError, "timed out after 0.3 seconds"):
        next(iter(loader))
    if lib is nnkit:  # torch notices by a signal, which pytest's threads delay
        loader = load(data, dataset(data, lambda index: os._exit(1)), timeout=60)
        with pytest.raises(RuntimeError, match="exited unexpectedly"):
            next(iter(loader))


def test_what_cannot_be_pickled() -> None:
    class LocalError(Exception):
        pass

    def get(index: int) -> Any:
        if index == 1:
            raise LocalError("bad 1")
        return (lambda: 0) if index == 0 else index

    data = nnkit.utils.data
    batches = iter(load(data, dataset(data, get, 3), batch_size=None, num_workers=1))
    with pytest.raises(Exception, match="DataLoader worker process 0[^$]*local object .*lambda"):
        next(batches)
    with pytest.raises(RuntimeError, match="Caught LocalError in DataLoader worker process 0"):
        next(batches)
    assert next(batches) == 2
    sampled = load(data, [1], sampler=[lambda: 0], batch_size=None, num_workers=1)
    with pytest.raises(Exception, match="local object .*lambda"):
        next(iter(sampled))


class Reluctant:
    def __reduce__(self) -> Any:
        return exec, ("raise IndexError('not here')",)


def test_what_cannot_be_unpickled() -> None:
    data = nnkit.utils.data
    get = lambda index: Reluctant() if index == 0 else index  # noqa: E731
    batches = iter(load(data, dataset(data, get, 2), batch_size=None, num_workers=1))
    with pytest.raises(IndexError, match="not here"):
        next(batches)
    assert next(batches) == 1


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_worker_that_is_killed_while_it_writes(context: str) -> None:
    rows = nnkit.utils.data.TensorDataset(nnkit.zeros(64, 160_000))
    loader = DataLoader(
        rows, 16, num_workers=2, multiprocessing_context=context, persistent_workers=True
    )
    batches: Any = iter(loader)
    next(batches)
    time.sleep(0.5)  # until both are stuck in a batch that nobody reads
    for worker in batches._workers:
        os.kill(worker.pid, signal.SIGKILL)
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="exited unexpectedly with exit code -9"):
        list(batches)
    assert time.monotonic() - begin < 2.0
    with pytest.raises(RuntimeError, match="has lost its workers"):
        next(batches)
    assert len(list(loader)) == 4, "a new pass gets new workers"


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
def test_an_interrupt(error: type[BaseException]) -> None:
    data = nnkit.utils.data
    loader = load(
        data, dataset(data, lambda i: time.sleep(min(i, 1)) or i), None, persistent_workers=True
    )

    def interrupt(*_: Any) -> None:
        raise error

    gc.collect()  # what other tests left: an interrupt inside of a `__del__` is lost
    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(error):
            list(loader)
    finally:
        signal.signal(signal.SIGALRM, old)
    assert next(iter(loader)) == 0, "a new pass gets new workers"


ORPHANS = """
import os, signal, sys, time
from nnkit.utils.data import DataLoader
class Slow(list):
    def __getitem__(self, index):
        if index > 1:
            time.sleep(60)
        return bytes(1_000_000)
if __name__ == "__main__":
    loader = DataLoader(Slow(range(8)), None, num_workers=2, multiprocessing_context=sys.argv[1])
    batches = iter(loader)
    next(batches)
    print(*(worker.pid for worker in batches._workers), flush=True)
    os._exit(3) if sys.argv[2] == "exit" else os.kill(os.getpid(), signal.SIGKILL)
"""


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc"), reason="looks into /proc")
@pytest.mark.parametrize("way", ["exit", "kill"])
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_end_with_their_parent(context: str, way: str, tmp_path: Any) -> None:
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS)
    command = [sys.executable, str(script), context, way]
    found = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    workers = [int(pid) for pid in found.stdout.split()]
    until = time.monotonic() + 5.0
    while any(map(is_running, workers)) and time.monotonic() < until:
        time.sleep(0.01)
    assert len(workers) == 2 and not any(map(is_running, workers))


def test_a_forked_process_leaves_the_workers_alone() -> None:
    batches: Any = iter(load(nnkit.utils.data, list(range(9)), None))
    next(batches)
    pid = os.fork()
    if pid == 0:
        batches._end()
        os._exit(0)
    os.waitpid(pid, 0)
    assert list(batches) == list(range(1, 9))


def test_no_process_is_left() -> None:
    iteration = iter(load(nnkit.utils.data, list(range(99)), num_workers=2))
    next(iteration)
    workers = iteration._workers
    del iteration
    gc.collect()
    assert not any(worker.is_alive() for worker in workers)


def test_workers_that_are_spawned() -> None:
    loader = DataLoader(range(4), 2, num_workers=1, multiprocessing_context="spawn")
    assert lists(list(loader)) == [[0, 1], [2, 3]]


def test_refuses(data: Any) -> None:
    with pytest.raises(
        ValueError, match="multiprocessing_context option should specify a valid start"
    ):
        data.DataLoader([1], num_workers=1, multiprocessing_context="x")
    with pytest.raises(
        TypeError, match="multiprocessing_context option should be a valid context object"
    ):
        data.DataLoader([1], num_workers=1, multiprocessing_context=3)
    with pytest.raises(ValueError, match="prefetch_factor option should be non-negative"):
        data.DataLoader([1], num_workers=1, prefetch_factor=-1)


def test_warns_of_few_processors(lib: ModuleType) -> None:
    with pytest.warns(UserWarning, match="This DataLoader will create 10000 worker"):
        lib.utils.data.DataLoader([1], num_workers=10_000)


def test_workers_that_are_let_go(data: Any) -> None:
    batches = iter(load(data, [1, 2, 3]))
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(batches)
    next(batches)
    batches._shutdown_workers()
    assert not any(worker.is_alive() for worker in batches._workers)
    batches._shutdown_workers()
    batches.__del__()
