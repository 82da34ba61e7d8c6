"""What each pass changes in a program, and what it leaves alone."""

from __future__ import annotations

import weakref
from random import Random
from typing import Any

import pytest

import nnkit
from nnkit import Tensor
from nnkit.backend.door import standing
from nnkit.backend.program import Program, Recording, loop_of
from nnkit.backend.program.lifetimes import Lifetimes
from nnkit.backend.program.passes import (
    delay,
    drop_dead,
    fold_constants,
    fuse_formulas,
    recompute,
    reuse_memory,
    share_common,
)  # fmt: skip
from nnkit.nn import functional as F
from tests.backend.native_cases import needs_native

CPU = nnkit.device("cpu")


def recorded(f: Any, *inputs: Tensor) -> Program:
    """The program of a function of Tensors."""
    with nnkit.no_grad(), standing(Recording, CPU) as recording:
        given = [recording._slot(t._array, False).number for t in inputs]
        out = f(*inputs)
    constants = {n: recording.arrays[n] for n in recording.inputs if n not in given}
    outputs = [recording.number(t._array) for t in (out if isinstance(out, tuple) else (out,))]
    return Program(recording.program, given, constants, outputs, recording.shapes)


def names(program: Any) -> list[str]:
    return [getattr(call, "name", None) or call.title for call in program.calls]


def results(program: Program, *inputs: Tensor) -> list:
    run = loop_of(program, CPU.backend)
    return [a.tobytes() for a in run(*[t._array for t in inputs])]


X, Y = nnkit.randn(3, 4), nnkit.randn(3, 4)


def check(before: Program, after: Program, expected: list[str]) -> None:
    assert names(after) == expected
    assert results(before, X.clone(), Y) == results(after, X.clone(), Y)


def test_a_recording_keeps_no_array_that_the_step_lets_go() -> None:
    with nnkit.no_grad(), standing(Recording, CPU) as recording:
        for _ in range(3):  # the next one may lie where the last one did
            made = (X * Y)._array
            gone = weakref.ref(made)
            del made
            assert gone() is None
    assert [call.makes for call in recording.program] == [[2], [3], [4]]
    assert recording.shapes[4] == recording.shapes[0]


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


def fused(f: Any, *inputs: Tensor) -> list[list[str]]:
    """The formulas of each call that runs several, after a look at the bits."""
    before = recorded(f, *inputs)
    after: Any = fuse_formulas(before, CPU.backend)
    assert results(before, *inputs) == results(after, *inputs)
    assert results(before, *inputs) == results(reuse_memory(after), *inputs)
    return [names(call.program) for call in after.calls if hasattr(call, "program")]


@needs_native
def test_neighbouring_formulas_run_together() -> None:
    assert fused(lambda x, y: (x * y + 1).exp().tanh() - y, X, Y) == [
        ["mul", "add", "exp", "tanh", "sub"]
    ]
    assert fused(lambda x, y: ((x * y).exp(), x * y), X, Y) == [["mul", "exp", "mul"]]


@needs_native
def test_formulas_run_together_over_broadcasts_flags_and_infinities() -> None:
    row, column = nnkit.randn(4), nnkit.randn(3, 1)
    assert fused(lambda x, r, c: (x * r - c).exp() * c, X, row, column) == [
        ["mul", "sub", "exp", "mul"]
    ]
    inf = float("inf")
    assert fused(lambda x, y: nnkit.where((x * 2) > y, x, -inf), X, Y) == [["mul", "gt", "where"]]
    assert fused(lambda x, y: ((x * 2) > y, x + y), X, Y) == [["mul", "gt", "add"]]


@needs_native
def test_calls_between_formulas_stay_where_they_must() -> None:
    def read(x, y):
        a = (x * y).exp()
        return a.sum() * (a + 1).tanh()

    def written(x, y):
        a = (x * y).exp()
        y.add_(1)
        return (a * y).tanh()

    def apart(x, y):
        a = (x * y).exp()
        b = y.sum(0)
        return (a * b).tanh()

    assert fused(read, X, Y) == [["mul", "exp"], ["add", "tanh", "mul"]]
    assert fused(apart, X, Y) == [["mul", "exp", "mul", "tanh"]]
    after = fuse_formulas(recorded(written, X.clone(), Y.clone()), CPU.backend)
    assert names(after) == ["fused", "add_", "fused"]


