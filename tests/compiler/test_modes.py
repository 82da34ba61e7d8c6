"""The program that ran last is left as soon as something is on, or a mode is another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Barrier, Thread
from typing import Any

import pytest

import nnkit
from nnkit import autograd
from nnkit.backend.cpu import native
from nnkit.backend.door import Doorkeeper, standing
from nnkit.compiler import modes
from nnkit.overrides import TorchFunctionMode

X = nnkit.ones(3)
CPU = nnkit.device("cpu")


@contextmanager
def default_dtype() -> Iterator[None]:
    nnkit.set_default_dtype(nnkit.float64)
    try:
        yield
    finally:
        nnkit.set_default_dtype(nnkit.float32)


@contextmanager
def deterministic() -> Iterator[None]:
    nnkit.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        nnkit.use_deterministic_algorithms(False)


@contextmanager
def being_disabled() -> Iterator[None]:
    modes.DISABLED.count += 1
    try:
        yield
    finally:
        modes.DISABLED.count -= 1


class Asked(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def same(x: Any) -> Any:
    return x


WAYS: dict[str, Callable[[], Any]] = {
    "no_grad": nnkit.no_grad,
    "inference_mode": nnkit.inference_mode,
    "autocast": lambda: nnkit.autocast("cpu"),
    "a default dtype": default_dtype,
    "a default device": lambda: nnkit.device("meta"),
    "deterministic algorithms": deterministic,
    "an inspector of the door": lambda: standing(Doorkeeper, CPU),
    "hooks on saved tensors": lambda: autograd.graph.saved_tensors_hooks(same, same),
    "an anomaly": autograd.detect_anomaly,
    "a mode of functions": Asked,
    "disabled": being_disabled,
}


def compiled() -> tuple[Any, list]:
    step = nnkit.compile(lambda x: x * 2)
    for _ in range(4):
        step(X)
    assert step.last.takes((X,))
    return step, [step.last.takes]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", WAYS)
def test_is_not_taken_while_something_is_on(way: str) -> None:
    step, (takes,) = compiled()
    with WAYS[way]():
        assert not takes((X,))
        assert (step(X).to("cpu") == 2).all() or way == "a default device"
    assert takes((X,))
    assert (step(X) == 2).all()


@pytest.mark.parametrize("way", ["no_grad", "autocast", "a default dtype", "an anomaly"])
@pytest.mark.filterwarnings("ignore")
def test_is_taken_in_the_modes_that_it_is_made_in(way: str) -> None:
    with WAYS[way]():
        takes = modes.as_now()
        assert takes() == (way != "an anomaly")
    assert not takes() or way == "an anomaly"


def test_is_not_taken_within_a_transform_or_a_backward() -> None:
    step, (takes,) = compiled()
    seen = []

    def looked(x: Any) -> Any:
        seen.append(takes((X,)))
        return step(x)

    assert (nnkit.func.vmap(looked)(nnkit.ones(2, 3)) == 2).all()
    leaf = nnkit.ones(3, requires_grad=True)
    leaf.register_hook(looked)
    leaf.sum().backward()
    assert seen == [False, False]
    assert takes((X,))


def test_each_thread_has_modes_of_its_own() -> None:
    step, (takes,) = compiled()
    barrier = Barrier(2)
    found = []

    def other() -> None:
        with nnkit.no_grad():
            barrier.wait()
            found.append(takes((X,)))
            barrier.wait()

    thread = Thread(target=other)
    thread.start()
    barrier.wait()
    assert takes((X,))
    barrier.wait()
    thread.join()
    assert found == [False]


def test_what_is_looked_at_in_compiled_code_says_what_python_says() -> None:
    assert modes.as_now()() == (not modes.is_eager())
    if native.MODULE is not None:
        assert type(modes.as_now()).__name__ == "Checks"
