"""Files of ``torch.save``: modules and other objects, written here and there, read there and here.

    python -m tests.test_torch_files

writes from torch the files in ``tests/expected/torch_files``, which are read where there is none.
"""

from __future__ import annotations

import argparse
import collections
import copy
import dataclasses
import io
import os
import pickle
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from nnkit.serialization import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals

FROZEN = Path(__file__).parent / "expected" / "torch_files"


@dataclasses.dataclass
class Settings:
    rate: float
    names: list[str]


def mark_output(module: Any, args: Any, output: Any) -> Any:
    return output * 2


def forget_extra(state: dict, prefix: str, *rest: Any) -> None:
    state.pop(prefix + "extra", None)


def network(T: Any) -> Any:
    """A module with what a module can hold: layers, hooks, buffers, shared weights."""
    nn = T.nn
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular"), nn.BatchNorm2d(2), nn.ReLU(),
        nn.Flatten(), nn.Linear(18, 4), nn.Dropout(0.5), nn.Linear(4, 4), nn.PReLU(),
    )  # fmt: skip
    model[6].weight = nn.Parameter(T.eye(4))
    model.add_module("tied", nn.Linear(4, 4))
    model.tied.weight = model[6].weight
    model.register_buffer("steps", T.arange(3), persistent=False)
    model[2].register_forward_hook(mark_output)
    model.settings = argparse.Namespace(rate=0.1, betas=(0.9, 0.99))
    with T.no_grad():
        for k, parameter in enumerate(model.parameters()):
            parameter.copy_(
                T.linspace(-0.3, 0.3 + 0.01 * k, parameter.numel()).view(parameter.shape)
            )
    return model


def use(T: Any, model: Any) -> list[float]:
    """What a module gives in evaluation, then in three steps of training."""
    x = T.linspace(-1, 1, 36).view(4, 1, 3, 3)
    model.eval()
    seen = [model(x).sum().item()]
    model.train()
    model[5].p = 0.0
    optimizer = T.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


def stream_of(T: Any, value: Any, **options: Any) -> io.BytesIO:
    stream = io.BytesIO()
    if T is nnkit:
        options["format"] = "torch"
    T.save(value, stream, **options)
    stream.seek(0)
    return stream


def passed(value: Any, **options: Any) -> Any:
    return nnkit.load(stream_of(nnkit, value), weights_only=False, **options)


def check_network(loaded: Any) -> None:
    assert type(loaded) is nnkit.nn.Sequential and repr(loaded) == repr(network(nnkit))
    assert list(loaded.state_dict()) == list(network(nnkit).state_dict())
    assert loaded.tied.weight is loaded[6].weight
    assert [n for n, _ in loaded.named_buffers()][-1] != "steps" or "steps" in dict(
        loaded.named_buffers()
    )
    assert loaded.settings.betas == (0.9, 0.99)
    twin = copy.deepcopy(loaded)
    assert use(nnkit, loaded) == pytest.approx(use(nnkit, network(nnkit)), rel=1e-5)
    seen: list[Any] = []
    with twin.register_forward_hook(lambda module, args, output: seen.append(output)):
        assert use(nnkit, twin) == pytest.approx(use(nnkit, network(nnkit)), rel=1e-5)
    assert len(seen) == 4


# Both ways


def test_nnkit_reads_a_module_of_torch(torch: ModuleType) -> None:
    check_network(nnkit.load(stream_of(torch, network(torch)), weights_only=False))


def test_torch_reads_a_module_of_nnkit(torch: ModuleType) -> None:
    loaded = torch.load(stream_of(nnkit, network(nnkit)), weights_only=False)
    assert type(loaded) is torch.nn.Sequential and loaded.tied.weight is loaded[6].weight
    assert repr(loaded) == repr(network(torch))
    assert use(torch, loaded) == pytest.approx(use(torch, network(torch)), rel=1e-5)
    assert use(torch, copy.deepcopy(loaded)) != []


def test_frozen_files_of_torch() -> None:
    check_network(nnkit.load(FROZEN / "module.pt", weights_only=False))
    loaded = network(nnkit)
    loaded.load_state_dict(nnkit.load(FROZEN / "legacy.pt"))
    check_network(loaded)


def test_a_module_by_itself() -> None:
    check_network(passed(network(nnkit)))