@needs_native
def test_what_computes_otherwise_stays_by_itself() -> None:
    assert fused(lambda x, y: (x.double() * y.double()).exp(), X, Y) == [["mul", "exp"]]
    for x in (X.bfloat16(), X.long(), nnkit.randn(4, 3).t(), X.to(nnkit.complex64)):
        assert fused(lambda x: (x * x + x) * x, x) == []
    assert fused(lambda x, y: (x.sum(0) * 2, y * 2), X, Y) == []


@needs_native
def test_long_chains_run_in_several_calls() -> None:
    def f(*given):
        total = given[0]
        for x in given[1:]:
            total = (total * x).tanh()
        return total

    groups = fused(f, *(nnkit.randn(5) for _ in range(40)))
    assert len(groups) < 6 and sum(map(len, groups)) == 78
    kept = fused(lambda x: tuple([(x := x * 2 + i) for i in range(30)]), X)
    assert 1 < len(kept) < 6 and sum(map(len, kept)) == 60


@needs_native
@pytest.mark.parametrize("seed", range(40))
def test_random_formulas_have_the_same_bits_together(seed: int) -> None:
    g = Random(seed)
    shape = g.choice([(), (5,), (3, 4), (2, 1, 3), (70, 130), (3, 40_000)])
    dtype = g.choice([nnkit.float32, nnkit.float64])
    nnkit.manual_seed(seed)
    inputs = [nnkit.randn(shape, dtype=dtype)]
    for _ in range(g.randrange(3)):
        sizes = [n if g.random() < 0.6 else 1 for n in shape][g.randrange(len(shape) + 1) :]
        inputs.append(nnkit.randn(*sizes, 2, dtype=dtype)[..., 0])

    def f(*given):
        values = [given[0] * 1.5, *given]
        for _ in range(g.randrange(2, 14)):
            a, b = g.choice(values), g.choice(values)
            values.append(
                g.choice(
                    [
                        lambda a=a, b=b: a + b, lambda a=a, b=b: a * b, lambda a=a, b=b: a - 2 * b,
                        lambda a=a: a.tanh(), lambda a=a: a.exp(), lambda a=a: a.sigmoid(),
                        lambda a=a, b=b: nnkit.where(a > b, a, 0.5),
                        lambda a=a: a.clamp(-1, 1), lambda a=a: F.gelu(a), lambda a=a: a**3,
                    ]
                )()
            )  # fmt: skip
        return tuple(g.sample(values[len(given) + 1 :], 2)) + (values[-1] * values[0],)

    fused(f, *inputs)


def test_a_listing() -> None:
    program = recorded(lambda x, y: (x * y).exp() * 2, X, Y)
    text = str(reuse_memory(program))
    assert "in    b0: float32[3, 4]" in text
    assert "b2 = mul(b0, b1)    # float32[3, 4]" in text
    assert "exp_(b2)" in text
    assert text.splitlines()[-1] == "3 calls, 48 bytes made"


def both(x: Tensor, w: Tensor, v: Tensor, changed: bool = False, given_back: bool = False) -> tuple:
    """Something like a forward and a backward, which reads what was made long before."""
    h = x @ w
    a = h.tanh()
    if changed:
        h += 1
    c = (a @ v) @ v.T
    return a * c, h * c, *([a] if given_back else [])


x, w, v = nnkit.randn(64, 256), nnkit.randn(256, 256), nnkit.randn(256, 2048)


def test_a_formula_whose_operands_are_kept_is_computed_again_for_the_backward() -> None:
    before = recorded(both, x, w, v)
    after = recompute(before)
    assert names(after).count("tanh") == 2
    assert Lifetimes(after).peak() < Lifetimes(before).peak()
    assert results(before, x, w, v) == results(after, x, w, v)


def test_what_was_written_or_is_seen_outside_is_not_computed_again() -> None:
    def written(x: Tensor, w: Tensor, v: Tensor) -> tuple:
        return both(x, w, v, changed=True)

    def seen(x: Tensor, w: Tensor, v: Tensor) -> tuple:
        return both(x, w, v, given_back=True)

    for f in written, seen:
        before = recorded(f, x, w, v)
        assert names(recompute(before)) == names(before)


def test_a_gradient_of_a_weight_waits_until_larger_arrays_are_gone() -> None:
    x, y = nnkit.randn(2, 512), nnkit.randn(2, 512)

    def f(x: Tensor, y: Tensor) -> tuple:
        weight = x.T @ y  # (512, 512) of what is kept anyway
        large = (y.T @ x).sum(0)
        return weight.sum(1) * large, x * y

    before = recorded(f, x, y)
    after = delay(before)
    assert Lifetimes(after).peak() < Lifetimes(before).peak()
    assert sorted(names(after)) == sorted(names(before))
    assert results(before, x, y) == results(after, x, y)
