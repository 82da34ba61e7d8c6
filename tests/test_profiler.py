"""Primitives and named blocks are timed; steps are recorded as a schedule says."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import nnkit
from nnkit.profiler import ProfilerAction, profile, record_function, schedule

FIRST = "0130013001"  # the first wait is left out


def test_primitives_and_blocks_are_timed(tmp_path: Path) -> None:
    x = nnkit.ones(4, 4)
    with profile(record_shapes=True) as profiler:
        with record_function("mine"):
            (x @ x).sum()
        (x @ x).sum()
    mine, *others = profiler.key_averages()
    assert (mine.key, mine.count) == ("mine", 1)
    assert {"mm", "sum"} <= {event.key for event in others}
    counts = {event.key: event.count for event in others}
    assert counts["mm"] == 2
    assert 0 <= mine.self_cpu_time_total <= mine.cpu_time_total
    grouped = profiler.key_averages(group_by_input_shape=True)
    assert [[4, 4], [4, 4]] in [event.input_shapes for event in grouped]
    text = profiler.key_averages().table(sort_by="cpu_time_total", row_limit=1)
    assert "mine" in text and "mm" not in text
    lines = [line.split() for line in profiler.events().table().splitlines()]  # one for each call
    assert [line[0] for line in lines].count("mm") == 2
    for name, opener in (("trace.json", open), ("trace.json.gz", gzip.open)):
        profiler.export_chrome_trace(str(tmp_path / name))
        with opener(tmp_path / name) as file:
            events = json.loads(file.read())["traceEvents"]
        assert [event["name"] for event in events][0] == "mine"
    x.sum()
    assert len(profiler.events()) == len(events), "nothing is recorded after the block"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"wait": 1, "warmup": 1, "active": 2}, "0123012301"),
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 1}, "0123000000"),
        ({"wait": 0, "warmup": 1, "active": 1, "skip_first": 3}, "0001313131"),
        ({"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1}, FIRST),
    ],
)
def test_schedules(lib: Any, options: dict, expected: str) -> None:
    action = lib.profiler.schedule(**options)
    real = {"NONE": "0", "WARMUP": "1", "RECORD": "2", "RECORD_AND_SAVE": "3"}
    assert "".join(real[action(step).name] for step in range(10)) == expected


@pytest.mark.parametrize("wrong", [{"wait": -1}, {"active": 0}, {"warmup": -2}])
def test_wrong_schedules(lib: Any, wrong: dict) -> None:
    with pytest.raises(AssertionError):
        lib.profiler.schedule(**{"wait": 1, "warmup": 1, "active": 1, **wrong})
    with pytest.raises(AssertionError):
        lib.profiler.schedule(wait=1, warmup=1, active=1)(-1)


def test_steps_are_recorded_as_scheduled() -> None:
    found = []

    def ready(p: Any) -> None:
        counts = {event.key: event.count for event in p.key_averages()}
        found.append((p.step_num, counts["mine"], counts["ProfilerStep*"]))

    plan = nnkit.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    activities = [nnkit.profiler.ProfilerActivity.CPU]
    with nnkit.profiler.profile(activities=activities, schedule=plan, on_trace_ready=ready) as p:
        for _ in range(10):
            with nnkit.profiler.record_function("mine"):
                nnkit.ones(2).sum()
            p.step()
    assert found == [(4, 2, 2), (8, 2, 2)]


def test_traces_for_tensorboard(tmp_path: Path) -> None:
    handler = nnkit.profiler.tensorboard_trace_handler(str(tmp_path), "me")
    with profile(on_trace_ready=handler):
        record_function("mine")(nnkit.ones)(2)
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("me.") and file.name.endswith(".pt.trace.json")


def test_a_schedule_that_ends() -> None:
    assert schedule(wait=0, warmup=0, active=1, repeat=1)(1) is ProfilerAction.NONE