MODULES = {
    "lstm": lambda nn: nn.LSTM(2, 3, 2, bidirectional=True, proj_size=2),
    "attention": lambda nn: nn.MultiheadAttention(4, 2),
    "encoder": lambda nn: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2
    ),
    "transposed": lambda nn: nn.ConvTranspose2d(1, 2, 3),
    "upsample": lambda nn: nn.Upsample(scale_factor=2),
    "embedding": lambda nn: nn.Embedding(3, 4, padding_idx=1),
    "parameters": lambda nn: nn.ParameterList(nn.Linear(1, 1).parameters()),
    "loss": lambda nn: nn.CrossEntropyLoss(label_smoothing=0.1),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_both_ways(name: str, torch: ModuleType) -> None:
    for theirs, ours in ((torch, nnkit), (nnkit, torch)):
        module = MODULES[name](theirs.nn)
        loaded = ours.load(stream_of(theirs, module), weights_only=False)
        assert repr(loaded).replace("nnkit", "torch") == repr(module).replace("nnkit", "torch")
        assert {k: v.tolist() for k, v in loaded.state_dict().items()} == {
            k: v.tolist() for k, v in module.state_dict().items()
        }
        # and what the other one then writes
        again = theirs.load(stream_of(ours, loaded), weights_only=False)
        assert type(again) is type(module)
        assert vars(again).keys() >= vars(module).keys()
        copy.deepcopy(loaded).eval()


def test_training_goes_on_in_the_other(torch: ModuleType) -> None:
    def start(T: Any) -> tuple:
        model = network(T)
        model[5].p = 0.0
        optimizer = T.optim.Adam(model.parameters(), lr=0.01)
        return (
            model,
            optimizer,
            T.optim.lr_scheduler.CyclicLR(optimizer, 0.01, 0.1, 2, cycle_momentum=False),
        )

    def steps(T: Any, model: Any, optimizer: Any, schedule: Any) -> list[float]:
        seen = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(T.linspace(-1, 1, 36).view(4, 1, 3, 3)).pow(2).mean()
            loss.backward()
            optimizer.step()
            schedule.step()
            seen += [loss.item(), *schedule.get_last_lr()]
        return seen

    all_of_torch = start(torch)
    steps(torch, *all_of_torch)
    stream = stream_of(torch, all_of_torch)
    expected = steps(torch, *all_of_torch)
    assert steps(nnkit, *nnkit.load(stream, weights_only=False)) == pytest.approx(expected, 1e-4)
    all_of_nnkit = start(nnkit)
    steps(nnkit, *all_of_nnkit)
    again = torch.load(stream_of(nnkit, all_of_nnkit), weights_only=False)
    assert steps(torch, *again) == pytest.approx(expected, rel=1e-4)


def values(T: Any) -> dict[str, Any]:
    base = T.arange(12.0).view(3, 4)
    named = T.ones(2)
    named.note = "kept"
    return {
        "views": [base, base.t(), base[1:, 2]],
        "dtypes": [
            base.to(getattr(T, name))
            for name in ("bool", "uint8", "int64", "half", "bfloat16", "double", "complex64")
        ],
        "younger": [base.to(getattr(T, name)) for name in ("uint16", "uint64", "float8_e5m2")],
        "empty": T.zeros(0, 3),
        "none": T.empty(2, 3, device="meta"),
        "conjugate": T.tensor([1 + 2j]).conj(),
        "parameters": [T.nn.Parameter(T.ones(2)), T.nn.Buffer(T.ones(1), persistent=False)],
        "named": named,
        "things": [T.Size([1, 2]), T.device("cpu"), T.float16, T.Generator().manual_seed(3)],
        "classes": [T.nn.Linear, T.optim.SGD, T.nn.functional.relu],
        "maximum": T.tensor([1.0, 3.0]).max(0),
        "others": [
            argparse.Namespace(a=1), collections.Counter("aab"), np.float64(2.5), np.arange(3),
            Settings(0.1, ["x"]), collections.defaultdict(list, a=[1]), {(1, 2): {3}}, Path("x"),
        ],
    }  # fmt: skip


