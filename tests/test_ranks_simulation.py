"""The simulated step of many ranks, against steps that can be reckoned by hand."""

from __future__ import annotations

import dataclasses

import pytest

import nnkit
from benchmarks import ranks_prediction
from benchmarks.ranks_simulation import (
    Gradient,
    Line,
    Trace,
    fitted,
    halving_doubling,
    ring,
    simulated,
    traced,
)
from nnkit import nn, optim

# Four gradients of 100 bytes, one in each second of backward.
TRACE = Trace(2.0, 4.0, 1.0, tuple(Gradient(float(second), 100) for second in (1, 2, 3, 4)))
EACH, PAIRS, ALL = (1,), (200,), (1000,)  # bytes after which a bucket is full


def lives(step) -> list[tuple[float, float]]:
    return [(m.leaves, m.arrives) for m in step.messages]


def test_without_messages_a_step_is_that_of_one_rank() -> None:
    for algorithm in (ring, halving_doubling):
        step = simulated(TRACE, algorithm(1, Line(1.0, 1.0)), EACH)
        assert (step.seconds, step.alone, step.waits, step.hidden) == (7.0, 7.0, 0.0, 1.0)


def test_messages_are_hidden_but_for_the_last() -> None:
    step = simulated(TRACE, Line(0.5, 0.0), EACH)
    assert lives(step) == [(1.0, 1.5), (2.0, 2.5), (3.0, 3.5), (4.0, 4.5)]
    assert (step.seconds, step.waits, step.hidden) == (7.5, 0.5, 0.75)


def test_messages_wait_for_those_before_them() -> None:
    step = simulated(TRACE, Line(1.0, 0.02), EACH)  # 3 seconds each
    assert lives(step) == [(1.0, 4.0), (4.0, 7.0), (7.0, 10.0), (10.0, 13.0)]
    assert (step.seconds, step.waits) == (2 + 13 + 1, 9.0)
    assert step.hidden == pytest.approx(3 / 12)


def test_one_bucket_hides_nothing() -> None:
    step = simulated(TRACE, Line(1.0, 0.01), ALL)
    assert lives(step) == [(4.0, 9.0)]
    assert (step.seconds, step.waits, step.hidden) == (12.0, 5.0, 0.0)


def test_buckets_are_cut_as_ddp_cuts_them() -> None:
    step = simulated(TRACE, Line(0.0, 0.0), PAIRS)
    assert [(m.nbytes, m.leaves) for m in step.messages] == [(200, 2.0), (200, 4.0)]
    step = simulated(TRACE, Line(0.0, 0.0), (100, 1000))
    assert [(m.nbytes, m.leaves) for m in step.messages] == [(100, 1.0), (300, 4.0)]


def test_messages_take_their_share_of_the_processor() -> None:
    half = simulated(TRACE, Line(1.0, 0.0), PAIRS, cpu_share=0.5)
    assert lives(half) == [(2.0, 3.0), (4.5, 5.5)]  # of that second backward had a half
    assert (half.seconds, half.waits, half.hidden) == (8.5, 1.0, 0.25)
    whole = simulated(TRACE, Line(1.0, 0.0), PAIRS, cpu_share=1.0)
    assert (whole.seconds, whole.waits, whole.hidden) == (9.0, 1.0, 0.0)
    slow = simulated(TRACE, Line(10.0, 0.0), PAIRS, cpu_share=0.5)
    assert lives(slow) == [(2.0, 12.0), (12.0, 22.0)]  # backward ends at 6, meanwhile
    assert (slow.seconds, slow.waits) == (25.0, 16.0)


def test_messages_of_an_all_reduce() -> None:
    link = Line(1.0, 3.0)
    assert ring(2, link) == halving_doubling(2, link) == Line(2.0, 3.0)
    assert ring(4, link) == Line(6.0, 4.5)
    assert halving_doubling(4, link) == Line(4.0, 4.5)
    assert halving_doubling(3, link) == Line(4.0, 9.0)
    assert ring(1024, link).per_byte == halving_doubling(1024, link).per_byte


def test_a_line_is_fitted_to_relative_errors() -> None:
    sizes = [8, 1024, 1 << 20]
    line = fitted(sizes, [Line(1e-5, 2e-9)(n) for n in sizes])
    assert line.latency == pytest.approx(1e-5)
    assert line.per_byte == pytest.approx(2e-9)
    far = fitted([0, 0, 100], [1.0, 3.0, 2.0])  # no line fits the first two
    assert far.latency == pytest.approx((1 + 1 / 3) / (1 + 1 / 9))
    assert far(100) == pytest.approx(2.0)


def test_steps_of_other_batches_and_machines() -> None:
    assert TRACE.of_batch(2.0).seconds == 4 + 8 + 1
    assert [g.ready for g in TRACE.of_batch(2.0).gradients] == [2, 4, 6, 8]
    fast = TRACE.lasting(0.7)
    assert fast.seconds == pytest.approx(0.7)
    assert fast.optimizer == pytest.approx(0.1)


def test_a_real_step_is_traced() -> None:
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
    x = nnkit.ones(4, 3)
    trace = traced(model, lambda: model(x).sum(), optim.SGD(model.parameters(), 0.1), rounds=3)
    assert sorted(g.nbytes for g in trace.gradients[:2]) == [8, 40]  # those of the last layer
    assert sum(g.nbytes for g in trace.gradients) == 4 * (15 + 5 + 10 + 2)
    times = [g.ready for g in trace.gradients]
    assert 0 < times[0] and times == sorted(times) and times[-1] <= trace.backward
    assert not any(p._hooks.post_accumulate for p in model.parameters() if p._hooks)


def test_the_prediction_prints_its_tables(monkeypatch, capsys) -> None:
    trace = dataclasses.replace(TRACE, gradients=tuple(Gradient(t, 1 << 20) for t in (1.0, 4.0)))
    monkeypatch.setattr(ranks_prediction, "MODELS", {"a model": lambda: trace})
    options = ranks_prediction.argparse.Namespace(threads=None, step_ms=100.0)
    ranks_prediction.run(options)
    lines = capsys.readouterr().out.splitlines()
    assert "| 1 | 100.0 ms, 100%, 100% |" in lines[6]
    assert sum(line.startswith("| 1,024 |") for line in lines) == 4
