"""Compiled checks say what the printed ones say."""

import gc
import weakref
from collections import OrderedDict, defaultdict
from typing import Any

import pytest

import nnkit
from nnkit import nn
from nnkit.compiler.checks import EQUALITY, IDENTITY, SAMENESS, both, compiled_check
from nnkit.compiler.watch import same
from tests.backend.native_cases import needs_native


class Thing:
    def __init__(self):
        self.value = 1


def cell(value):
    inner: Any = lambda: value
    return inner.__closure__[0]


def remove_bias(m):
    del m["bias"]


THING, T = Thing(), nnkit.ones(2, requires_grad=True)
KEY: Any = nnkit.ones(1)
# text, place, what is there, what that means, a change after which it must fail
CASES = {
    "attribute": ("{}.value", Thing(), 1, EQUALITY, lambda p: setattr(p, "value", 2)),
    "gone attribute": ("{}.value", Thing(), 1, EQUALITY, lambda p: delattr(p, "value")),
    "float": ("{}['a']", {"a": 0.0}, 0.0, SAMENESS, lambda p: p.update(a=-0.0)),
    "slot": ("{}._data", T, T._data, IDENTITY, lambda p: setattr(p, "_data", KEY._data)),
    "absence": ("({}._grad is None)", nnkit.ones(1), True, IDENTITY,
                lambda p: setattr(p, "grad", KEY)),
    "cell": ("{}.cell_contents", cell(THING), THING, IDENTITY,
             lambda p: setattr(p, "cell_contents", 1)),
    "item": ("{}['bias']", {"bias": THING}, THING, IDENTITY, lambda p: p.update(bias=Thing())),
    "gone item": ("{}['bias']", OrderedDict(bias=THING), THING, IDENTITY, remove_bias),
    "named key": ("{}[key0]", {KEY: THING}, THING, IDENTITY, lambda p: p.clear()),
    "get": ("{}.get(key0)", defaultdict(dict, {KEY: THING}), THING, IDENTITY, lambda p: p.clear()),
    "list": ("{}[1]", [0, THING], THING, IDENTITY, lambda p: p.reverse()),
    "short list": ("{}[1]", [0, THING], THING, IDENTITY, lambda p: p.pop()),
    "truth": ("bool({}['lr'])", {"lr": 0.1}, True, IDENTITY, lambda p: p.update(lr=0.0)),
    "length": ("len({})", [1, 2], 2, EQUALITY, lambda p: p.append(3)),
}  # fmt: skip


@needs_native
@pytest.mark.parametrize("name", CASES)
def test_each_kind_of_check_sees_its_change(name):
    text, place, found, means, change = CASES[name]
    check = compiled_check(text, place, found, means, {"key0": KEY})
    assert check is not None
    holds = both([check], same, None)
    assert holds() and holds()
    change(place)
    assert not holds()


@needs_native
def test_what_runs_code_of_its_own_is_printed():
    class Odd(dict):
        def __getitem__(self, key):
            return THING

    assert compiled_check("{}['a']", Odd(), THING, IDENTITY, {}) is None
    assert compiled_check("({} == key0)", {1}, True, IDENTITY, {}) is None
    assert compiled_check("{}.__dict__['value']", Thing, 1, EQUALITY, {}) is None


def test_both_parts_must_hold():
    answers = [True, False]
    holds = both([], same, lambda: answers[0])
    assert holds()
    answers.reverse()
    assert not holds()


def test_a_compiled_step_in_a_cycle_is_collected():
    model = nn.Linear(4, 2)
    model.compile()
    for _ in range(3):
        model(nnkit.ones(1, 4))
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
