"""Ways to leave a program: each ends in the eager step's numbers, or in the promised error."""

from __future__ import annotations

import copy
import gc
import math
import os
import random
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit import Tensor, nn, optim
from nnkit.nn import functional as F
from tests.compiler.test_programs import bits

X = nnkit.arange(6.0).reshape(2, 3) - 2.5
FACTOR = 2.0
TABLE = [1.0, 2.0]


class Config:
    def __init__(self) -> None:
        self.scale = 1.0


CONFIG = Config()


# Each case: a step (made anew for each run), what is done before call i, and what the warning
# says; None where there is a program for all that happens.
CASES: dict[str, tuple[Callable[[], Callable], str | None]] = {}


def case(warning: str | None) -> Callable:
    def register(build: Callable) -> Callable:
        CASES[build.__name__] = build, warning
        return build

    return register


@case("item: a value is read, at .*test_breaks.py:")
def item() -> Any:
    return lambda x, i: x * x.sum().item()


@case("item: a value is read")
def truth() -> Any:
    return lambda x, i: x + 1 if x.sum() > 0 else x - 1


@case("to_numpy: a value is read")
def numpy() -> Any:
    return lambda x, i: nnkit.from_numpy(x.numpy() * 2)


@case("a value is read|print")
def print_a_tensor() -> Any:
    def step(x, i):
        str(x)
        return x * 2

    return step


@case(r"print\(\) is called")
def print_a_word() -> Any:
    def step(x, i):
        print("step")
        return x * 2

    return step


@case("nonzero: a shape depends on values")
def nonzero() -> Any:
    return lambda x, i: x.nonzero()


@case("index: a shape depends on values")
def mask() -> Any:
    return lambda x, i: x[x > 0]


@case("the step changes state")
def python_state_that_changes() -> Any:
    state = {"count": 0}

    def step(x, i):
        state["count"] += 1
        return x * state["count"]

    return step


@case("the step changes the length of losses")
def a_list_that_grows() -> Any:
    losses: list = []

    def step(x, i):
        losses.append(x.sum())
        return nnkit.stack(losses).sum()

    return step


@case("the step changes")
def nonlocal_counter() -> Any:
    count = 0

    def step(x, i):
        nonlocal count
        count += 1
        return x * count

    return step


@case("is an iterator")
def iterator() -> Any:
    numbers = iter(range(100))
    return lambda x, i: x * next(numbers)


@case("is an iterator|cannot be watched")
def batches_from_a_generator() -> Any:
    def draw() -> Iterator[Tensor]:
        for k in range(100):
            yield nnkit.full((2, 3), float(k))

    loader = draw()
    return lambda x, i: x + next(loader)


@case("draws.*random|random.random")
def python_random() -> Any:
    draws = random.Random(0)
    return lambda x, i: x * draws.random()


@case(r"time\(\) is called")
def clock() -> Any:
    def step(x, i):
        return x + 0 * time.time()

    return step


@case("rng draws random numbers")
def numpy_random() -> Any:
    rng = np.random.RandomState(0)
    return lambda x, i: x * float(rng.rand())


@case("manual_seed")
def seeding() -> Any:
    def step(x, i):
        nnkit.manual_seed(3)
        return x + nnkit.rand(2, 3)

    return step


@case("array from outside of nnkit")
def numpy_array() -> Any:
    values = np.ones((2, 3), np.float32)

    def step(x, i):
        out = x + nnkit.from_numpy(values)
        values[...] += 1
        return out

    return step


@case("a tensor is set to require grad|requires_grad of a tensor")
def requires_grad_in_the_step() -> Any:
    w = nnkit.ones(3)

    def step(x, i):
        w.requires_grad_(not w.requires_grad)
        return x * w

    return step


@case(None)
def hook_in_the_step() -> Any:
    def step(x, i):
        w = nnkit.ones(3, requires_grad=True)
        w.register_hook(lambda g: g * 2)
        (x * w).sum().backward()
        return w.grad

    return step


