"""Programs as functions: compiled loops do what printed ones do."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import nnkit
from nnkit.backend.door import Slot
from nnkit.backend.program import looped
from nnkit.backend.program.printer import print_calls
from tests.backend.native_cases import needs_native

WAYS = {"compiled": pytest.param(looped, marks=needs_native), "printed": print_calls}


@pytest.fixture(params=WAYS.values(), ids=list(WAYS))
def make(request: Any) -> Callable:
    return request.param


class Thing:
    """Something that can be referred to weakly."""


def test_one_call_reads_what_another_one_made(make: Callable) -> None:
    calls = [
        (operator.add, (Slot(0), Slot(1)), Slot(2), (1,)),
        (operator.mul, (Slot(2), 3), Slot(3), (2,)),
    ]
    run = make([0, 1], {}, calls, [3, 0])
    assert run(1, 2) == (9, 1)
    assert run(5, -1) == (12, 5)


def test_buffers_stand_in_sequences(make: Callable) -> None:
    def keep(*arguments: Any) -> Any:
        arguments[0].append("written")
        return arguments

    calls = [(keep, ([Slot(0), 5], (Slot(7), [1, (Slot(-1),)]), (1, 2)), Slot(8), ())]
    run = make([0, -1], {7: "known"}, calls, [8])
    for given in (1, 2):
        assert run(given, "x") == (([given, 5, "written"], ("known", [1, ("x",)]), (1, 2)),)


def test_results_are_taken_apart(make: Callable) -> None:
    calls = [
        (lambda x: (x, [x + 1, x + 2], x + 3), (Slot(0),), (None, (Slot(1), None), Slot(2)), ()),
        (operator.neg, (Slot(1),), None, ()),
    ]
    assert make([0], {}, calls, [2, 1])(10) == (13, 11)


def test_another_number_of_results_is_an_error(make: Callable) -> None:
    run = make([0], {}, [(lambda x: (x,), (Slot(0),), (Slot(1), Slot(2)), ())], [1])
    with pytest.raises(ValueError):
        run(1)


def test_another_number_of_arrays_is_an_error(make: Callable) -> None:
    run = make([0], {}, [], [0])
    assert run(1) == (1,)
    with pytest.raises(TypeError):
        run()


def test_buffers_are_let_go_after_their_last_use(make: Callable) -> None:
    seen: list[Any] = []

    def look(thing: Thing) -> weakref.ref:
        return weakref.ref(thing)

    calls = [
        (Thing, (), Slot(0), ()),
        (look, (Slot(0),), Slot(1), (0,)),
        (lambda reference: seen.append(reference()), (Slot(1),), None, ()),
    ]
    make([], {}, calls, [])()
    assert seen == [None]


def test_an_error_lets_all_buffers_go(make: Callable) -> None:
    made = []

    def thing() -> Thing:
        found = Thing()
        made.append(weakref.ref(found))
        return found

    run = make([], {}, [(thing, (), Slot(0), ()), (len, (Slot(0),), Slot(1), ())], [1])
    with pytest.raises(TypeError, match="len"):
        run()
    assert made[0]() is None


def test_attributes_are_set(make: Callable) -> None:
    tensor, thing, grad = nnkit.ones(2), Thing(), nnkit.zeros(2)
    calls = [
        (setattr, (Slot(0), "_grad", Slot(1)), None, ()),
        (setattr, (Slot(0), "_requires_grad", True), None, ()),
        (setattr, (Slot(2), "_grad", Slot(1)), None, ()),
        (setattr, (Slot(2), "other", 3), None, ()),
    ]
    make([0, 1, 2], {}, calls, [])(tensor, grad, thing)
    assert tensor.grad is grad and tensor.requires_grad
    assert vars(thing) == {"_grad": grad, "other": 3}


def test_a_run_may_begin_within_another_one(make: Callable) -> None:
    runs: list[Any] = []

    def again(n: int) -> int:
        return n if n == 0 else runs[0](n - 1)[0] + n

    runs.append(make([0], {}, [(again, (Slot(0),), Slot(1), ())], [1]))
    assert runs[0](10) == (55,)


@needs_native
def test_many_places_are_no_matter() -> None:
    calls = [(operator.add, (Slot(i), 1), Slot(i + 1), (i,)) for i in range(500)]
    assert looped([0], {}, calls, [500])(0) == (500,)
