"""The script for a machine with a GPU, rehearsed on the stand-in."""

from __future__ import annotations

import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import nnkit
from benchmarks import gpu, gpu_kernels
from tests.cuda import on_gpu
from tests.cuda.marks import needs_compiler
from tests.cuda.stand_in import stand_in
from tools import gpu_run

ON_STAND_IN = [check for check in on_gpu.SINGLE if check not in on_gpu.NEED_CUPY]
TRAINED = ("Linear", "BatchNorm2d", "LSTM")  # the others are compared by test_emulated_modules.py


@needs_compiler
@pytest.mark.parametrize("check", ON_STAND_IN, ids=lambda check: check.__name__)
def test_programs(check: Callable[[], None]) -> None:
    with stand_in():
        check()


@needs_compiler
@pytest.mark.parametrize("name", TRAINED)
def test_modules_train(name: str) -> None:
    with stand_in():
        for case in on_gpu.modules():
            if case[0] == name:
                on_gpu.check_training(*case[1:])


@needs_compiler
@pytest.mark.parametrize("optimizer", on_gpu.OPTIMIZERS)
def test_optimizers(optimizer: str) -> None:
    with stand_in():
        on_gpu.check_training(lambda: nnkit.nn.Linear(70, 70), (4, 70), optimizer)


def test_a_failure_is_reported_with_its_place() -> None:
    def fails() -> None:
        raise KeyError("where")

    checks = [("good", lambda: None), ("bad", fails)]
    report, passed = gpu_run.tested(checks, 60.0)
    assert not passed and report.startswith("1 passed, 1 failed, 0 left out")
    assert "- `bad`: KeyError at test_gpu_run.py:" in report
    report, passed = gpu_run.tested(checks, -1.0)
    assert report.startswith("0 passed, 0 failed, 2 left out")
    assert not passed, "nothing ran, so nothing is shown"


def test_lines_are_written_as_checks_end(tmp_path: Path) -> None:
    page = tmp_path / "tests.md"
    seen: list[str] = []
    checks = [
        ("first", lambda: None), ("second", lambda: seen.append(page.read_text())),
        ("third", lambda: 1 / 0),
    ]  # fmt: skip
    assert not gpu_run.run_checks(checks, page, 60.0)
    assert seen == ["passed first\n"]
    assert page.read_text().startswith("2 passed, 1 failed, 0 left out for time")
    assert "- `third`: ZeroDivisionError at test_gpu_run.py" in page.read_text()


def test_processes_that_share_the_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "import sys, time, pathlib\n"
        "share, page = sys.argv[-2:]\n"
        "pathlib.Path(page).write_text(f'passed row of {share}\\n')\n"
        "if share[0] == '1': sys.exit(9)\n"
        "if share[0] == '2': time.sleep(60)\n"
    )
    monkeypatch.setattr(gpu_run, "__file__", str(script))
    monkeypatch.setattr(gpu_run.os, "cpu_count", lambda: 3)
    page = tmp_path / "tests.md"
    assert not gpu_run.run_tests(page, 3.0)
    report = page.read_text()
    assert report.startswith("3 passed, 2 failed, 0 left out")  # what a stopped one did counts
    assert "- `process 1`: exit status 9" in report
    assert "- `process 2`: stopped for time" in report
    assert [p.name for p in tmp_path.iterdir() if p.suffix != ".py"] == ["tests.md"]


def test_a_part_that_takes_too_long_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "run.py"
    started = tmp_path / "started"
    script.write_text(
        "import subprocess, sys, time, pathlib\n"
        "if sys.argv[1] == 'steps':\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"    pathlib.Path({str(started)!r}).write_text(str(child.pid))\n"
        "    time.sleep(60)\n"
    )
    monkeypatch.setattr(gpu_run, "__file__", str(script))
    assert gpu_run.run_apart(["kernels", "steps"], 2.0, tmp_path) == 1
    assert "look at: steps stopped for time" in capsys.readouterr().out
    status = Path("/proc", started.read_text(), "stat")
    end = time.monotonic() + 10
    while status.exists() and status.read_text().split()[2] != "Z":
        assert time.monotonic() < end, "what the part had started goes on"
        time.sleep(0.05)
    assert gpu_run.run_apart(["kernels"], 2.0, tmp_path) == 0


def test_a_part_of_another_name() -> None:
    command = [sys.executable, str(gpu_run.ROOT / "tools" / "gpu_run.py"), "benchmark"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and "they are tests, kernels, steps" in done.stderr


# Rows whose host side is more than a kernel or two; the whole table takes the rehearsal an hour.
ROWS = ("as_strided_scatter", "Tensor.unfold", "lstm", "rrelu", "nn.functional.embedding_bag")


@needs_compiler
@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    (row,) = (row for row in on_gpu.rows() if row.name == name)
    with stand_in():
        on_gpu.check_row(row)


@needs_compiler
def test_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "SIDE", 32)
    monkeypatch.setattr(gpu, "ELEMENTS", 1 << 10)
    with stand_in():
        pages: list[str] = []
        rows = gpu.table("softmax", 60.0, budget=0.01, write=pages.append).splitlines()[2:]
        alone = gpu.table("softmax", 60.0, budget=0.01, labels=("nnkit",)).splitlines()[2:]
        left = gpu.table("MLP", -1.0)
    labels = {row.split(" | ")[1]: row for row in rows}
    assert not any("CUDA graph" in row for row in alone)
    assert len(pages) >= 2 and "| nnkit |" in pages[0]
    assert {"nnkit", "nnkit, CUDA graph"} <= labels.keys()
    assert all("%" in labels[name] for name in ("nnkit", "nnkit, CUDA graph"))
    assert left.count("left out: no time") == len(left.splitlines()) - 2


@needs_compiler
def test_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "SIDE", 32)
    monkeypatch.setattr(gpu, "ELEMENTS", 1 << 10)
    monkeypatch.setattr(gpu_kernels, "ROWS", 64)
    monkeypatch.setattr(gpu_kernels, "COLUMNS", 32)
    monkeypatch.setattr(gpu_kernels, "DTYPES", ("bfloat16",))
    with stand_in():
        rows = gpu_kernels.table(budget=0.0).splitlines()[4:]
    assert len(rows) == 12 and all("%" in row for row in rows), rows


def fake_tool(folder: Path, body: str) -> str:
    path = folder / "compute-sanitizer"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_the_sanitizer(tmp_path: Path) -> None:
    body = 'echo "$@"; echo "5 passed, 0 failed"; echo "========= $2: 0 errors"'
    tool = fake_tool(tmp_path, body)
    report, clean = gpu_run.sanitized(tool, 20.0)
    assert clean and "memcheck, exit status 0: 5 passed, 0 failed; ========= memcheck" in report
    assert "racecheck, exit status 0" in report
    body = 'echo "========= Invalid __global__ write"; echo "========= 1 error"; exit 9'
    report, clean = gpu_run.sanitized(fake_tool(tmp_path, body), 20.0)
    assert not clean and "- ========= Invalid __global__ write" in report
    report, clean = gpu_run.sanitized(fake_tool(tmp_path, "exec sleep 5"), 0.2)
    assert clean and "memcheck, stopped for time" in report
    assert gpu_run.sanitized(None, 1.0)[0].startswith("compute-sanitizer was not found")


@pytest.mark.skipif(nnkit.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_what_is_missing() -> None:
    command = [sys.executable, str(gpu_run.ROOT / "tools" / "gpu_run.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert any(word in done.stdout for word in ("NVIDIA", "CuPy", "cupy"))