@case("is disabled")
def disabled_part() -> Any:
    @nnkit.compiler.disable
    def part(x):
        return x * float(x.sum())

    return lambda x, i: part(x) + 1


@case("a number of an optimizer|param_groups|the step changes")
def learning_rate_set_in_the_step() -> Any:
    w = nnkit.ones(3, requires_grad=True)
    optimizer = optim.SGD([w], lr=1.0)

    def step(x, i):
        optimizer.param_groups[0]["lr"] *= 0.5
        optimizer.zero_grad()
        (x * w).sum().backward()
        optimizer.step()
        return w.detach().clone()

    return step


@case(None)
def another_number() -> Any:
    return lambda x, i: x * (i % 2)


@case(None)
def another_dtype() -> Any:
    return lambda x, i: x * 2


@case(None)
def global_number() -> Any:
    def step(x, i):
        return x * FACTOR * CONFIG.scale * TABLE[0]

    return step


@case(None)
def training_mode() -> Any:
    model = nn.Dropout(0.5)

    def step(x, i):
        return model(x)

    step.model = model  # type: ignore[attr-defined]
    return step


@case(None)
def parameter_replaced() -> Any:
    model = nn.Linear(3, 2)

    def step(x, i):
        return model(x)

    step.model = model  # type: ignore[attr-defined]
    return step


@case(None)
def data_replaced() -> Any:
    w = nnkit.ones(3)

    def step(x, i):
        return x * w

    step.tensor = w  # type: ignore[attr-defined]
    return step


@case(None)
def module_hook_added() -> Any:
    model = nn.Linear(3, 2)

    def step(x, i):
        return model(x)

    step.model = model  # type: ignore[attr-defined]
    return step


@case(None)
def recursion() -> Any:
    def step(x, i):
        return x if i <= 0 else x + again(x, i - 1)

    again = step
    return lambda x, i: step(x, i % 3)


def before(name: str, step: Any, x: Tensor, i: int) -> Tensor:
    """What happens outside before call i."""
    global FACTOR
    if name == "another_dtype":
        return x.double() if i % 3 == 2 else x
    if name == "global_number" and i == 5:
        FACTOR, CONFIG.scale, TABLE[0] = 3.0, 5.0, 7.0
    if name == "training_mode":
        step.model.train(i % 4 < 2)
    if name == "parameter_replaced" and i == 5:
        step.model.weight = nn.Parameter(nnkit.ones(2, 3))
    if name == "data_replaced" and i == 5:
        step.tensor.data = nnkit.full((3,), 5.0)
    if name == "module_hook_added" and i == 5:
        step.model.register_forward_hook(lambda m, a, out: out * 2)
    return x


def run(name: str, compiled: bool) -> list:
    global FACTOR
    nnkit.manual_seed(0)
    FACTOR, CONFIG.scale, TABLE[0] = 2.0, 1.0, 1.0
    step = CASES[name][0]()
    called = nnkit.compile(step) if compiled else step
    found = []
    for i in range(12):
        x = before(name, step, X + i, i)
        found.append(bits(called(x, i % 2 if name.startswith("another") else 2)))
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_break_gives_the_eager_numbers(name: str) -> None:
    expected = run(name, compiled=False)
    warning = CASES[name][1]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run(name, compiled=True) == expected
    told = [str(w.message) for w in caught]
    if warning is None:
        assert told == []
    else:
        assert len(told) == 1
        with pytest.raises(UserWarning, match=f"cannot be one program: .*({warning})"):
            raise UserWarning(told[0])


READS = [n for n, (_, w) in CASES.items() if w and "read" in w]


@pytest.mark.parametrize("name", READS)
def test_fullgraph_names_the_line(name: str) -> None:
    build = CASES[name][0]
    step = nnkit.compile(build(), fullgraph=True)
    line = build.__code__.co_firstlineno
    for _ in range(2):
        with pytest.raises(RuntimeError, match=rf"cannot be one program: .*test_breaks.py:{line}?"):
            step(X, 1)


