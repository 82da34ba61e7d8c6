"""Planned memory: runs of a function in one arena hold what the function's own runs hold."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier
from typing import Any
from weakref import ref

import pytest

import nnkit
from nnkit.backend.cpu import BACKEND as B
from nnkit.backend.cpu import native
from tests.backend.native_cases import needs_native

pytestmark = needs_native
SIZE = 5000  # elements, of 4 bytes
BYTES = 20032  # of such a block, up to where the next one may begin


def made(value: float, size: int = SIZE) -> Any:
    return B.full((size,), value, nnkit.float32.array)


def planned(run: Any) -> Any:
    return native.MODULE.Planned(run)


def chain(value: float) -> Any:
    """Two blocks at a time, and one that outlives the run."""
    x = made(value)
    for _ in range(5):
        x = B.add(x, 1.0)
    return x


def test_a_block_lies_where_others_have_lain() -> None:
    run = planned(chain)
    assert run.bytes == 0
    for i in range(4):
        assert (run(i) == i + 5).all()
        assert run.bytes == BYTES + 4 * SIZE


def test_results_are_not_written_again() -> None:
    run = planned(chain)
    kept = [run(i) for i in range(6)]
    for i, result in enumerate(kept):
        assert (result == i + 5).all()


def test_a_block_that_is_kept_where_it_was_not_before_outlives_the_arena() -> None:
    kept = []

    def steps(keep: bool) -> Any:
        x = made(1)
        y = B.add(x, 1.0)
        if keep:
            kept.append(y)
        return B.add(y, 1.0)

    run = planned(steps)
    for keep in (False, False, True, False, False, True, False):
        assert (run(keep) == 3).all()
        assert all((y == 2).all() for y in kept)
    kept.clear()
    assert (run(False) == 3).all()


def test_runs_that_differ_are_planned_anew_and_then_no_more() -> None:
    run = planned(lambda size: B.add(B.add(made(1, size), 1.0), 1.0))
    sizes = []
    for size in (SIZE, SIZE, 2 * SIZE, 2 * SIZE, 2 * SIZE, SIZE, SIZE, 3 * SIZE, 3 * SIZE, SIZE):
        assert (run(size) == 3).all() and run(size).shape == (size,)
        sizes.append(run.bytes > 0)
    assert sizes[0] and sizes[3] and not sizes[-1]


def test_a_run_that_fails_leaves_the_plan() -> None:
    def steps(fails: bool) -> Any:
        x = B.add(made(1), 1.0)
        if fails:
            raise ValueError("no")
        return B.add(x, 1.0)

    run = planned(steps)
    for fails in (True, False, False, True, False, False):
        if fails:
            with pytest.raises(ValueError, match="no"):
                run(fails)
        else:
            assert (run(fails) == 3).all()
    assert run.bytes > 0


def test_runs_within_runs() -> None:
    inner = planned(chain)

    def steps(depth: int) -> Any:
        x = inner(depth)
        y = outer(depth - 1) if depth else made(0)
        return B.add(x, y)

    outer = planned(steps)
    for _ in range(4):
        assert (outer(3) == 5 + 6 + 7 + 8).all()


def test_threads_that_run_at_once() -> None:
    start = Barrier(4)
    run = planned(chain)
    run(0)

    def many(value: int) -> bool:
        start.wait()
        return all(bool((run(value + i) == value + i + 5).all()) for i in range(50))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(many, range(0, 400, 100)))


def test_blocks_that_another_thread_gives_back() -> None:
    with ThreadPoolExecutor(1) as pool:

        def steps() -> Any:
            box = [made(1)]
            result = B.add(box[0], 1.0)
            pool.submit(box.clear).result()
            return B.add(result, B.add(result, 0.0))

        run = planned(steps)
        for _ in range(6):
            assert (run() == 4).all()


def test_the_cache_is_emptied_between_runs() -> None:
    run = planned(chain)
    for i in range(4):
        assert (run(i) == i + 5).all()
        nnkit.cpu.empty_cache()
        assert native.MODULE.cached_bytes() == 0


@pytest.mark.parametrize("seed", range(10))
def test_random_orders(seed: int) -> None:
    """Each block holds its own value until it is given back, though runs may leave their tape."""
    random = Random(seed)
    actions = [
        [(random.random() < 0.5, random.randrange(1000, 9000), random.random()) for _ in range(60)]
        for _ in range(2)
    ]

    def steps(which: int, stops: int) -> list:
        there: list = []
        for number, (takes, size, place) in enumerate(actions[which][:stops]):
            if takes or not there:
                there.append((number, made(number, size)))
            else:
                value, block = there.pop(int(place * len(there)))
                assert (block == value).all()
                del block
        return there

    run, kept = planned(steps), []
    for which, stops in [(0, 60)] * 4 + [(1, 60), (0, 60), (0, 60), (0, 30), (0, 60), (1, 60)]:
        kept.append(run(which, stops))
        for value, block in (pair for pairs in kept for pair in pairs):
            assert (block == value).all()


def test_one_that_is_part_of_a_cycle_is_collected() -> None:
    class Holder:
        def method(self) -> None:
            pass

    holder: Any = Holder()
    holder.run = planned(holder.method)
    gone = ref(holder)
    del holder
    gc.collect()
    assert gone() is None
