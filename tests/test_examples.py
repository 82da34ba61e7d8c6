"""Every example runs as its first lines say, in a few epochs, and learns."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import nnkit
from tests.cuda import on_gpu

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SHARED = {"digits.py", "training.py"}  # what the programs import
# Each program with its options, and the least test accuracy it must reach.
TRAININGS = [
    ("softmax_classifier.py --data digits --epochs 3", 0.92),
    ("mlp_digits.py --epochs 4", 0.85),
    ("cnn_digits.py --epochs 2", 0.8),
]
ON_RANKS = "gpt_ranks.py"
OTHERS = {
    "softmax_classifier.py": "loss after one step",
    "autograd_tour.py": "saved and then written",
    "custom_function.py": "gradgradcheck True",
}


def run(arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    program, *options = arguments.split()
    command = [sys.executable, "-W", "error", str(EXAMPLES / program), *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def accuracy(arguments: str, folder: Path) -> float:
    done = run(arguments, folder)
    assert done.returncode == 0, done.stderr
    *epochs, last = done.stdout.splitlines()
    found = re.fullmatch(r"test accuracy ([01]\.\d{4})", last)
    assert found, done.stdout
    assert not done.stderr  # no progress bar into a pipe
    line = r"epoch \d+: loss \d+\.\d{4}, test accuracy [01]\.\d{4}"
    assert all(re.fullmatch(line, epoch) for epoch in epochs), done.stdout
    assert bool(epochs) == ("--quiet" not in arguments)
    return float(found[1])


@pytest.mark.cuda
@pytest.mark.skipif(not nnkit.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("arguments", on_gpu.EXAMPLES)
def test_on_a_gpu(arguments: str) -> None:
    on_gpu.check_example(arguments)


@pytest.mark.skipif(nnkit.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("arguments", on_gpu.EXAMPLES)
def test_without_a_gpu(arguments: str, tmp_path: Path) -> None:
    done = run(f"{arguments} --device cuda", tmp_path)
    assert done.returncode == 1
    assert re.search(r"NoCUDAError: cuda: (CUDA needs CuPy|found no NVIDIA driver)", done.stderr)


def test_every_example_is_listed() -> None:
    programs = {p.name for p in EXAMPLES.glob("*.py")} - SHARED - {ON_RANKS}
    assert programs == {a.split()[0] for a, _ in TRAININGS} | OTHERS.keys()
    assert programs == {a.split()[0] for a in on_gpu.EXAMPLES}


@pytest.mark.parametrize(("arguments", "least"), TRAININGS)
def test_training(arguments: str, least: float, tmp_path: Path) -> None:
    assert accuracy(arguments + " --quiet", tmp_path) >= least


@pytest.mark.parametrize("program", OTHERS)
def test_other(program: str, tmp_path: Path) -> None:
    done = run(program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert OTHERS[program] in done.stdout


def test_on_ranks(tmp_path: Path) -> None:
    """Alone; and what it saved in shards it goes on with as a copy."""
    options = "--batch 4 --length 8 --width 16 --folder state --save-every 2"
    for first, last, mode in ((0, 2, "sharded"), (2, 4, "parallel")):
        done = run(f"{ON_RANKS} {options} --mode {mode} --steps {last}", tmp_path)
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(rf"steps {first} to {last}: loss \d\.\d{{4}}\n", done.stdout)
        assert not done.stderr


def test_seed_decides_and_bar_does_not(tmp_path: Path) -> None:
    program = "mlp_digits.py --epochs 1"
    first = accuracy(program + " --seed 1", tmp_path)
    assert first == accuracy(program + " --seed 1 --quiet", tmp_path)
    assert first != accuracy(program + " --seed 2 --quiet", tmp_path)


def test_untrained(tmp_path: Path) -> None:
    assert accuracy("cnn_digits.py --epochs 0 --quiet", tmp_path) < 0.3


def test_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    accuracy("mlp_digits.py --epochs 1 --quiet --plot curve.svg", tmp_path)
    assert "<svg" in (tmp_path / "curve.svg").read_text()


def test_nothing_to_plot(tmp_path: Path) -> None:
    done = run("softmax_classifier.py --plot curve.svg", tmp_path)
    assert done.returncode == 2
    assert "--plot" in done.stderr