def test_a_last_smaller_batch_gets_a_program_of_its_own() -> None:
    step = nnkit.compile(lambda x: x.exp().sum(0))
    for n in (4, 4, 4, 2, 4, 2, 2):
        x = nnkit.randn(n, 3)
        assert nnkit.equal(step(x), x.exp().sum(0))
    assert step.made == 2


def test_an_exception_in_the_middle_leaves_a_step_that_works() -> None:
    table = nn.Embedding(5, 3)
    optimizer = optim.SGD(table.parameters(), lr=0.1)

    @nnkit.compile
    def step(index):
        optimizer.zero_grad()
        loss = table(index).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    good, bad = nnkit.tensor([1, 2]), nnkit.tensor([1, 9])
    for _ in range(4):
        step(good)
    before = table.weight.detach().clone()
    with pytest.raises(IndexError):
        step(bad)
    assert nnkit.equal(table.weight, before)
    expected = before.clone()
    expected[1:3] -= 0.1 * 2 * before[1:3]
    step(good)
    nnkit.testing.assert_close(table.weight.detach(), expected)


def test_an_exception_while_it_is_recorded() -> None:
    fails = [True]

    @nnkit.compile
    def step(x):
        y = x * 2
        if fails[0]:
            raise KeyError("no")
        return y + 1

    for _ in range(3):
        with pytest.raises(KeyError):
            step(X)
    fails[0] = False
    for _ in range(4):
        assert nnkit.equal(step(X), X * 2 + 1)
    assert step.program()


def test_ctrl_c_while_it_is_recorded() -> None:
    interrupts = [True]

    @nnkit.compile
    def step(x):
        if interrupts[0]:
            raise KeyboardInterrupt
        return x * 2

    with pytest.raises(KeyboardInterrupt):
        step(X)
    interrupts[0] = False
    for _ in range(4):
        assert nnkit.equal(step(X), X * 2)
    assert type(nnkit.device("cpu").backend).__name__ == "Backend"


