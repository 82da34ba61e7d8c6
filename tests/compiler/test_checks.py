"""Compiled checks say what those in Python say."""

import gc
import weakref
from collections import OrderedDict, defaultdict
from typing import Any

import pytest

import nnkit
from nnkit import nn
from nnkit.compiler.checks import (
    absence,
    all_hold,
    attribute,
    equality,
    holds,
    item,
    length,
    of_class,
    optional_attribute,
    optional_item,
    outcome,
    sequence,
    truth,
)
from tests.backend.native_cases import needs_native


class Thing:
    def __init__(self):
        self.value = 1


class Changed:
    method = len
    other = abs


def cell(value):
    inner: Any = lambda: value
    return inner.__closure__[0]


def remove_bias(m):
    del m["bias"]


THING, T = Thing(), nnkit.ones(2, requires_grad=True)
KEY: Any = nnkit.ones(1)
REFERRED = [Thing(), Thing()]
# look, key, place, a change after which it must fail
CASES = {
    "attribute": (attribute, "value", Thing(), lambda p: setattr(p, "value", 2)),
    "gone attribute": (attribute, "value", Thing(), lambda p: delattr(p, "value")),
    "float": (item, "a", {"a": 0.0}, lambda p: p.update(a=-0.0)),
    "slot": (attribute, "_array", T, lambda p: setattr(p, "_array", KEY._array)),
    "absence": (absence, "_grad", nnkit.ones(1), lambda p: setattr(p, "grad", KEY)),
    "cell": (attribute, "cell_contents", cell(THING), lambda p: setattr(p, "cell_contents", 1)),
    "item": (item, "bias", {"bias": THING}, lambda p: p.update(bias=Thing())),
    "gone item": (item, "bias", OrderedDict(bias=THING), remove_bias),
    "tensor as key": (item, KEY, {KEY: THING}, lambda p: p.clear()),
    "get": (optional_item, KEY, defaultdict(dict, {KEY: THING}), lambda p: p.clear()),
    "nothing": (optional_item, "a", {}, lambda p: p.update(a=None)),
    "list": (item, 1, [0, THING], lambda p: p.reverse()),
    "short list": (item, 1, [0, THING], lambda p: p.pop()),
    "truth": (truth, "lr", {"lr": 0.1}, lambda p: p.update(lr=0.0)),
    "length": (length, None, [1, 2], lambda p: p.append(3)),
    "method": (of_class, "method", Changed, lambda p: setattr(p, "method", print)),
    "gone method": (of_class, "other", Changed, lambda p: delattr(p, "other")),
}  # fmt: skip
OTHERS = {
    "set": (equality, frozenset((1, 2)), {1, 2}, lambda p: p.add(3)),
    "keys": (sequence, ("a", "b"), {"a": 1, "b": 2}, lambda p: p.update(a=p.pop("a"))),
    "reference": (outcome, None, lambda: REFERRED[0], lambda p: REFERRED.reverse()),
    "optional": (optional_attribute, "value", Thing(), lambda p: delattr(p, "value")),
}


@needs_native
@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_compiled_check_sees_its_change(name):
    look, key, place, change = CASES[name]
    check = look, key, place, look(place, key), name
    both = all_hold([check])
    assert not both.rest
    assert both() and both() and holds(check)
    change(place)
    assert not both() and not holds(check)


@pytest.mark.parametrize("name", OTHERS)
def test_other_checks_see_their_changes_beside_compiled_ones(name):
    look, key, place, change = OTHERS[name]
    kept = [1]
    check = look, key, place, look(place, key), name
    both = all_hold([check, (length, None, kept, 1, "kept")])
    assert both() and both()
    kept.append(2)
    assert not both()
    kept.pop()
    change(place)
    assert not both()


@needs_native
def test_what_runs_code_of_its_own_is_not_compiled():
    class Odd(dict):
        def __getitem__(self, key):
            return THING

    for look in (item, optional_item):
        odd = Odd(a=1)
        assert all_hold([(look, "a", odd, look(odd, "a"), "")])()


def test_a_compiled_step_in_a_cycle_is_collected():
    model = nn.Linear(4, 2)
    model.compile()
    for _ in range(3):
        model(nnkit.ones(1, 4))
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
