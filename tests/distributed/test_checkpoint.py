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
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import nnkit
from nnkit import serialization
from nnkit.distributed import checkpoint
from nnkit.distributed.checkpoint import filesystem, format_utils, staging, state_dict_loader
from nnkit.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
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
    with pytest.raises(CheckpointException, match="already exists and self.overwrite=False"):
        checkpoint.save({"x": nnkit.ones(2)}, storage_writer=writer)
    with pytest.raises(NotImplementedError, match="extensions and formats"):
        checkpoint.FileSystemWriter(tmp_path, _extensions=[1])


def test_items_in_files_of_their_own_and_of_threads(tmp_path: Path) -> None:
    state: dict[str, Any] = {str(n): nnkit.full((n,), float(n)) for n in range(1, 6)}
    state["a"] = "b"
    for options, files in (({"single_file_per_rank": False}, 6), ({"thread_count": 3}, 3)):
        folder = tmp_path / str(files)
        writer = checkpoint.FileSystemWriter(folder, sync_files=False, **options)  # pyright: ignore
        saved = checkpoint.save(state, storage_writer=writer)
        names = [f"__0_{n}.distcp" for n in range(files)]
        assert sorted(os.listdir(folder)) == [".metadata", *names]
        assert list(saved.state_dict_metadata) == list(state)
        loaded: dict[str, Any] = {
            key: None if key == "a" else nnkit.zeros(int(key)) for key in state
        }
        checkpoint.load(loaded, checkpoint_id=folder)
        assert all(nnkit.equal(loaded[key], state[key]) for key in state if key != "a")
        assert loaded["a"] == "b"


def test_what_one_rank_saves_alone(tmp_path: Path) -> None:
    checkpoint.save({"x": nnkit.ones(2)}, checkpoint_id=tmp_path, use_collectives=False)
    assert sorted(os.listdir(tmp_path)) == ["__0.metadata", "__0_0.distcp"]
    loaded = {"x": nnkit.zeros(2)}
    checkpoint.load(loaded, checkpoint_id=tmp_path)
    assert loaded["x"].tolist() == [1, 1]


def test_a_copy_is_saved_while_the_state_changes(tmp_path: Path) -> None:
    writer = checkpoint.FileSystemWriter(tmp_path / "2")
    later = staging.DefaultStager(staging.StagingOptions())
    save: Any = checkpoint.async_save
    for n, options in enumerate(({}, {"storage_writer": writer}, {"async_stager": later})):
        x = nnkit.ones(2)
        folder = tmp_path / str(n)
        saving = save({"x": x}, checkpoint_id=folder, **options)
        if n == 2:
            saving.staging_completion.result()
            saving = saving.upload_completion
        x.zero_()
        assert list(saving.result().state_dict_metadata) == ["x"]
        checkpoint.load({"x": x}, checkpoint_id=folder)
        assert x.tolist() == [1, 1]
    later.close()
    saving = save({"x": nnkit.ones(2)}, checkpoint_id="")
    with pytest.raises(RuntimeError, match="checkpoint_id"):
        saving.result()


class Renamed(checkpoint.DefaultSavePlanner):
    def set_up_planner(
        self, state_dict: Any, storage_meta: Any = None, is_coordinator: bool = False
    ) -> None:
        state_dict = {f"old.{key}": value for key, value in state_dict.items()}
        super().set_up_planner(state_dict, storage_meta, is_coordinator)


class Doubled(checkpoint.DefaultLoadPlanner):
    def commit_tensor(self, read_item: Any, tensor: Any) -> None:
        tensor.mul_(2)


def test_planners_of_ones_own(tmp_path: Path) -> None:
    checkpoint.save({"x": nnkit.ones(2)}, checkpoint_id=tmp_path, planner=Renamed())
    loaded = {"old": {"x": nnkit.zeros(2)}, "new": 3}
    with pytest.raises(CheckpointException, match="RuntimeError: Missing key .*: new."):
        checkpoint.load(loaded, checkpoint_id=tmp_path)
    planner = Doubled(allow_partial_load=True)
    checkpoint.load(loaded, checkpoint_id=tmp_path, planner=planner)
    assert loaded == {"old": {"x": loaded["old"]["x"]}, "new": 3}  # pyright: ignore
    assert loaded["old"]["x"].tolist() == [2, 2]  # pyright: ignore
    flat = {"old.x": nnkit.ones(2)}
    planner = checkpoint.DefaultLoadPlanner(flatten_state_dict=False)
    checkpoint.load(flat, checkpoint_id=tmp_path, planner=planner)


