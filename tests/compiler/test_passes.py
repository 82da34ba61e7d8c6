"""What each pass changes in a program, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import nnkit
from nnkit import Tensor
from nnkit.backend.door import standing
from nnkit.backend.program import Program, Recording, geometry, print_program
from nnkit.backend.program.passes import drop_dead, fold_constants, reuse_memory, share_common

CPU = nnkit.device("cpu")


def recorded(f: Any, *inputs: Tensor) -> Program:
    """The program of a function of Tensors."""
    with nnkit.no_grad(), standing(Recording, CPU) as recording:
        given = [recording._slot(t._data, False).number for t in inputs]
        out = f(*inputs)
    arrays = recording.arrays
    constants = {n: arrays[n] for n in recording.inputs if n not in given}
    shapes = {n: geometry(a) for n, a in enumerate(arrays)}
    outputs = [recording.number(t._data) for t in (out if isinstance(out, tuple) else (out,))]
    return Program(recording.program, given, constants, outputs, shapes)


def names(program: Program) -> list[str]:
    return [call.name for call in program.calls]  # type: ignore[union-attr]


def results(program: Program, *inputs: Tensor) -> list:
    run = print_program(program, CPU.backend)
    return [a.tobytes() for a in run(*[t._data for t in inputs])]


X, Y = nnkit.randn(3, 4), nnkit.randn(3, 4)


def check(before: Program, after: Program, expected: list[str]) -> None:
    assert names(after) == expected
    assert results(before, X.clone(), Y) == results(after, X.clone(), Y)


def test_dead_calls_are_dropped() -> None:
    def f(x, y):
        (x * y).sum()
        return x + y

    before = recorded(f, X, Y)
    assert names(before) == ["mul", "sum", "add"]
    check(before, drop_dead(before), ["add"])


def test_writes_draws_and_errors_are_not_dropped() -> None:
    def f(x, y):
        x.mul_(2)
        nnkit.rand(2)
        y[nnkit.tensor([0])]
        return x + y

    before = recorded(f, X.clone(), Y)
    kept = names(drop_dead(before))
    assert "uniform_" in kept and "index" in kept
    assert any(name.startswith("mul") for name in kept)


def test_common_calls_are_shared() -> None:
    def f(x, y):
        return (x * y).exp() + (x * y).exp()

    before = recorded(f, X, Y)
    assert names(before) == ["mul", "exp", "mul", "exp", "add"]
    check(before, share_common(before), ["mul", "exp", "add"])


def test_what_is_written_between_is_not_shared() -> None:
    def f(x, y):
        first = x.exp()
        x.add_(1)
        return first + x.exp()

    before = recorded(f, X.clone(), Y)
    assert names(share_common(before)).count("exp") == 2


def test_what_is_returned_is_not_shared() -> None:
    before = recorded(lambda x, y: (x.exp(), x.exp()), X, Y)
    assert names(share_common(before)) == ["exp", "exp"]


def test_numbers_of_other_types_and_signs_are_others() -> None:
    def f(x, y):
        return x.clamp(min=0.0).sum() + x.clamp(min=-0.0).sum()

    before = recorded(f, X, Y)
    assert names(share_common(before)) == names(before)


def test_constants_are_folded() -> None:
    def f(x, y):
        return x + nnkit.arange(4) * nnkit.full((4,), 2.0)

    before = recorded(f, X, Y)
    after = fold_constants(before, CPU.backend)
    assert "arange" in names(before) and "full" in names(before)
    check(before, after, ["add"])
    assert len(after.constants) > len(before.constants)


def test_a_tuple_of_one_piece_is_not_folded() -> None:
    before = recorded(lambda x, y: x + nnkit.zeros(1, 4).unbind(0)[0], X, Y)
    after = fold_constants(before, CPU.backend)
    assert "unbind" in names(after)
    assert results(before, X, Y) == results(after, X, Y)


def test_constants_that_are_written_or_returned_are_made_each_time() -> None:
    def f(x, y):
        total = nnkit.zeros(3, 4)
        total += x
        return total, nnkit.ones(2)

    before = recorded(f, X, Y)
    assert names(fold_constants(before, CPU.backend)) == names(before)


def test_formulas_write_into_what_they_read_last() -> None:
    before = recorded(lambda x, y: (x * y).exp().tanh() + y, X, Y)
    assert names(before) == ["mul", "exp", "tanh", "add"]
    check(before, reuse_memory(before), ["mul", "exp_", "tanh_", "add_"])


def test_memory_that_is_read_later_or_seen_elsewhere_is_not_reused() -> None:
    def later(x, y):
        a = x * y
        return a.exp() + a

    def view(x, y):
        a = x * y
        b = a[0]
        return a.exp() + b

    for f in (later, view, lambda x, y: x.exp(), lambda x, y: (x * y) > y):
        before = recorded(f, X, Y)
        after = reuse_memory(before)
        assert not [name for name in names(after) if name in ("exp_", "gt_")]
        assert results(before, X, Y) == results(after, X, Y)


def test_a_gradient_that_somebody_holds_is_not_reused() -> None:
    w = nnkit.ones(3, requires_grad=True)
    optimizer = nnkit.optim.NAdam([w], lr=0.0)  # whose step is called, and sees the gradient

    @nnkit.compile
    def step(x):
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()
        return w.grad.exp().sum()  # type: ignore[union-attr]

    for i in range(4):
        x = nnkit.full((3,), float(i))
        assert nnkit.equal(step(x), x.exp().sum())
        assert nnkit.equal(w.grad, x)


def test_a_listing() -> None:
    program = recorded(lambda x, y: (x * y).exp() * 2, X, Y)
    text = str(reuse_memory(program))
    assert "in    b0: float32[3, 4]" in text
    assert "b2 = mul(b0, b1)    # float32[3, 4]" in text
    assert "exp_(b2)" in text
    assert text.splitlines()[-1] == "3 calls, 48 bytes made"
