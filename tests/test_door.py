"""The door holds: a training step can be recorded at it, counted, watched, and replayed."""

from __future__ import annotations

import pytest

import nnkit
from nnkit import nn, optim
from nnkit.backend.door import Counter, NanHunter, Recorder, standing
from nnkit.nn import functional as F

CPU = nnkit.device("cpu")


def mlp():
    model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 5))
    return model, optim.Adam(model.parameters(), lr=0.01), nnkit.randn


def cnn():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(4 * 3 * 2, 5),
    )  # fmt: skip
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return model, optimizer, lambda n, _: nnkit.randn(n, 1, 6, 4)


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def state(model, optimizer) -> list:
    """Every array a step changes: parameters, buffers, the optimizer's state."""
    tensors = [*model.parameters(), *model.buffers()]
    for values in optimizer.state.values():
        tensors += [v for v in values.values() if isinstance(v, nnkit.Tensor)]
    return [t._data for t in tensors]


@pytest.mark.parametrize("make", [mlp, cnn])
def test_a_recorded_step_replays_on_other_inputs(make) -> None:
    model, optimizer, draw = make()
    first = draw(7, 12), nnkit.randint(0, 5, (7,))
    other = draw(7, 12), nnkit.randint(0, 5, (7,))
    step(model, optimizer, *first)  # the optimizer's state exists from here on
    before = [a.copy() for a in state(model, optimizer)]

    with standing(Recorder, CPU) as recorder:
        recorded_loss = step(model, optimizer, *first)
    arrays = state(model, optimizer)
    for array, value in zip(arrays, before, strict=True):
        array[...] = value
    loss = step(model, optimizer, *other)
    eager = [a.copy() for a in arrays]

    replacements = {
        recorder.number(a): b.copy()
        for a, b in zip(arrays, before, strict=True)
        if id(a) in recorder.numbers
    }
    for mine, theirs in zip(first, other, strict=True):
        replacements[recorder.number(mine._data)] = theirs._data
    replayed = recorder.replay(replacements)

    assert replayed[recorder.number(recorded_loss._data)].tobytes() == loss._data.tobytes()
    assert loss.item() != recorded_loss.item()
    for array, expected in zip(arrays, eager, strict=True):
        if id(array) in recorder.numbers:
            assert replacements[recorder.number(array)].tobytes() == expected.tobytes()
        else:
            assert array.tobytes() == expected.tobytes()
    assert sum(id(a) in recorder.numbers for a in arrays) >= len(list(model.parameters()))


def test_nothing_computes_beside_the_door() -> None:
    model, optimizer, draw = mlp()
    x, y = draw(7, 12), nnkit.randint(0, 5, (7,))
    step(model, optimizer, x, y)
    with standing(Recorder, CPU) as recorder:
        step(model, optimizer, x, y)
    known = {id(a) for a in [x._data, y._data, *state(model, optimizer)]}
    strangers = [n for n in recorder.inputs if id(recorder.arrays[n]) not in known]
    assert [recorder.arrays[n].shape for n in strangers] == []


def test_counter_prints_calls_and_flops() -> None:
    x, w = nnkit.randn(8, 16), nnkit.randn(16, 4)
    with standing(Counter, CPU) as counter:
        (x @ w).tanh()
    assert counter.calls == {"mm": 1, "tanh": 1}
    assert counter.flops == {"mm": 2 * 8 * 16 * 4, "tanh": 8 * 4}
    assert counter.table().splitlines()[-1].split() == ["total", "2", str(2 * 8 * 16 * 4 + 32)]


def test_nan_hunter_names_the_op() -> None:
    x = nnkit.tensor([1.0, -1.0])
    with standing(NanHunter, CPU), pytest.raises(FloatingPointError, match="^log made a NaN"):
        x.log().mul(0.0).exp()
    with standing(NanHunter, CPU):
        x.abs().log()


def test_the_backend_is_back_afterwards() -> None:
    backend = CPU.backend
    with pytest.raises(ZeroDivisionError), standing(Counter, CPU):
        raise ZeroDivisionError
    assert CPU.backend is backend