def test_older_names_and_orders(tmp_path: Path) -> None:
    x = {"x": nnkit.ones(2)}
    with pytest.warns(FutureWarning, match="save_state_dict"):
        checkpoint.save_state_dict(x, checkpoint.FileSystemWriter(tmp_path))
    x["x"].zero_()
    with pytest.warns(FutureWarning, match="load_state_dict"):
        checkpoint.load_state_dict(x, checkpoint.FileSystemReader(tmp_path))
    assert x["x"].tolist() == [1, 1]
    older: Any = checkpoint
    with pytest.warns(UserWarning, match="argument order of save"):
        older.save({"x": nnkit.zeros(2)}, checkpoint.FileSystemWriter(tmp_path))
    with pytest.warns(UserWarning, match="argument order of load"):
        older.load(x, checkpoint.FileSystemReader(tmp_path))
    assert x["x"].tolist() == [0, 0]


def test_files_of_folders_and_folders_of_files(tmp_path: Path) -> None:
    saved = {"a": {"x": nnkit.ones(2)}, "b": [nnkit.zeros(1), {"c": 3}], "d": (1, None)}
    checkpoint.save(saved, checkpoint_id=tmp_path / "one")
    format_utils.dcp_to_torch_save(tmp_path / "one", tmp_path / "file")
    format_utils.torch_save_to_dcp(tmp_path / "file", tmp_path / "two")
    found = state_dict_loader._load_state_dict_from_keys(checkpoint_id=tmp_path / "two")
    assert str(found) == str(saved) == str(serialization.load(tmp_path / "file"))
    found = state_dict_loader._load_state_dict_from_keys("b", checkpoint_id=tmp_path / "two")
    assert str(found) == str({"b": saved["b"]})


@pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
@pytest.mark.parametrize("names", [("nnkit", "torch"), ("torch", "nnkit")])
def test_torch_reads_it_and_is_read(names: tuple[str, str], tmp_path: Path) -> None:
    kinds = {"a": "float32", "b": "bfloat16", "c": "int64", "d": "bool", "e": "complex64"}

    def made(T: Any, number: int) -> dict[str, Any]:
        tensors = {k: T.full((2, 3), number, dtype=getattr(T, kind)) for k, kind in kinds.items()}
        return {"step": number, "s": [tensors, {"x": (number, None)}], "lone": T.tensor(number)}

    saver, loader = map(import_module, names)
    found = made(loader, 0)
    import_module(f"{names[0]}.distributed.checkpoint").save(
        made(saver, 1), checkpoint_id=tmp_path, no_dist=True
    )
    import_module(f"{names[1]}.distributed.checkpoint").load(
        found, checkpoint_id=tmp_path, no_dist=True
    )
    assert str(found) == str(made(loader, 1))


def test_metadata_that_call_are_refused(tmp_path: Path) -> None:
    (tmp_path / ".metadata").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(CheckpointException, match="UnpicklingError: the file refers to os.system"):
        checkpoint.load({}, checkpoint_id=tmp_path)


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
    with pytest.raises(ValueError, match="full_state_dict must be True"):
        get_model_state_dict(model, options=StateDictOptions(broadcast_from_rank0=True))
    del of_optimizer["state"]["bias"]
    with pytest.raises(RuntimeError, match="Missing optimizer state for parameter 'bias'"):
        set_optimizer_state_dict(model, optimizer, of_optimizer)


def test_states_of_optimizers_in_one_dictionary() -> None:
    saved, other = state(), state()
    options = StateDictOptions(flatten_optimizer_state_dict=True)
    odd = Odd(other["model"].parameters())
    odd.step()
    with pytest.raises(NotImplementedError, match="only supports tensor"):
        get_optimizer_state_dict(other["model"], odd, options=options)
    flat = get_optimizer_state_dict(saved["model"], saved["optimizer"], options=options)
    assert flat["param_groups.bias.lr"] == 1e-3 and flat["state.weight.step"] == 1
    optimizer = nnkit.optim.Adam(other["model"].parameters(), lr=1.0)
    set_optimizer_state_dict(other["model"], optimizer, flat, options=options)
    assert optimizer.param_groups[0]["lr"] == 1e-3
    own = optimizer.state[other["model"].weight]["exp_avg"]
    assert nnkit.equal(own, flat["state.weight.exp_avg"])
    flat["param_groups.bias.lr"] = 0.5
    with pytest.raises(RuntimeError, match=r"same saved param_group value. But bias.lr is 0.5"):
        set_optimizer_state_dict(other["model"], optimizer, flat, options=options)


class Odd(nnkit.optim.SGD):
    def step(self, closure: Any = None) -> None:
        for p in self.param_groups[0]["params"]:
            self.state[p]["name"] = "text"


def test_states_of_modules_in_a_model() -> None:
    model = nnkit.nn.Sequential(nnkit.nn.Linear(1, 1), nnkit.nn.Linear(1, 1))
    for keeps, names in ((True, ["1.weight", "1.bias"]), (False, ["weight", "bias"])):
        options = StateDictOptions(keep_submodule_prefixes=keeps)
        with pytest.warns(FutureWarning, match="submodules"):
            found = get_model_state_dict(model, submodules={model[1]}, options=options)
        assert list(found) == names
    by_module: Any = {model[0]: found}
    with pytest.warns(FutureWarning, match="by modules"):
        set_model_state_dict(model, by_module, options=StateDictOptions(strict=False))
    assert nnkit.equal(model[0].weight, model[1].weight)


