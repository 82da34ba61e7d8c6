"""Memory stays flat, deep graphs work, threads do not see each other's modes."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable

import nnkit
from nnkit import nn, optim
from nnkit.nn import functional as F
from nnkit.profiler import profile


def training_step():
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = optim.Adam(model.parameters())
    x, y = nnkit.randn(5, 6), nnkit.randint(0, 3, (5,))

    def step() -> None:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).reshape(5, 3) * 1.5, y)
        loss.backward()
        optimizer.step()

    return step


def test_memory_is_flat_without_the_collector() -> None:
    step = training_step()
    for _ in range(50):
        step()
    gc.collect()
    gc.disable()
    try:
        tracemalloc.start()
        objects = len(gc.get_objects())
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(2000):
            step()
        more_objects = len(gc.get_objects()) - objects
        garbage = gc.collect()  # also empties the interpreter's lists of free tuples
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
        gc.enable()
    # One object or 10 bytes a step that stayed would show. What runs the tests in several processes
    # has threads, which leave a few.
    assert garbage < 100
    assert more_objects < 100
    assert grown < 20_000


def test_an_in_place_view_step_makes_no_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        for _ in range(20):
            x = nnkit.ones(4, requires_grad=True)
            y = x * 2
            y[1:3].mul_(3)
            y.exp_()
            y.sum().backward()
            del x, y
        assert gc.collect() < 20  # what the tests before left may be let go here
    finally:
        gc.enable()


def test_chain_of_100_000_operations() -> None:
    x = nnkit.tensor(1.0, dtype=nnkit.float64, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + 1e-5
    y.backward()
    assert x.grad.item() == 1.0
    del y


def test_grad_mode_belongs_to_the_thread() -> None:
    seen = []
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with nnkit.no_grad():
            inside.set()
            leave.wait(10)
            seen.append(nnkit.is_grad_enabled())

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    seen.append(nnkit.is_grad_enabled())
    leave.set()
    thread.join()
    assert seen == [True, False]


def test_two_threads_train_their_own_models() -> None:
    found: dict[int, list[float]] = {}

    def train(number: int) -> None:
        w = nnkit.full((3,), float(number), requires_grad=True)
        optimizer = optim.SGD([w], lr=0.1)
        for _ in range(200):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
        found[number] = w.tolist()

    threads = [threading.Thread(target=train, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    train(3)
    for number, values in found.items():
        assert values == [v / 3 * number for v in found[3]] or all(abs(v) < 1e-18 for v in values)


def computed(run: Callable) -> set[str]:
    """The primitives that a function calls."""
    with profile() as profiled:
        run()
    return {event.key for event in profiled.key_averages()}


def test_only_what_is_asked_for_is_computed() -> None:
    x, w, b = (
        nnkit.randn(*shape, requires_grad=True) for shape in ((2, 3, 8, 8), (4, 3, 3, 3), (4,))
    )
    out = F.conv2d(x, w, b)
    grads = nnkit.autograd.grad(out.sum(), (x, w, b), retain_graph=True)
    of_each = []
    for asked, grad in zip((x, w, b), grads, strict=True):
        for create_graph in (False, True):

            def run(asked=asked, create_graph=create_graph, grad=grad) -> None:
                (found,) = nnkit.autograd.grad(
                    out.sum(), asked, retain_graph=True, create_graph=create_graph
                )
                assert found.equal(grad)

            of_each.append(computed(run) & {"conv_grad_input", "conv_grad_weight"})
    assert of_each == [{"conv_grad_input"}] * 2 + [{"conv_grad_weight"}] * 2 + [set()] * 2

    def accumulate() -> None:
        out.sum().backward(inputs=[w], retain_graph=True)

    assert "conv_grad_input" not in computed(accumulate) and w.grad.equal(grads[1])


def test_of_rules_for_all_inputs_too() -> None:
    x, w, b = (nnkit.randn(*s, requires_grad=True) for s in ((2, 4, 3), (4,), (4,)))
    out = F.group_norm(x, 2, w, b)
    wanted = nnkit.autograd.grad(out.sum(), (x, w, b), retain_graph=True)
    for asked, grad in zip((x, w, b), wanted, strict=True):
        (found,) = nnkit.autograd.grad(out.sum(), asked, retain_graph=True)
        assert found.equal(grad)


def test_leaves_take_gradients_that_nobody_else_holds() -> None:
    x = nnkit.randn(2, 3)

    def train(hook: Callable) -> None:
        layer = nnkit.nn.Linear(3, 4)
        for p in layer.parameters():
            hook(p)
        layer(x).square().sum().backward()

    hooks = (
        lambda p: None,
        lambda p: p.register_hook(lambda g: None),
        lambda p: p.register_post_accumulate_grad_hook(lambda p: None),
    )
    for hook in hooks:
        assert "overwrite" not in computed(lambda hook=hook: train(hook))
    kept = []
    assert "overwrite" in computed(lambda: train(lambda p: p.register_hook(kept.append)))
