"""Data pipes in a DataLoader: their order, the shares of its workers, its generator."""

from __future__ import annotations

import multiprocessing
from types import ModuleType
from typing import Any

import pytest

from tests.frameworks import raises
from tests.utils.samples import lists

FORKS = "fork" in multiprocessing.get_all_start_methods()
needs_fork = pytest.mark.skipif(not FORKS, reason="as the seeds of spawned workers are those")
ORDER = [9, 0, 5, 7, 4, 1, 3, 8, 6, 2]  # of seed 0


def numbers(data: Any, size: int = 10) -> Any:
    return data.datapipes.iter.IterableWrapper(range(size))


def load(data: Any, pipe: Any, **options: Any) -> Any:
    if options.get("num_workers"):
        options["multiprocessing_context"] = "fork"
    return data.DataLoader(pipe, **{"batch_size": None, **options})


PIPES = {
    "plain": (lambda p: p, {}, list(range(10)), 0.3074),
    "shuffled": (lambda p: p.shuffle(), {}, ORDER, 0.3074),
    "switched on": (lambda p: p.shuffle().map(float), {"shuffle": True}, ORDER, 0.3074),
    "switched off": (lambda p: p.shuffle(), {"shuffle": False}, list(range(10)), 0.3074),
    "batches": (lambda p: p.shuffle(), {"batch_size": 4}, [ORDER[:4], ORDER[4:8], ORDER[8:]],
                0.3074),
    "shared": (lambda p: p.shuffle().sharding_filter(), {"num_workers": 2}, ORDER, 0.4901),
    "shared batches": (lambda p: p.shuffle().sharding_filter(),
                       {"num_workers": 2, "batch_size": 3, "shuffle": True},
                       [[9, 5, 4], [0, 7, 1], [3, 6], [8, 2]], 0.4901),
    "shuffled again": (lambda p: p.shuffle().sharding_filter().shuffle(), {"num_workers": 2},
                       [1, 5, 3, 4, 7, 0, 6, 2, 9, 8], 0.4901),
    "not shared": (lambda p: p.map(float), {"num_workers": 2}, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5,
                   6, 6, 7, 7, 8, 8, 9, 9], 0.4901),
    "split": (lambda p: p.fork(2)[0].sharding_filter(), {"num_workers": 2}, list(range(10)),
              0.4901),
}  # fmt: skip


@pytest.mark.parametrize("name", PIPES)
def test_samples(lib: ModuleType, data: Any, name: str) -> None:
    make, options, expected, drawn = PIPES[name]
    if "num_workers" in options and not FORKS:
        pytest.skip("the workers are forked")
    lib.manual_seed(0)
    assert lists(list(load(data, make(numbers(data)), **options))) == expected
    assert round(lib.rand(1).item(), 4) == drawn


@needs_fork
def test_maps(lib: ModuleType, data: Any) -> None:
    pipe = data.datapipes.map.SequenceWrapper(range(6))
    lib.manual_seed(0)
    loader = load(data, pipe.map(float), batch_size=2, shuffle=True, num_workers=2)
    assert lists(list(loader)) == [[0, 4], [3, 5], [2, 1]]
    lib.manual_seed(0)
    assert lists(list(load(data, pipe.shuffle(), batch_size=2))) == [[5, 1], [3, 2], [0, 4]]


@needs_fork
def test_persistent_workers_get_new_seeds(lib: ModuleType, data: Any) -> None:
    pipe = numbers(data).shuffle().sharding_filter()
    lib.manual_seed(1)
    loader = load(data, pipe, num_workers=2, persistent_workers=True)
    assert [list(loader) for _ in range(3)] == [
        [9, 2, 1, 4, 6, 8, 5, 3, 0, 7],
        [5, 7, 6, 1, 4, 3, 0, 2, 9, 8],
        [4, 2, 0, 8, 5, 1, 7, 3, 9, 6],
    ]


def test_one_pass_at_a_time(lib: ModuleType, data: Any) -> None:
    loader = load(data, numbers(data))
    earlier = iter(loader)
    assert next(earlier) == 0
    later = iter(loader)
    assert next(later) == 0
    with raises(lib, RuntimeError, "This iterator has been invalidated"):
        next(earlier)


@needs_fork
def test_a_worker_that_gets_no_share(lib: ModuleType, data: Any) -> None:
    pipe = numbers(data).sharding_filter()
    pipe.apply_sharding(2, 1, data.datapipes.iter.sharding.SHARDING_PRIORITIES.DISTRIBUTED)
    for workers in (0, 1):
        with raises(lib, RuntimeError, "cannot mix DEFAULT"):
            list(load(data, pipe, num_workers=workers))


def test_arguments(lib: ModuleType, data: Any) -> None:
    assert len(load(data, numbers(data), batch_size=3)) == 4
    with raises(lib, ValueError, "sampler"):
        load(data, numbers(data), sampler=[1])
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        loader = load(data, numbers(data), shuffle=True)
    assert list(loader) == list(range(10))  # the shuffler that is added is not read