LOADS: dict[str, tuple[Callable[[Path], Any], type[BaseException], str]] = {
    "no key": (
        lambda f: checkpoint.load({"a": 1, "b": {"c": 1}}, checkpoint_id=f),
        CheckpointException,
        r"(?s)ranks:dict_keys\(\[0\]\).*RuntimeError: Missing key in checkpoint state_dict: b.c",
    ),
    "another shape": (
        lambda f: checkpoint.load({"x": nnkit.ones(3)}, checkpoint_id=f),
        CheckpointException,
        r"Size mismatch between saved nnkit.Size\(\[2\]\) and current: nnkit.Size\(\[3\]\) for x",
    ),
    "no tensor": (
        lambda f: checkpoint.load({"x": 3}, checkpoint_id=f),
        CheckpointException,
        "Invalid checkpoint metadata for x, expected BytesStorageMetadata but found",
    ),
    "no checkpoint": (
        lambda f: checkpoint.load({}, checkpoint_id=f / "none"),
        CheckpointException,
        "FileNotFoundError: .*none/.metadata",
    ),
    "no place": (lambda f: checkpoint.load({}), RuntimeError, "`checkpoint_id` must be specified"),
    "no folder": (
        lambda f: checkpoint.save({}, checkpoint_id="s3://bucket"),
        RuntimeError,
        "Cannot detect which StorageReader",
    ),
    "what cannot be pickled": (
        lambda f: checkpoint.save({"a": lambda: 3}, checkpoint_id=f),
        CheckpointException,
        "(?s)ranks:dict_keys.*(PicklingError|AttributeError): Can't",
    ),
    "two of one name": (
        lambda f: checkpoint.save({"a": {"b": 1}, "a.b": 2}, checkpoint_id=f),
        CheckpointException,
        "ValueError: duplicated flatten key a.b",
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


@pytest.mark.parametrize("name", [".metadata.tmp", "__0_1"])
def test_an_interrupted_save_leaves_the_old_state(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.save({"x": nnkit.ones(2)}, checkpoint_id=tmp_path)
    opened = filesystem.FileSystem.create_stream

    def fail(self: Any, path: Path, mode: str) -> Any:
        if name in path.name and "w" in mode:
            raise KeyboardInterrupt
        return opened(self, path, mode)

    monkeypatch.setattr(filesystem.FileSystem, "create_stream", fail)
    with pytest.raises(KeyboardInterrupt):
        checkpoint.save({"x": nnkit.zeros(2)}, checkpoint_id=tmp_path)
    monkeypatch.undo()
    found = {"x": nnkit.zeros(2)}
    checkpoint.load(found, checkpoint_id=tmp_path)
    assert found["x"].tolist() == [1.0, 1.0]
    checkpoint.save({"x": nnkit.zeros(2)}, checkpoint_id=tmp_path)
    assert len(os.listdir(tmp_path)) == 2  # and what was left behind is gone


@needs_mpi
@pytest.mark.parametrize("how", ["save", "async_save"])
def test_other_ranks_load_what_some_have_saved(how: str, tmp_path: Path) -> None:
    for ranks, what in ((3, how), (2, "load")):
        succeed("folders", ranks, "nnkit", str(tmp_path), what)


@needs_mpi
@pytest.mark.parametrize("kind", ["parallel", "sharded"])
def test_a_run_that_is_killed_goes_on_with_other_ranks(kind: str, tmp_path: Path) -> None:
    killed_runs(kind, tmp_path, 1, 30, random.Random(kind))


def killed_runs(kind: str, folder: Path, kills: int, steps: int, draw: random.Random) -> None:
    """Run a training, kill it at random moments, and compare with one that was not."""
    (folder / "whole").mkdir()
    (folder / "killed").mkdir()

    def checksum(out: str) -> float:
        return float(re.findall("checksum (.*)", out)[0])

    def changed(path: Path) -> float:
        return path.stat().st_mtime if path.exists() else 0.0

    index = folder / "killed" / ".metadata"
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
        found = state_dict_loader._load_state_dict_from_keys("step", checkpoint_id=index.parent)
        reached = found["step"]
        assert reached % 2 == 0
    ranks = draw.randint(2, 4)
    steps = max(steps, reached + 2)
    out = succeed("resuming", ranks, "nnkit", str(folder / "killed"), kind, str(steps))
    whole = succeed("resuming", 1, "nnkit", str(folder / "whole"), "parallel", str(steps))
    assert "goes on at" in out
    assert abs(checksum(out) - checksum(whole)) <= 1e-6 * abs(checksum(whole))
