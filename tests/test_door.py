"""The door holds: a training step can be recorded at it, counted, watched, and replayed."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import nnkit
from nnkit import nn, optim
from nnkit.backend.door import Counter, Doorkeeper, NanHunter, Recorder, Timer, standing
from nnkit.nn import functional as F
from tests.harness.call import Call
from tests.harness.row import Maker, OpRow
from tests.harness.table import ROWS

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
    return [t._array for t in tensors]


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
        replacements[recorder.number(mine._array)] = theirs._array
    replayed = recorder.replay(replacements)

    assert replayed[recorder.number(recorded_loss._array)].tobytes() == loss._array.tobytes()
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
    known = {id(a) for a in [x._array, y._array, *state(model, optimizer)]}
    strangers = [n for n in recorder.inputs if id(recorder.arrays[n]) not in known]
    assert [recorder.arrays[n].shape for n in strangers] == []


X = nnkit.tensor([1.0, -2.0, 3.0])

READING = {
    "item": lambda x: x.sum().item(),
    "float": lambda x: float(x.sum()),
    "int": lambda x: int(x.sum()),
    "bool": lambda x: bool(x.sum()),
    "complex": lambda x: complex(x.sum()),
    "an index": lambda x: [1, 2, 3][x.argmin()],
    "if": lambda x: 1 if x.sum() > 0 else 2,
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "array": lambda x: np.asarray(x),
    "repr": repr,
    "format": lambda x: f"{x.sum():.2f}",
    "iteration": lambda x: [float(v) for v in x],
    "equal": lambda x: x.equal(x * 2),
    "allclose": lambda x: x.allclose(x),
    "nonzero": lambda x: x.nonzero(),
    "a mask": lambda x: x[x > 0],
    "masked_select": lambda x: x.masked_select(x > 0),
    "unique": lambda x: x.unique(),
    "a factor": lambda x: x * x.sum().item(),
    "a size": lambda x: nnkit.zeros(int(x.argmin())),
    "pickle": lambda x: pickle.dumps(x),
    "contains": lambda x: 1.0 in x,
}


@pytest.mark.parametrize("name", READING)
def test_what_is_read_cannot_be_recorded(name: str) -> None:
    line = READING[name].__code__.co_firstlineno if name != "repr" else ""
    with pytest.raises(RuntimeError, match=f"is read in a recording.*test_door.py:{line}"):
        with standing(Recorder, CPU):
            READING[name](X)


@pytest.mark.parametrize("name", ["binary_cross_entropy", "gaussian_nll_loss", "cross_entropy"])
def test_a_loss_that_checks_its_targets_can_be_recorded(name: str) -> None:
    p, y = nnkit.rand(4, 3), nnkit.rand(4, 3)
    arguments = (p, y, y) if name == "gaussian_nll_loss" else (p, y)
    with standing(Recorder, CPU) as recorder:
        getattr(F, name)(*arguments)
    assert recorder.calls
    if name != "cross_entropy":
        with pytest.raises((RuntimeError, ValueError), match=f"^{name}: "):
            getattr(F, name)(*arguments[:-1], arguments[-1] - 2)


def test_counter_prints_calls_and_flops() -> None:
    x, w = nnkit.randn(8, 16), nnkit.randn(16, 4)
    with standing(Counter, CPU) as counter:
        (x @ w).tanh()
    assert counter.calls == {"mm": 1, "tanh": 1}
    assert counter.flops == {"mm": 2 * 8 * 16 * 4, "tanh": 8 * 4}
    assert counter.bytes == {"mm": 4 * (8 * 16 + 16 * 4 + 8 * 4), "tanh": 4 * 2 * 8 * 4}
    total = ["total", "2", str(2 * 8 * 16 * 4 + 32), str(4 * (8 * 16 + 16 * 4 + 3 * 8 * 4))]
    assert counter.table().splitlines()[-1].split() == total


def counted(run) -> Counter:
    with standing(Counter, CPU) as counter:
        run()
    return counter


def training(run) -> Counter:
    """The calls of a forward and a backward pass."""
    return counted(lambda: run().sum().backward())


@pytest.mark.parametrize(
    ("primitive", "write", "expected"),
    [
        ("index_copy_", lambda x, i, y: x.index_copy_(0, i, y), [5, 1, 6, 1]),
        ("index_add_", lambda x, i, y: x.index_add_(0, i, y, alpha=2), [11, 1, 13, 1]),
        ("index_fill_", lambda x, i, y: x.index_fill_(0, i, 7), [7, 1, 7, 1]),
        ("index_put_", lambda x, i, y: x.index_put_((i,), y), [5, 1, 6, 1]),
        ("index_put_", lambda x, i, y: x.index_put_((i,), y, accumulate=True), [6, 1, 7, 1]),
        ("scatter_", lambda x, i, y: x.scatter_(0, i, y), [5, 1, 6, 1]),
        ("scatter_", lambda x, i, y: x.scatter_(0, i, 7.5), [7.5, 1, 7.5, 1]),
        ("scatter_", lambda x, i, y: x.scatter_(0, i, value=7), [7, 1, 7, 1]),
        ("scatter_add_", lambda x, i, y: x.scatter_add_(0, i, y), [6, 1, 7, 1]),
    ],
)
def test_writes_at_positions_copy_nothing(primitive: str, write, expected: list) -> None:
    x, y = nnkit.ones(4), nnkit.tensor([5.0, 6.0])
    counter = counted(lambda: write(x, nnkit.tensor([0, 2]), y))
    assert {name: n for name, n in counter.calls.items() if name.endswith(("_", "copy"))} == {
        primitive: 1
    }
    assert x.tolist() == expected and x._version == 1
    with pytest.raises((IndexError, RuntimeError)):
        write(x, nnkit.tensor([0, 9]), y)
    assert x.tolist() == expected and x._version == 1


def test_counter_knows_convolutions() -> None:
    x = nnkit.randn(2, 4, 6, 6).requires_grad_()
    products = 2 * (2 * 8 * 6 * 6) * (2 * 3 * 3)  # two groups: each output reads half the channels
    counter = training(lambda: nn.Conv2d(4, 8, 3, padding=1, groups=2)(x))
    for name in ("conv", "conv_grad_input", "conv_grad_weight"):
        assert counter.flops[name] == products
    counter = counted(lambda: nn.ConvTranspose2d(4, 8, 2, stride=2)(x))
    assert counter.flops["conv_transpose"] == 2 * x.numel() * (8 * 2 * 2)


def test_counter_knows_contractions() -> None:
    x, y = nnkit.randn(2, 3, 4), nnkit.randn(4, 3, 5)
    assert counted(lambda: nnkit.tensordot(x, y, ([1, 2], [1, 0]))).flops["tensordot"] == 240
    assert counted(lambda: nnkit.einsum("abc,cbd->ad", x, y)).flops["einsum"] == 240
    assert counted(lambda: nnkit.einsum("a,b->ab", x[0, 0], y[0, 0])).flops["einsum"] == 20


@pytest.mark.parametrize("causal, pairs", [(False, 2 * 3 * 25), (True, 2 * 3 * 15)])
def test_counter_knows_attention(causal: bool, pairs: int) -> None:
    q, k, v = (nnkit.randn(2, 3, 5, 8).requires_grad_() for _ in range(3))
    counter = training(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
    assert counter.flops["attention"] == 2 * pairs * 2 * 8
    assert counter.flops["attention_grad"] == 2 * pairs * 5 * 8


@pytest.mark.parametrize("kind, gates", [("RNN", 1), ("LSTM", 4), ("GRU", 3)])
def test_counter_knows_recurrent_layers(kind: str, gates: int) -> None:
    x = nnkit.randn(7, 2, 3).requires_grad_()
    counter = training(lambda: getattr(nn, kind)(3, 6)(x)[0])
    products = 2 * 7 * 2 * (gates * 6) * (3 + 6)
    assert counter.flops[f"{kind.lower()}_layer"] == products
    assert counter.flops[f"{kind.lower()}_layer_grad"] == 2 * products


SIZE = 4 * 10 * 6


@pytest.mark.parametrize(
    "run, expected",
    [
        (lambda x, y, row, rows: x.t(), 0),  # a view
        (lambda x, y, row, rows: x[2:5], 0),
        (lambda x, y, row, rows: x.reshape(60), 0),
        (lambda x, y, row, rows: x + row.expand(10, 6), 2 * SIZE + 4 * 6),  # of one row, not of ten
        (lambda x, y, row, rows: y.mul_(x), 3 * SIZE),  # reads both, writes one
        (lambda x, y, row, rows: y.copy_(x), 2 * SIZE),
        (lambda x, y, row, rows: y.fill_(0.0), SIZE),
        (lambda x, y, row, rows: y.normal_(), SIZE),
        (lambda x, y, row, rows: F.embedding(rows, x), 2 * 4 * 12 + 16),  # of the rows looked up
        (lambda x, y, row, rows: y.__setitem__(rows, x[2:4]), 2 * 4 * 12 + 16),
        (lambda x, y, row, rows: nnkit.cat([x, y]), 4 * SIZE),
    ],
)
def test_counter_knows_which_bytes_move(run, expected: int) -> None:
    x, y, row, rows = nnkit.randn(10, 6), nnkit.randn(10, 6), nnkit.randn(6), nnkit.tensor([1, 2])
    counter = counted(lambda: run(x, y, row, rows))
    assert sum(counter.bytes.values()) == expected, counter.table()


def test_timer_adds_up_seconds() -> None:
    x = nnkit.randn(200, 200)
    with standing(Timer, CPU) as timer:
        for _ in range(3):
            (x @ x).tanh()
    assert timer.calls == {"mm": 3, "tanh": 3}
    assert 0 < min(timer.seconds.values()) < max(timer.seconds.values()) < 5


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


class Owner(Doorkeeper):
    """Knows which arrays its device made, and refuses those of another one."""

    made: dict[int, tuple[Owner, object]] = {}

    def passed(self, name, function, arguments):
        for value in arguments if name != "array" else ():  # which copies what comes from outside
            for array in value if isinstance(value, (tuple, list)) else (value,):
                owner, _ = self.made.get(id(array), (self, None))
                assert owner is self, f"{name} got an array of another device"
        result = function(*arguments)
        for array in result if isinstance(result, tuple) else (result,):
            if name != "to_numpy" and hasattr(array, "dtype"):
                self.made[id(array)] = self, array
        return result


@pytest.fixture
def other() -> Iterator[nnkit.device]:
    """A second device, whose arrays must not meet those of the CPU."""
    place = nnkit.device("xpu")
    place.backend = CPU.backend
    try:
        with standing(Owner, CPU), standing(Owner, place):
            yield place
    finally:
        Owner.made.clear()
        del place.backend


def test_gradients_are_added_on_the_device_of_their_edge(other) -> None:
    w = nnkit.ones(3, device=other).requires_grad_()
    v = nnkit.ones(3).requires_grad_()
    for loss in ((w * w + w.exp() + w).to(CPU) * v, v * (w + w * w).to(CPU) + v):
        ((loss + loss) * v).sum().backward()
    (w.grad + w).sum().to(other)
    assert w.grad.device is other and v.grad.device is CPU


class Block(nn.Module):
    """A residual block and what comes after it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 4, 3, padding=1, bias=False), nn.Conv2d(4, 4, 1)
        self.norm1, self.norm2 = nn.BatchNorm2d(4), nn.BatchNorm2d(4)
        self.shortcut = nn.Conv2d(3, 4, 1)
        self.head = nn.Linear(4, 5)

    def forward(self, x):
        y = self.norm1(self.conv1(x)).relu()
        y = F.max_pool2d((self.norm2(self.conv2(y)) + self.shortcut(x)).relu(), 2)
        return self.head(F.dropout(y, 0.2).mean((2, 3)))


