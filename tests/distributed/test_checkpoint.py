"""States in folders: what is saved comes back, on any number of ranks, whatever was interrupted."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nnkit
from nnkit import serialization
from nnkit.distributed import checkpoint
from nnkit.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from tests.distributed import PROGRAMS, ROOT, needs_mpi, succeed

CheckpointException: Any = checkpoint.CheckpointException


def state() -> dict[str, Any]:
    nnkit.manual_seed(0)
    model = nnkit.nn.Linear(3, 2)
    optimizer = nnkit.optim.Adam(model.parameters())
    model(nnkit.ones(1, 3)).sum().backward()
    optimizer.step()
    return {
        "model": model, "optimizer": optimizer, "step": 7, "name": "run", "nothing": {},
        "list": [nnkit.arange(4), {"x": nnkit.tensor(2.5)}], "plain": [1, (2, None)],
        "empty": nnkit.zeros(0, 3),
    }  # fmt: skip


def test_a_folder_by_a_writer_and_a_reader(tmp_path: Path) -> None:
    writer = checkpoint.FileSystemWriter(tmp_path, overwrite=False)
    checkpoint.save({"x": nnkit.ones(2)}, storage_writer=writer)
    loaded = {"x": nnkit.zeros(2)}
    checkpoint.load(loaded, storage_reader=checkpoint.FileSystemReader(tmp_path))
    assert loaded["x"].tolist() == [1, 1]
    with pytest.raises(CheckpointException, match="holds a state, and overwrite=False"):
        checkpoint.save({"x": nnkit.ones(2)}, storage_writer=writer)
    with pytest.raises(NotImplementedError, match="of one's own"):
        checkpoint.load(loaded, storage_reader=object())


def test_a_state_comes_back(tmp_path: Path) -> None:
    saved = state()
    checkpoint.save(saved, checkpoint_id=tmp_path / "new" / "folder")
    loaded = state()
    loaded["model"].weight.data.zero_()
    loaded["list"][0].zero_()
    loaded |= {"step": 0, "name": "", "plain": None}
    loaded["optimizer"].state.clear()
    loaded["model"].weight.grad = None
    loaded["model"].bias.grad = None
    with pytest.raises(CheckpointException, match="nothing"):
        checkpoint.load({"nothing else": 1}, checkpoint_id=tmp_path / "new" / "folder")
    of_model, of_optimizer = get_state_dict(loaded["model"], loaded["optimizer"])
    loaded["list"][1]["x"].zero_()
    del loaded["optimizer"]
    checkpoint.load(loaded, checkpoint_id=tmp_path / "new" / "folder")
    assert nnkit.equal(loaded["model"].weight, saved["model"].weight)
    assert loaded["list"][0].tolist() == [0, 1, 2, 3] and loaded["list"][1]["x"].item() == 2.5
    assert (loaded["step"], loaded["name"], loaded["plain"]) == (7, "run", [1, (2, None)])
    assert list(of_model) == ["weight", "bias"] and list(of_optimizer["state"]) == list(of_model)


def test_states_by_names_of_parameters() -> None:
    saved, other = state(), state()
    of_model, of_optimizer = get_state_dict(saved["model"], saved["optimizer"])
    model = nnkit.nn.Linear(3, 2)
    optimizer = nnkit.optim.Adam([{"params": [model.bias]}, {"params": [model.weight]}], lr=1.0)
    with pytest.raises(KeyError, match=r"no group of the loaded state has any of \['bias'\]"):
        set_optimizer_state_dict(model, optimizer, {"state": {}, "param_groups": []})
    set_state_dict(
        model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer
    )  # the groups may be others
    assert nnkit.equal(model.weight, saved["model"].weight)
    own = optimizer.state[model.weight]["exp_avg"]
    assert nnkit.equal(own, saved["optimizer"].state[saved["model"].weight]["exp_avg"])
    assert [group["lr"] for group in optimizer.param_groups] == [1e-3, 1e-3]
    frozen = other["model"].bias.requires_grad_(False)
    found = get_model_state_dict(
        other["model"], options=StateDictOptions(ignore_frozen_params=True)
    )
    assert list(found) == ["weight"] and not frozen.requires_grad
    keys = set_model_state_dict(model, found, options=StateDictOptions(strict=False))
    assert keys.missing_keys == ["bias"]
    with pytest.raises(NotImplementedError, match="flatten_optimizer_state_dict"):
        StateDictOptions(flatten_optimizer_state_dict=True)
    with pytest.raises(NotImplementedError, match="submodules"):
        get_model_state_dict(model, submodules={model})


LOADS: dict[str, tuple[Callable[[Path], Any], type[BaseException], str]] = {
    "no key": (
        lambda f: checkpoint.load({"a": 1, "b": {"c": 1}}, checkpoint_id=f),
        CheckpointException,
        r"load failed on ranks \[0\]\nrank 0: KeyError: .*in checkpoint state_dict: b.c",
    ),
    "another shape": (
        lambda f: checkpoint.load({"x": nnkit.ones(3)}, checkpoint_id=f),
        CheckpointException,
        r"Size mismatch between saved \[2\] and current: \[3\] for x",
    ),
    "no tensor": (
        lambda f: checkpoint.load({"a": nnkit.ones(3)}, checkpoint_id=f),
        CheckpointException,
        "a: the current value is a tensor, the saved one not",
    ),
    "no checkpoint": (
        lambda f: checkpoint.load({}, checkpoint_id=f / "none"),
        CheckpointException,
        "rank 0: FileNotFoundError: .*index.safetensors",
    ),
    "no folder": (lambda f: checkpoint.load({}), ValueError, "checkpoint_id must be a folder"),
    "a planner": (
        lambda f: checkpoint.save({}, checkpoint_id=f, planner=3),
        NotImplementedError,
        "planners of one's own",
    ),
    "an object": (
        lambda f: checkpoint.save({"a": object()}, checkpoint_id=f),
        CheckpointException,
        "save failed on ranks .*\nrank 0: TypeError",
    ),
}


@pytest.mark.parametrize("case", LOADS)
def test_an_error(case: str, tmp_path: Path) -> None:
    checkpoint.save({"a": 1, "x": nnkit.ones(2)}, checkpoint_id=tmp_path)
    call, kind, words = LOADS[case]
    with pytest.raises(kind, match=words):
        call(tmp_path)
    found = {"a": 0, "x": nnkit.zeros(2)}
    checkpoint.load(found, checkpoint_id=tmp_path)
    assert found["a"] == 1 and found["x"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["index", "_0"])
def test_an_interrupted_save_leaves_the_old_state(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.save({"x": nnkit.ones(2)}, checkpoint_id=tmp_path)
    write = serialization.save

    def fail(value: Any, path: Path) -> None:
        if name in path.name:
            raise KeyboardInterrupt
        write(value, path)

    monkeypatch.setattr(serialization, "save", fail)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save({"x": nnkit.zeros(2)}, checkpoint_id=tmp_path)
    monkeypatch.undo()
    found = {"x": nnkit.zeros(2)}
    checkpoint.load(found, checkpoint_id=tmp_path)
    assert found["x"].tolist() == [1.0, 1.0]
    checkpoint.save({"x": nnkit.zeros(2)}, checkpoint_id=tmp_path)
    assert len(os.listdir(tmp_path)) == 2  # and what was left behind is gone


@needs_mpi
@pytest.mark.parametrize("kind", ["parallel", "sharded"])
def test_a_run_that_is_killed_goes_on_with_other_ranks(kind: str, tmp_path: Path) -> None:
    killed_runs(kind, tmp_path, 2, 30, random.Random(kind))


def killed_runs(kind: str, folder: Path, kills: int, steps: int, draw: random.Random) -> None:
    """Run a training, kill it at random moments, and compare with one that was not."""
    (folder / "whole").mkdir()
    (folder / "killed").mkdir()

    def checksum(out: str) -> float:
        return float(re.findall("checksum (.*)", out)[0])

    def changed(path: Path) -> float:
        return path.stat().st_mtime if path.exists() else 0.0

    index = folder / "killed" / "index.safetensors"
    for _ in range(kills):
        before = changed(index)
        command = [
            *(sys.executable, "-m", "nnkit.distributed.run", "--standalone", "--nproc-per-node"),
            *(str(draw.randint(2, 4)), str(PROGRAMS / "resuming.py"), "nnkit"),
            *(str(folder / "killed"), kind, "1000000"),
        ]
        process = subprocess.Popen(
            command, env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        start = time.monotonic()
        while changed(index) == before:
            assert time.monotonic() - start < 60
            time.sleep(0.02)
        time.sleep(draw.random() / 10)
        os.killpg(process.pid, signal.SIGKILL)  # the ranks die with their launcher
        process.wait()
        found = serialization.load(index)["entries"]
        reached = next(e["value"] for e in found if e["key"] == ["step"])
        assert reached % 2 == 0
    ranks = draw.randint(2, 4)
    steps = max(steps, reached + 2)
    out = succeed("resuming", ranks, "nnkit", str(folder / "killed"), kind, str(steps))
    whole = succeed("resuming", 1, "nnkit", str(folder / "whole"), "parallel", str(steps))
    assert "goes on at" in out
    assert abs(checksum(out) - checksum(whole)) <= 1e-6 * abs(checksum(whole))