def test_two_threads() -> None:
    model = nn.Linear(3, 3)
    step = nnkit.compile(lambda x: model(x).tanh())
    wrong: list = []

    def work(seed: int) -> None:
        g = nnkit.Generator().manual_seed(seed)
        for _ in range(100):
            x = nnkit.randn(2, 3, generator=g)
            if not nnkit.equal(step(x), model(x).tanh()):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork() -> None:
    step = nnkit.compile(lambda x: x.exp())
    for _ in range(3):
        step(X)
    child = os.fork()
    if child == 0:
        os._exit(0 if nnkit.equal(step(X), X.exp()) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_nested_compile() -> None:
    inner = nnkit.compile(lambda x: x.sin())

    @nnkit.compile
    def outer(x):
        return inner(x) * 2

    for _ in range(4):
        assert nnkit.equal(outer(X), X.sin() * 2)
    assert "sin" in str(outer.program())


def test_the_learning_rate_is_live() -> None:
    w = nnkit.ones(3, requires_grad=True)
    optimizer = optim.SGD([w], lr=1.0)

    @nnkit.compile
    def step(x):
        optimizer.zero_grad()
        (x * w).sum().backward()
        optimizer.step()

    x = nnkit.ones(3)
    for rate in (1.0, 1.0, 1.0, 0.5, 0.25):
        optimizer.param_groups[0]["lr"] = rate
        before = w.detach().clone()
        step(x)
        assert nnkit.equal(w.detach(), before - rate)
    assert step.made <= 2


def test_a_closed_over_tensor_that_is_given_too() -> None:
    w = nnkit.ones(3)
    step = nnkit.compile(lambda x: x + w)
    for _ in range(3):
        assert nnkit.equal(step(w), w + w)
    other = nnkit.full((3,), 5.0)
    for _ in range(3):
        assert nnkit.equal(step(other), other + w)
    assert nnkit.equal(step(w), w + w)


def test_the_same_tensor_twice() -> None:
    step = nnkit.compile(lambda x, y: x * 2 - y)
    a, b = nnkit.randn(3), nnkit.randn(3)
    for x, y in ((a, a), (a, a), (a, a), (a, b), (b, a), (a, b), (b, b)):
        assert nnkit.equal(step(x, y), x * 2 - y)


def test_an_argument_is_written() -> None:
    step = nnkit.compile(lambda x: x.add_(1))
    for _ in range(4):
        x = nnkit.zeros(3)
        version = x._version
        assert step(x) is x
        assert x.tolist() == [1, 1, 1]
        assert x._version == version + 1


def test_a_transposed_argument() -> None:
    step = nnkit.compile(lambda x: x.reshape(-1) * 2)
    square = nnkit.arange(9.0).reshape(3, 3)
    for x in (square, square, square, square.mT, square.mT, square.mT, square):
        assert nnkit.equal(step(x), x.contiguous().reshape(-1) * 2)


def test_grad_mode_is_part_of_the_signature() -> None:
    w = nnkit.ones(3, requires_grad=True)
    step = nnkit.compile(lambda x: x * w)
    for _ in range(3):
        assert step(nnkit.ones(3)).requires_grad
        with nnkit.no_grad():
            assert not step(nnkit.ones(3)).requires_grad


def test_a_program_does_not_keep_what_it_was_given() -> None:
    step = nnkit.compile(lambda x: x.exp())
    for _ in range(3):
        step(X)
    x = nnkit.ones(2, 3)
    there = weakref.ref(x)
    step(x)
    del x
    gc.collect()
    assert there() is None


def test_more_than_eight_programs() -> None:
    step = nnkit.compile(lambda x, n: x * n, options={"cache": 2})
    with pytest.warns(UserWarning, match="2 programs were made, and none fits"):
        for n in range(5):
            assert nnkit.equal(step(X, n), X * n)


def test_options_and_arguments() -> None:
    with pytest.raises(RuntimeError, match="unexpected optimization option"):
        nnkit.compile(lambda x: x, options={"speed": 9})
    with pytest.raises(RuntimeError, match="expected a function or a module"):
        nnkit.compile(3)
    f = math.sqrt
    assert nnkit.compile(f, disable=True) is f
    assert nnkit.compile(fullgraph=True)(lambda x: x + 1)(X).shape == X.shape


def test_is_compiling_and_reset() -> None:
    seen: list = []

    @nnkit.compile
    def step(x):
        return x + 1 if nnkit.compiler.is_compiling() else x + 2

    assert step(X)[0, 0] == X[0, 0] + 1
    assert not nnkit.compiler.is_compiling()
    nnkit.compiler.reset()
    assert step.made == 0 and seen == []


def test_deepcopy_of_what_a_step_closes_over_is_another_one() -> None:
    model = nn.Linear(3, 2)
    step = nnkit.compile(F.linear)
    for m in (model, model, model, copy.deepcopy(model)):
        assert nnkit.equal(step(X, m.weight, m.bias), m(X))


def test_transforms_see_each_operation() -> None:
    f = nnkit.compile(lambda x: (x * x).sum())
    for _ in range(3):
        f(X)
    assert nnkit.equal(nnkit.func.grad(f)(X), 2 * X)
    assert nnkit.equal(nnkit.func.vmap(f)(X), (X * X).sum(1))
    value, tangent = nnkit.func.jvp(f, (X,), (nnkit.ones_like(X),))
    assert nnkit.equal(tangent, (2 * X).sum())
    step = nnkit.compile(lambda x: nnkit.func.vmap(nnkit.func.grad(lambda r: (r * r).sum()))(x))
    for _ in range(4):
        assert nnkit.equal(step(X), 2 * X)