def check_values(T: Any, loaded: dict[str, Any]) -> None:
    expected = values(T)
    first, second, third = loaded["views"]
    first[1, 2] = 99.0
    assert second[2, 1].item() == third[0].item() == 99.0, "what shared memory still does"
    for name in ("dtypes", "younger", "parameters"):
        for got, wanted in zip(loaded[name], expected[name], strict=True):
            assert got.dtype is wanted.dtype and got.tolist() == wanted.tolist()
            assert got.requires_grad == wanted.requires_grad and type(got) is type(wanted)
    assert isinstance(loaded["parameters"][1], T.nn.Buffer)
    assert not loaded["parameters"][1].persistent
    assert loaded["empty"].shape == (0, 3) and loaded["none"].is_meta
    assert loaded["conjugate"].tolist() == [1 - 2j] and loaded["conjugate"].is_conj()
    assert loaded["named"].note == "kept" and type(loaded["named"]) is T.Tensor
    size, place, half, generator = loaded["things"]
    assert (type(size), place, half) == (T.Size, T.device("cpu"), T.float16)
    assert generator.initial_seed() == 3
    drawn = T.rand(3, generator=generator).tolist()
    assert drawn == T.rand(3, generator=T.Generator().manual_seed(3)).tolist()
    assert loaded["classes"] == expected["classes"]
    assert loaded["maximum"].indices.item() == 1
    for got, wanted in zip(loaded["others"], expected["others"], strict=True):
        assert type(got) is type(wanted) and str(got) == str(wanted)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_values(protocol: int) -> None:
    stream = stream_of(nnkit, values(nnkit), pickle_protocol=protocol)
    check_values(nnkit, nnkit.load(stream, weights_only=False))


def test_storages() -> None:
    x = nnkit.arange(3)
    typed, untyped = passed([x.storage(), nnkit.ones(2).untyped_storage()])
    assert typed.tolist() == [0, 1, 2] and untyped.tolist() == [0, 0, 128, 63] * 2


def test_values_both_ways(torch: ModuleType) -> None:
    check_values(nnkit, nnkit.load(stream_of(torch, values(torch)), weights_only=False))
    check_values(torch, torch.load(stream_of(nnkit, values(nnkit)), weights_only=False))


def test_legacy_files(torch: ModuleType) -> None:
    old: dict = {"_use_new_zipfile_serialization": False}
    plain = {"w": torch.arange(4.0).view(2, 2), "n": [1, "a"]}
    for weights_only in (False, True):
        loaded = nnkit.load(stream_of(torch, plain, **old), weights_only=weights_only)
        assert loaded["w"].tolist() == [[0.0, 1.0], [2.0, 3.0]] and loaded["n"] == [1, "a"]
    check_network(nnkit.load(stream_of(torch, network(torch), **old), weights_only=False))
    loaded = torch.load(stream_of(nnkit, network(nnkit), **old), weights_only=False)
    assert use(torch, loaded) == pytest.approx(use(torch, network(torch)), rel=1e-5)


