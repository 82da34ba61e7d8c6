"""What a recording looks at, and what it does not."""

import copy
import gc
import pickle

import pytest

import nnkit
from nnkit import Tensor, nn, optim
from nnkit.backend.cpu.native import MODULE
from nnkit.compiler.tracing import Trace
from nnkit.nn import functional as F


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