OPTIMIZERS = "SGD Adam AdamW NAdam RAdam Adamax Adagrad Adadelta RMSprop Rprop ASGD LBFGS".split()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_model_on_two_devices(other, name: str) -> None:
    """Each parameter of a group is updated on its own device."""
    block, last = Block().to(other), nn.Linear(5, 5)
    params = [*last.parameters(), *block.parameters()]
    if name == "LBFGS":  # takes all its parameters as one vector
        params = list(block.parameters())
    optimizer = getattr(optim, name)(params)
    x, y = nnkit.randn(2, 3, 4, 4), nnkit.randint(0, 5, (2,))

    def closure():
        optimizer.zero_grad()
        out = block(x.to(other))
        first = F.cross_entropy(out, y.to(other)).to("cpu")
        loss = first + F.cross_entropy(last(out.to(CPU)), y)
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        return loss

    before = [p.detach().clone() for p in params]
    for _ in range(2):
        optimizer.step(closure)
    assert all(p.grad.device is p.device for p in params)
    assert any(not b.equal(p) for b, p in zip(before, params, strict=True) if p.device is other)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_row_stays_on_its_device(other, row: OpRow) -> None:
    """The results and gradients of tensors on another device are computed there."""
    for sample in row.samples(Maker(row, row.dtypes[0])):
        call = Call(nnkit, row, sample, track=True)
        for key, tensor in call.tensors.items():
            call.tensors[key] = tensor.detach().to(other).requires_grad_(tensor.requires_grad)
        error = call.result(may_raise=True).error
        assert error != "AssertionError", "an array met another device"