def test_torch_reads_states_of_compat(tmp_path: Path, torch: ModuleType) -> None:
    """An unmodified program under nnkit.compat gives its files to real torch."""
    script = tmp_path / "program.py"
    script.write_text(
        "import sys, torch\n"
        "model = torch.nn.Linear(2, 1)\n"
        "torch.save(model.state_dict(), sys.argv[1])\n"
        "print(torch.load(sys.argv[1], weights_only=True)['weight'].shape)\n"
        "torch.save(model, sys.argv[2])\n"
        "print(torch.load(sys.argv[2], weights_only=False))\n"
    )
    paths = [str(tmp_path / name) for name in ("state.pt", "model.pth")]
    command = [sys.executable, "-m", "nnkit.compat", str(script), *paths]
    root = str(Path(nnkit.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": root}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == ("torch.Size([1, 2])\nLinear(in_features=2, out_features=1, bias=True)\n")
    state = torch.load(paths[0])
    assert list(state) == ["weight", "bias"] and state._metadata == {"": {"version": 1}}
    model = torch.load(paths[1], weights_only=False)
    assert torch.equal(model.weight, state["weight"])


# Arguments


def test_what_is_no_state_is_written_as_torch_does(tmp_path: Path) -> None:
    nnkit.save({"args": argparse.Namespace(lr=1)}, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as archive:
        assert {"x/data.pkl", "x/version", "x/byteorder"} <= set(archive.namelist())
    loaded = nnkit.load(tmp_path / "x.pt", weights_only=False)
    assert loaded == {"args": argparse.Namespace(lr=1)}
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed.*argparse"):
        nnkit.load(tmp_path / "x.pt")
    nnkit.save({"w": nnkit.ones(1)}, tmp_path / "y.pt")
    assert (tmp_path / "y.pt").read_bytes()[8:9] == b"{", "a state is a safetensors file"
    nnkit.save({"w": nnkit.ones(1)}, tmp_path / "y.pt", format="torch")
    assert nnkit.load(tmp_path / "y.pt")["w"].tolist() == [1.0]


def test_the_memory_of_tensors_is_aligned() -> None:
    content = stream_of(nnkit, [nnkit.full((4,), 7, dtype=nnkit.uint8), nnkit.ones(3)]).getvalue()
    assert content.index(b"\7\7\7\7") % 64 == 0
    assert content.index(np.ones(3, np.float32).tobytes()) % 64 == 0


def test_a_failed_save_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises((AttributeError, pickle.PicklingError)):
        nnkit.save(lambda: 0, tmp_path / "x.pt")
    assert os.listdir(tmp_path) == []
    stream = io.BytesIO()
    with pytest.raises((AttributeError, pickle.PicklingError)):
        nnkit.save([nnkit.ones(1), lambda: 0], stream)
    assert stream.getvalue() == b""


def test_two_dtypes_of_one_memory() -> None:
    x = nnkit.ones(2)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        stream_of(nnkit, [x, x.view(nnkit.int32)])


def test_map_location() -> None:
    def pick(storage: Any, location: str) -> Any:
        seen.append((type(storage), location))
        return storage if len(seen) == 1 else None

    seen: list[Any] = []
    value = {"a": nnkit.ones(2), "b": nnkit.arange(2)}
    for place in ("cpu", nnkit.device("cpu"), {"cuda:0": "cpu"}, {"cpu": "cpu"}, pick):
        for weights_only in (True, False):
            stream = stream_of(nnkit, value)
            loaded = nnkit.load(stream, map_location=place, weights_only=weights_only)
            assert loaded["a"].tolist() == [1.0, 1.0] and loaded["b"].tolist() == [0, 1]
    assert seen[0] == (nnkit.UntypedStorage, "cpu") and len(seen) == 4
    loaded = nnkit.load(stream_of(nnkit, value), map_location={"cpu": "meta"})
    assert loaded["a"].is_meta
    with pytest.raises(RuntimeError, match="foo"):
        nnkit.load(stream_of(nnkit, value), map_location="foo")


def test_mmap(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    nnkit.save(values(nnkit), path, format="torch")
    check_values(nnkit, nnkit.load(path, weights_only=False, mmap=True))
    nnkit.save([nnkit.arange(4)], path, format="torch")
    loaded = nnkit.load(path, mmap=True)
    loaded[0].add_(1)
    assert loaded[0].tolist() == [1, 2, 3, 4] and nnkit.load(path)[0].tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="f must be a file path"):
        nnkit.load(io.BytesIO(), mmap=True)


class Plain(pickle.Unpickler):
    pass


def test_pickle_module() -> None:
    module = ModuleType("mine")
    used: list[str] = []

    class Pickler(pickle.Pickler):
        def dump(self, value: Any) -> None:
            used.append("dump")
            super().dump(value)

    vars(module).update(Pickler=Pickler, Unpickler=Plain)
    stream = io.BytesIO()
    nnkit.save(network(nnkit), stream, pickle_module=module)
    stream.seek(0)
    check_network(nnkit.load(stream, pickle_module=module))
    assert used == ["dump"]
    with pytest.raises(RuntimeError, match="Can not safely load weights"):
        nnkit.load(stream, pickle_module=pickle, weights_only=True)
    with pytest.raises(ValueError, match="format must be None or 'torch'"):
        nnkit.save(1, stream, format="onnx")


def test_the_environment_says_whether_files_are_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, layer = io.BytesIO(), nnkit.nn.Linear(2, 1)
    nnkit.save(layer, stream, format="torch")

    def read(**options: Any) -> Any:
        stream.seek(0)
        return nnkit.load(stream, **options)

    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "Yes")
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD is set"):
        assert read().weight.tolist() == layer.weight.tolist()
    with pytest.raises(pickle.UnpicklingError):
        read(weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        read()
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        read(weights_only=False)


def test_safe_globals() -> None:
    value = [Settings(0.1, ["a"]), network(nnkit)[4], nnkit.ones(1)]
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        nnkit.load(stream_of(nnkit, value))
    with safe_globals([Settings, nnkit.nn.Linear]):
        assert get_safe_globals() == [Settings, nnkit.nn.Linear]
        settings, layer, tensor = nnkit.load(stream_of(nnkit, value))
    assert (
        settings == value[0] and layer(nnkit.ones(18)).tolist() == value[1](nnkit.ones(18)).tolist()
    )
    assert get_safe_globals() == []
    add_safe_globals([(collections.OrderedDict, "mine.Odd"), collections.defaultdict, list])
    try:
        many = collections.defaultdict(list, a=[1, 2])
        assert nnkit.load(stream_of(nnkit, many)) == many
    finally:
        clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError, match="defaultdict"):
        nnkit.load(stream_of(nnkit, many))


def test_what_is_allowed_allows_no_more() -> None:
    with safe_globals([Settings]):
        for program, match in (
            (b"cbuiltins\neval\n(V1\ntR.", "builtins.eval"),
            (b"ctorch\nTensor\n)\x81.", "no instance"),
            (b"ctests.test_torch_files\nSettings\n}(Vrate\nI1\nub.", "given no attributes"),
        ):
            stream = io.BytesIO()
            with zipfile.ZipFile(stream, "w") as archive:
                archive.writestr("x/data.pkl", program)
            stream.seek(0)
            with pytest.raises(pickle.UnpicklingError, match=match):
                nnkit.load(stream)


def test_strings_and_pairs_of_python_2() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x/data.pkl", b"ccollections\nOrderedDict\n](](U\1aK\1ee\x85R.")
    stream.seek(0)
    assert nnkit.load(stream) == collections.OrderedDict(a=1)


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_sparse_tensors_in_legacy_files(lib: ModuleType, name: str) -> None:
    """Their memory comes after them; what is wrong with it is seen all the same."""
    x = getattr(lib.tensor([[0, 1.0, 0], [0, 2, 3]]), name)()
    content = stream_of(lib, [x], _use_new_zipfile_serialization=False).getvalue()
    places = np.array([1, 1, 2] if name != "to_sparse_csc" else [0, 1, 1]).tobytes()
    assert places in content
    wrong = content.replace(places, np.array([1, 1, 9]).tobytes())
    for weights_only in (True, False):
        load = partial(lib.load, weights_only=weights_only)
        assert lib.equal(load(io.BytesIO(content))[0].to_dense(), x.to_dense())
        if lib is nnkit:  # torch checks where it was told to
            with pytest.raises(ValueError, match="the parts of a sparse tensor do not fit"):
                load(io.BytesIO(wrong))


@pytest.mark.filterwarnings("ignore:pickle_load_args only works")
def test_strings_of_python_2_as_bytes(lib: ModuleType) -> None:
    text = b"U\x02\xc5\xbc."
    content = b"".join(
        [*(pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {})), text, b"].", b""]
    )
    for weights_only in (True, False):
        load = partial(lib.load, weights_only=weights_only)
        assert load(io.BytesIO(content)) == "\u017c"
        assert load(io.BytesIO(content), encoding="bytes") == b"\xc5\xbc"


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_parts_of_storages(lib: ModuleType) -> None:
    """Files of torch before 0.4, whose storages could be cut."""
    whole = b"X\x07\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0aX\3\0\0\0cpuK\3"
    part = whole + b"X\1\0\0\0bK\1K\2\x87tQ"
    tree = b"\x80\2((" + whole + b"Nt" + b"Q(" + part + b"(" + part + b"t."
    head = [pickle.dumps(x, 2) for x in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    numbers = (3).to_bytes(8, "little") + np.arange(3, dtype=np.float32).tobytes()
    content = b"".join([*head, tree, pickle.dumps(["a"], 2), numbers])
    for weights_only in (True, False):
        all_, one, same = lib.load(io.BytesIO(content), weights_only=weights_only)
        assert all_.tolist() == [0, 1, 2] and one.tolist() == [1, 2] and same is one
        one[0] = 5
        assert all_.tolist() == [0, 5, 2]
    with pytest.raises(ValueError, match="a part of storage 'a' exceeds it"):
        nnkit.load(io.BytesIO(content.replace(b"K\1K\2", b"K\2K\2")))


def test_files_one_after_the_other(lib: ModuleType) -> None:
    old: dict = {"_use_new_zipfile_serialization": False}
    stream = io.BytesIO()
    stream.write(b"before")
    for value in (lib.arange(3), [lib.ones(1)]):
        stream.write(stream_of(lib, value, **old).getvalue())
    stream.seek(len(b"before"))
    assert [x.tolist() for x in (lib.load(stream), *lib.load(stream))] == [[0, 1, 2], [1]]


@pytest.mark.parametrize("dtype", ["int16", "float32", "bfloat16", "complex64", "bool", "float64"])
def test_files_of_big_endian_machines(lib: ModuleType, dtype: str) -> None:
    x = lib.tensor([1, 2, 300, 0]).to(getattr(lib, dtype))
    parts = 2 if x.is_complex() else 1
    turned = io.BytesIO()
    with zipfile.ZipFile(stream_of(lib, {"x": x})) as old, zipfile.ZipFile(turned, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("data/0"):
                numbers = np.frombuffer(content, f"u{x.element_size() // parts}")
                content = numbers.byteswap().tobytes()
            new.writestr(name, b"big" if name.endswith("byteorder") else content)
    for weights_only in (True, False):
        turned.seek(0)
        assert lib.equal(lib.load(turned, weights_only=weights_only)["x"], x)


def test_attributes_of_tensors(torch: ModuleType) -> None:
    for theirs, ours in ((torch, nnkit), (nnkit, torch), (nnkit, nnkit)):
        for value in (theirs.ones(2), theirs.nn.Parameter(theirs.ones(2))):
            value.note, value.places = "x", [1, 2]
            for weights_only in (True, False):
                loaded = ours.load(stream_of(theirs, value), weights_only=weights_only)
                assert (loaded.note, loaded.places) == ("x", [1, 2])
                assert loaded.tolist() == [1, 1] and loaded.requires_grad is value.requires_grad


def test_what_cannot_be_found() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x/data.pkl", b"ctorch.nn.modules.linear\nNothing\n.")
    stream.seek(0)
    with pytest.raises(AttributeError, match="nnkit has nothing of that name"):
        nnkit.load(stream, weights_only=False)


def test_states_are_read_without_weights_only(tmp_path: Path) -> None:
    for name in ("x.safetensors", "x.npz"):
        nnkit.save({"w": nnkit.ones(2)}, tmp_path / name)
        assert nnkit.load(tmp_path / name, weights_only=False)["w"].tolist() == [1.0, 1.0]


def test_legacy_sizes_are_held_against_the_file() -> None:
    old: dict = {"_use_new_zipfile_serialization": False}
    content = stream_of(nnkit, nnkit.ones(300), **old).getvalue()
    size = (300).to_bytes(2, "little")
    for most, match in ((2**15, "more bytes than the file"), (2, "exceeds its memory")):
        torn = content.replace(b"M" + size, b"M" + most.to_bytes(2, "little"), 1)
        with pytest.raises(ValueError, match=match):
            nnkit.load(io.BytesIO(torn))
    with pytest.raises(ValueError, match="bytes too early"):
        nnkit.load(io.BytesIO(content[:-1]))
    with pytest.raises(ValueError, match="take [0-9]+ bytes"):
        nnkit.load(io.BytesIO(content), max_bytes=100)


def test_state_hooks_both_ways(torch: ModuleType) -> None:
    for theirs, ours in ((torch, nnkit), (nnkit, torch)):
        module = theirs.nn.Linear(1, 1)
        module._register_load_state_dict_pre_hook(forget_extra)
        loaded = ours.load(stream_of(theirs, module), weights_only=False)
        state = {**loaded.state_dict(), "extra": ours.ones(1)}
        assert str(loaded.load_state_dict(state)) == "<All keys matched successfully>"


def write() -> None:
    import torch

    FROZEN.mkdir(exist_ok=True)
    model = network(torch)
    torch.save(model, FROZEN / "module.pt")
    torch.save(model.state_dict(), FROZEN / "legacy.pt", _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    sys.modules["tests.test_torch_files"] = sys.modules["__main__"]
    mark_output.__module__ = "tests.test_torch_files"
    write()
