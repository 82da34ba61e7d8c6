"""The benchmarks compare like with like: a workload computes the same in both frameworks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nnkit
from benchmarks import memory, ops, roofline, steps, timing
from benchmarks.__main__ import main
from benchmarks.peers import numpy_step
from benchmarks.workloads import WORKLOADS


def values(computed) -> list[np.ndarray]:
    """What a step or an op returned, as arrays: a tensor, a tuple or a list of them."""
    found = computed if isinstance(computed, (tuple, list)) else [computed]
    return [x.detach().numpy() for x in found]


def assert_close(got: list[np.ndarray], expected: list[np.ndarray], tolerance: float) -> None:
    assert len(got) == len(expected)
    for x, y in zip(got, expected, strict=True):
        assert x.shape == y.shape
        if y.size and y.dtype.kind == "f":
            assert np.abs(x - y).max() <= tolerance * max(np.abs(y).max(), 1e-30)


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_a_workload_computes_the_same_in_both_frameworks(name: str) -> None:
    torch = pytest.importorskip("torch")
    step, expected = WORKLOADS[name](nnkit), WORKLOADS[name](torch)
    for _ in range(2):
        assert_close(values(step()), values(expected()), 1e-4)


@pytest.mark.parametrize("name", list(ops.OPS))
def test_an_op_computes_the_same_in_both_frameworks(name: str) -> None:
    torch = pytest.importorskip("torch")
    run, expected = (ops.step(name, fw, ops.SIZES["small"]) for fw in (nnkit, torch))
    if "bfloat16" in name:
        assert_close([run().float().numpy()], [expected().float().numpy()], 1e-2)
    else:
        assert_close(values(run()), values(expected()), 1e-5)


def test_training_lowers_the_loss() -> None:
    step = WORKLOADS["softmax 64-10, batch 64, SGD"](nnkit)
    first = step().item()
    for _ in range(20):
        last = step().item()
    assert last < first


def test_turns_give_one_time_for_each_round() -> None:
    turns = timing.alternate({"a": lambda: sum(range(99)), "b": lambda: None}, 3, 1e-4)
    assert [len(turns.seconds[name]) for name in "ab"] == [3, 3]
    assert min(turns.seconds["a"]) > 0
    assert 0 <= turns.others <= 1


def test_rounds_that_others_disturbed_are_repeated(monkeypatch) -> None:
    shares = iter([0.0, 0.5, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0])  # before and after each round; a look
    monkeypatch.setattr(timing.Others, "share", lambda self: next(shares))
    turns = timing.alternate({"a": lambda: None}, 2, 1e-4, patience=60.0)
    assert turns.others == 0.0
    assert list(shares) == []


def test_others_have_a_share_of_the_machine() -> None:
    others = timing.Others()
    others.before = (others.before[0] - 1.0, others.before[1] - 4.0)
    if others.before[1] > 0:
        assert 0.1 < others.share() < 0.5


def test_ratio_is_the_median_of_the_rounds() -> None:
    turns = timing.Turns({"slow": [2.0, 9.0, 4.0], "fast": [1.0, 1.0, 1.0]}, 0.0)
    assert turns.ratio("slow", "fast") == (4.0, 2.0, 9.0)


@pytest.mark.parametrize(
    "seconds, text", [(1.2345e-6, "1.23 us"), (0.0123, "12.3 ms"), (0.9, "900 ms")]
)
def test_durations_are_short(seconds: float, text: str) -> None:
    assert timing.duration(seconds) == text


def test_the_roofline_knows_the_least_time_of_a_step() -> None:
    counted = roofline.needs(WORKLOADS["MLP 784-256-10, batch 1, inference"](nnkit))
    ceilings = roofline.Ceilings(flops=1e9, bytes=1e9)
    weights = 784 * 256 + 256 * 10
    assert counted.flops == 2 * weights + 256 + 10 + 256
    assert counted.bytes == 4 * (weights + 784 + 3 * 256 + 2 * 10 + 2 * 256)
    assert counted.least_seconds(ceilings) >= max(counted.flops, counted.bytes) / 1e9


def test_the_hand_written_step_trains_too() -> None:
    step = numpy_step("MLP 784-256-128-10, batch 64, Adam")
    assert step is not None
    first = step()
    for _ in range(10):
        last = step()
    assert last < first


def test_steps_prints_a_row_and_writes_json(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr(steps, "TURN", 1e-3)
    monkeypatch.setattr(steps, "measure", lambda patience, clock: roofline.Ceilings(1e11, 1e10))
    page = tmp_path / "out.json"
    main(["--only", "softmax 4-2", "--rounds", "2", "--json", str(page)])
    assert re.search(r"^\| softmax 4-2, .* [um]s \| .*\d% \|$", capsys.readouterr().out, re.M)
    assert '"softmax 4-2, batch 3, SGD"' in page.read_text()


@pytest.mark.parametrize("options", [[], ["--cpu-time"]])
def test_profile_names_the_primitives(options: list[str], capsys) -> None:
    main(["profile", "softmax 4-2", "--steps", "2", *options])
    out = capsys.readouterr().out
    assert "| cross_entropy | 1 |" in out
    assert "| above the door |" in out


def test_ops_prints_the_worst_first(capsys) -> None:
    pytest.importorskip("torch")
    main(["ops", "--only", "sum of", "--sizes", "small", "--rounds", "1", "--seconds", "0.001"])
    rows = capsys.readouterr().out.splitlines()[2:]
    ratios = [float(line[30:39]) for line in rows]
    assert len(ratios) > 4 and ratios == sorted(ratios)


def test_a_fresh_process_tells_its_peak() -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak is read from /proc")
    peak, imported = memory.fresh(memory.PROGRAM, "nnkit", "chain of 10 small ops", "1", "1", "")
    assert peak >= imported > 1


def test_figures_of_ranks() -> None:
    """Of one rank, which needs no MPI."""
    command = [sys.executable, "-m", "benchmarks.ranks", "--batch=1"]
    done = subprocess.run(
        [*command, "--rounds=1", "--seconds=0.001"],
        capture_output=True, text=True, cwd=Path(__file__).parent.parent, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for words in ("all_reduce", "reduce_scatter", "largest error", "traced", "simulated"):
        assert words in done.stdout
