"""What a recording looks at, and what it does not."""

import copy
import gc
import math
import pickle
from typing import Any

import pytest

import nnkit
from nnkit import Tensor, nn, optim
from nnkit.autograd import compiled
from nnkit.backend.cpu.native import MODULE
from nnkit.backend.door import Slot
from nnkit.backend.program import program
from nnkit.compiler import tensors
from nnkit.compiler.tracing import Trace
from nnkit.nn import functional as F
from tests.backend.native_cases import needs_native


def ids(tensors):
    return {id(t) for t in tensors}


def test_all_tensors_that_live_are_found_and_no_others():
    gc.collect()
    before = ids(Tensor._living())

    class Named(Tensor):
        pass

    made = [nnkit.ones(2), nn.Parameter(nnkit.ones(2)), Tensor([1.0]), Named([1.0])]
    made += [copy.copy(made[0]), copy.deepcopy(made[3]), pickle.loads(pickle.dumps(made[0]))]
    made += [made[0] + 1, made[0].detach(), made[1].data, made[0].as_subclass(Named)]
    assert ids(Tensor._living()) == before | ids(made)
    assert ids(Named._living()) == ids(t for t in made if isinstance(t, Named))
    assert ids(nn.Parameter._living()) >= {id(made[1])}
    made.clear()
    assert ids(Tensor._living()) == before


def test_tensors_in_cycles_are_found_until_they_are_collected():
    gc.collect()
    before = ids(Tensor._living())
    t = nnkit.ones(2)
    t.__dict__["itself"] = t
    key = id(t)
    del t
    assert key in ids(Tensor._living())
    gc.collect()
    assert ids(Tensor._living()) == before


class Mortal:
    """Garbage whose end is code of the user's, which no walk from a step finds."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        self.itself = None


def test_what_the_garbage_collector_calls_is_no_part_of_a_step():
    threshold = gc.get_threshold()
    gc.set_threshold(0)
    Mortal()
    try:
        with Trace(lambda *reason: None) as trace:
            gc.set_threshold(1)
            lists = [[n] for n in range(20)]
    finally:
        gc.set_threshold(*threshold)
    assert lists and Mortal.__del__.__code__ not in trace.ran and gc.isenabled()


@pytest.mark.skipif(MODULE is None, reason="the collector's order is another one")
def test_tensors_are_in_the_order_in_which_they_were_made():
    made = [nnkit.ones(2) for _ in range(5)]
    assert [id(t) for t in Tensor._living()][-5:] == [id(t) for t in made]


@pytest.mark.skipif(MODULE is None, reason="Python's profiler asks about everything")
def test_code_that_is_no_users_is_looked_at_once(monkeypatch):
    model = nn.Linear(4, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x, y = nnkit.randn(3, 4), nnkit.tensor([0, 1, 1])
    seen = []
    look = Trace._look

    def counted(self, frame, event, argument):
        seen.append(frame.f_code.co_filename)
        return look(self, frame, event, argument)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()

    monkeypatch.setattr(Trace, "_look", counted)
    nnkit.compile(step)()
    seen.clear()
    compiled = nnkit.compile(step)
    compiled()
    compiled()
    assert 0 < len(seen) < 50  # of more than 2,000 events
    assert len(compiled.program().calls) > 4


@needs_native
def test_compiled_states_are_those_of_python() -> None:
    x, y = nnkit.ones(2, requires_grad=True), nnkit.ones(2)
    with nnkit.inference_mode():
        z = nnkit.ones(2)
    lazy = nn.LazyLinear(2)
    held = [x, y, z, x * 2, y[0], lazy.weight]
    slow, fast = (find(tensors.State, held) for find in (tensors._states, tensors.find_states))
    assert slow == fast and len(slow[0]) == len(held)
    known, before = slow
    assert all(type(state) is tensors.State for state in fast[1].values())
    for change in (
        lambda: None,
        lambda: y.add_(1),
        lambda: setattr(x, "grad", y),
        lambda: y.requires_grad_(),
        lambda: setattr(x, "data", z.clone()),
        lambda: lazy(nnkit.ones(1, 3)),
    ):
        change()
        one = tensors._changed(known, before)
        other = tensors.find_changed(known, before)
        assert [id(t) for t in one] == [id(t) for t in other]
    assert [id(t) for t in one] == [id(x), id(y), id(held[4]), id(lazy.weight)]


@needs_native
def test_writes_are_counted_by_compiled_code_as_by_python() -> None:
    for count_writes in (compiled._count_writes, compiled.count_writes):
        x = nnkit.ones(2)
        count_writes(x, 3, "somebody")
        assert x._version == 3 and x._writes[1] == "somebody"
    with nnkit.inference_mode():
        x = nnkit.ones(2)
    with pytest.raises((RuntimeError, TypeError)):
        count_writes(x, 1, None)


@needs_native
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ((1, 2.0), (1, 2.0), True),
        ((1,), (1.0,), False),
        ((True,), (1,), False),
        ((math.nan,), (math.nan,), True),
        ((1.0, math.nan), (1.0, 2.0), False),
        ((Slot(1), [Slot(2)]), (Slot(1), [Slot(2)]), True),
        ((Slot(1),), (Slot(2),), False),
        ((slice(0, Slot(3)),), (slice(0, Slot(3)),), True),
        ((slice(0, 3),), (slice(0, 4),), False),
        ((1, 2), (1, 2, 3), False),
        ([1], (1,), False),
        ((nnkit.ones(2)._array,), (nnkit.ones(2)._array,), False),
    ],
)
def test_values_of_two_runs_are_compared_alike(one: Any, other: Any, same: bool) -> None:
    assert program._same(one, other) is same
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "MODULE", None)
        assert program._same(one, other) is same


def test_parameters_without_a_shape_elsewhere_are_no_matter():
    other = nn.LazyLinear(2)
    double = nnkit.compile(lambda x: x + x, fullgraph=True)
    for _ in range(3):
        assert double(nnkit.ones(2)).tolist() == [2.0, 2.0]
    assert "add" in str(double.program())
    lazy = nn.Sequential(other, nn.ReLU())
    step, x = nnkit.compile(lazy), nnkit.randn(2, 3)
    for _ in range(4):
        assert nnkit.equal(step(x), lazy(x))
