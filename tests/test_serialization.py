"""save and load: round trips, foreign files, and files that must not be executed."""

from __future__ import annotations

import io
import json
import os
import pickle
import struct
from collections import Counter, OrderedDict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import nnkit
from tests.frameworks import raises

DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"),
    *("float8_e5m2fnuz", "float8_e8m0fnu"),
)
each_format = pytest.mark.parametrize("name", ["state.safetensors", "state.npz", "state.pt"])


def same(a: Any, b: Any) -> bool:
    """Equal in type, dtype and value, all the way down."""
    if isinstance(a, nnkit.Tensor):
        return (
            type(a) is type(b)
            and (a.dtype, a.shape, a.requires_grad) == (b.dtype, b.shape, b.requires_grad)
            and a.tolist() == b.tolist()
        )
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def state() -> dict[Any, Any]:
    x = nnkit.arange(6)
    return {
        "every": {name: x.reshape(2, 3).to(getattr(nnkit, name)) for name in DTYPES},
        "scalar": nnkit.tensor(1.5),
        "empty": nnkit.zeros(0, 3),
        "column": nnkit.arange(6.0).reshape(2, 3).t(),
        "parameter": nnkit.nn.Parameter(nnkit.ones(2)),
        "frozen": nnkit.nn.Parameter(nnkit.ones(2), requires_grad=False),
        "leaf": nnkit.ones(1, requires_grad=True),
        3: [1, 2.5, True, None, "text", (0.9, 0.999), float("inf")],
        "a": {"b": nnkit.zeros(1)},
        "a.b": nnkit.ones(1),
        "nnkit": nnkit.ones(1),
        "others": [b"\x00\xff", 1 + 2j, {1, 2}, nnkit.Size([2, 3])],
        "kinds": [nnkit.float16, nnkit.device("cpu")],
        "nothing": [{}, [], ()],
    }


@each_format
def test_round_trip(tmp_path: Path, name: str) -> None:
    nnkit.save(state(), tmp_path / name)
    assert same(nnkit.load(tmp_path / name), state())
    assert os.listdir(tmp_path) == [name]


def test_round_trip_of_a_stream() -> None:
    stream = io.BytesIO()
    nnkit.save(state(), stream)
    stream.seek(0)
    assert same(nnkit.load(stream), state())


class Kept:
    """A file that has no more than torch asks of one, and acts when it is flushed."""

    def __init__(self) -> None:
        self.memory, self.flushed = io.BytesIO(), 0
        for name in ("write", "read", "readline", "seek", "tell"):
            setattr(self, name, getattr(self.memory, name))

    def flush(self) -> None:
        self.flushed += 1


@pytest.mark.parametrize("value", [{"x": [1, None]}, {1, 2}], ids=["state", "pickle"])
def test_files_of_other_classes(lib: ModuleType, value: Any) -> None:
    file: Any = Kept()
    lib.save(value, file)
    assert file.flushed
    file.seek(0)
    assert lib.load(file, weights_only=False) == value
    for other in (None, 3):
        with raises(lib, AttributeError, "'write'"):
            lib.save(value, other)
        with raises(lib, AttributeError, "'seek'"):
            lib.load(other)


def test_one_tensor(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    nnkit.save(nnkit.ones(2), path)
    assert same(nnkit.load(path), nnkit.ones(2))
    nnkit.save(3, path)
    assert nnkit.load(path) == 3


@each_format
def test_module(tmp_path: Path, name: str) -> None:
    source, target = (nnkit.nn.Sequential(nnkit.nn.Linear(2, 3)) for _ in range(2))
    nnkit.save(source.state_dict(), tmp_path / name)
    loaded = nnkit.load(tmp_path / name)
    assert type(loaded) is OrderedDict
    assert vars(loaded)["_metadata"] == source.state_dict()._metadata
    target.load_state_dict(loaded)
    assert same(target.state_dict(), source.state_dict())
    loaded["0.bias"].zero_()  # its memory can be written


def test_map_location(tmp_path: Path) -> None:
    nnkit.save(state(), tmp_path / "x")
    for place in ("cpu", nnkit.device("cpu")):
        assert same(nnkit.load(tmp_path / "x", map_location=place), state())
    with pytest.raises(RuntimeError, match="foo"):
        nnkit.load(tmp_path / "x", map_location="foo")


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ({"a": [1, object()]}, "a.1 is a object, no state"),
        ({"m": nnkit.nn.Identity}, "m is a type"),
        (nnkit.nn.Identity(), r"the object is a Identity, no state: save its state_dict\(\)"),
        ({(1, 2): 3}, "a key in the object is a tuple"),
        ({"a": {nnkit.float32: 3}}, "a key in a is a dtype"),
        ({"a": np.float64(3)}, "a is a float64"),
    ],
)
@pytest.mark.parametrize("name", ["x.safetensors", "x.npz"])
def test_files_of_states_hold_nothing_else(
    tmp_path: Path, name: str, value: Any, match: str
) -> None:
    with pytest.raises(TypeError, match=match):
        nnkit.save(value, tmp_path / name)
    assert os.listdir(tmp_path) == []


class Named(nnkit.Tensor):
    note: str


def test_attributes_and_classes_are_kept(tmp_path: Path) -> None:
    named, marked = nnkit.ones(2).as_subclass(Named), nnkit.nn.Buffer(nnkit.ones(2))
    named.note = marked.note = "x"
    nnkit.save({"marked": marked}, tmp_path / "x")
    assert nnkit.load(tmp_path / "x")["marked"].note == "x"
    nnkit.save([named], tmp_path / "x")
    with pytest.raises(pickle.UnpicklingError, match="Named"):
        nnkit.load(tmp_path / "x")
    with nnkit.serialization.safe_globals([Named]):
        for weights_only in (True, False):
            (loaded,) = nnkit.load(tmp_path / "x", weights_only=weights_only)
            assert (type(loaded), loaded.note, loaded.tolist()) == (Named, "x", [1.0, 1.0])
    for value in (named, marked):
        for name in ("x.safetensors", "x.npz"):
            with pytest.raises(TypeError, match="with attributes or of a class of its own"):
                nnkit.save(value, tmp_path / name)


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    nnkit.save({"step": 1}, path)

    def fail(*arguments: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("nnkit.backend.files.write_safetensors", fail)
    with pytest.raises(OSError, match="disk full"):
        nnkit.save({"step": 2}, path)
    assert nnkit.load(path) == {"step": 1} and os.listdir(tmp_path) == ["x"]


def test_headers_of_every_length() -> None:
    """The length begins the file, and may look like the mark of any other format."""
    lengths = set()
    for letters in range(1, 2000, 4):
        stream = io.BytesIO()
        nnkit.save({"w" * letters: nnkit.ones(2)}, stream)
        lengths.add(int.from_bytes(stream.getvalue()[:8], "little"))
        stream.seek(0)
        assert same(nnkit.load(stream), {"w" * letters: nnkit.ones(2)})
    assert {length % 256 for length in lengths} == set(range(0, 256, 8))


def test_what_contains_itself() -> None:
    values: list[Any] = []
    values.append(values)
    with pytest.raises(ValueError, match="save: the object contains itself"):
        nnkit.save(values, "x.safetensors")
    stream = io.BytesIO()
    nnkit.save(values, stream)  # as torch.save does
    stream.seek(0)
    loaded = nnkit.load(stream)
    assert loaded[0] is loaded


# safetensors and npz of others


def test_safetensors_library_reads_ours(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    path = str(tmp_path / "x.safetensors")
    nnkit.save({"w": nnkit.ones(2, 3), "b": nnkit.tensor([True])}, path)
    loaded = library.load_file(path)
    assert loaded["w"].tolist() == [[1.0] * 3] * 2 and loaded["b"].tolist() == [True]


def test_ours_reads_the_safetensors_library(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    path = str(tmp_path / "x.safetensors")
    arrays = {"w": np.ones((2, 3), np.float16), "n": np.arange(3), "e": np.zeros((0, 2))}
    library.save_file(arrays, path, {"note": "x"})
    loaded = nnkit.load(path)
    assert set(loaded) == set(arrays)
    for name, array in arrays.items():
        assert loaded[name].numpy().dtype == array.dtype
        assert np.array_equal(loaded[name].numpy(), array)


def test_npz_of_numpy(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", w=np.ones(2), n=np.arange(3))
    loaded = nnkit.load(tmp_path / "x.npz")
    assert loaded["w"].dtype is nnkit.float64 and loaded["n"].tolist() == [0, 1, 2]
    np.savez(tmp_path / "y.npz", allow_pickle=True, x=np.array([object()]))
    with pytest.raises(ValueError, match="[Oo]bject arrays"):
        nnkit.load(tmp_path / "y.npz")


def header(content: Any, memory: bytes = b"", length: int | None = None) -> io.BytesIO:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return io.BytesIO(struct.pack("<Q", length or len(text)) + text + memory)


def entry(shape: list[int], start: int, end: int, dtype: str = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


@pytest.mark.parametrize(
    ("stream", "match"),
    [
        (io.BytesIO(b""), "neither safetensors nor npz nor a file of torch.save"),
        (io.BytesIO(b"not a state at all"), "neither safetensors nor npz"),
        (header([]), "neither safetensors nor npz"),
        (io.BytesIO(pickle.dumps({"x": 1})), "a bare pickle is not read"),
        (header({"x": entry([2], 0, 8)}, b"1234"), "file not fully covered"),
        (header({"x": entry([2], 0, 4)}, b"1234"), "invalid shape, data type, or offset"),
        (header({"x": entry([1], 4, 8)}, b"12341234"), "invalid offset for tensor `x`"),
        (header({"x": entry([-1], 0, -4)}), "invalid value: integer `-1`"),
        (header({"x": entry([True], 0, 4)}, b"1234"), "invalid type: boolean `true`"),
        (header({"x": entry([1] * 65, 0, 4)}, b"1234"), "'x' has 65 dimensions"),
        (header({"x": entry([1], 0, 4)}, b"12345"), "file not fully covered"),
        (header({"x": entry([4], 0, 3, "F6_E2M3")}, b"123"), "unknown dtype F6_E2M3"),
        (header(b"{}", length=3), "invalid header length"),
        (header({"x": 3}), "invalid type: integer `3`"),
        (header({"__metadata__": {"nnkit": '["call", []]'}}), "unknown kind of value, 'call'"),
        (header({"__metadata__": {"nnkit": '["tensor", "x", 0, 0]'}}), "damaged, KeyError: 'x'"),
        (
            header({"__metadata__": {"nnkit": '["list", [' * 9999 + "]]" * 9999}}),
            "damaged, RecursionError",
        ),
    ],
)
def test_damaged_files(stream: io.BytesIO, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        nnkit.load(stream)


# Files of torch.save


def test_torch_checkpoint(tmp_path: Path, torch: ModuleType) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.randn(4, 2)).sum().backward()
    optimizer.step()
    saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    torch.save(saved, tmp_path / "x.pt")
    loaded = nnkit.load(tmp_path / "x.pt")
    assert loaded["epoch"] == 3 and loaded["model"]._metadata == saved["model"]._metadata
    for key, value in saved["model"].items():
        assert loaded["model"][key].tolist() == value.tolist()
    groups = loaded["optimizer"]["param_groups"]
    assert groups == saved["optimizer"]["param_groups"]
    average = saved["optimizer"]["state"][0]["exp_avg"]
    assert loaded["optimizer"]["state"][0]["exp_avg"].tolist() == average.tolist()


def test_torch_values(tmp_path: Path, torch: ModuleType) -> None:
    x = torch.arange(6)
    base = torch.arange(12.0).reshape(3, 4)
    torch.save(
        {
            **{name: x.reshape(2, 3).to(getattr(torch, name)) for name in DTYPES},
            "conjugate": torch.tensor([1 + 2j]).conj(),
            "imaginary": torch.tensor([1 + 2j]).conj().imag,
            "counts": Counter("aab"),
            "keys": {1: 0, 1.5: 0, None: 0, (2, "a"): 0},
            "big": [2**70, -1, 300, -(2**31)],
            "views": [base, base.t(), base[1:, 2], base[0, 0]],
            "empty": torch.zeros(0, 3),
            "parameter": torch.nn.Parameter(torch.ones(2)),
            "buffer": torch.nn.Buffer(torch.ones(2)),
            "others": [b"\x00\xff", b"", 1 + 2j, {1, 2}, bytearray(b"x"), torch.Size([2])],
            "kinds": [torch.float16, torch.device("cpu"), torch.bool],
        },
        tmp_path / "x.pt",
    )
    loaded = nnkit.load(tmp_path / "x.pt")
    for name in DTYPES:
        assert loaded[name].dtype is getattr(nnkit, name)
        assert loaded[name].tolist() == x.reshape(2, 3).to(getattr(torch, name)).tolist()
    assert loaded["conjugate"].tolist() == [1 - 2j] and loaded["imaginary"].tolist() == [-2.0]
    assert loaded["counts"] == Counter("aab") and list(loaded["keys"]) == [1, 1.5, None, (2, "a")]
    assert loaded["big"] == [2**70, -1, 300, -(2**31)]
    views = [base, base.t(), base[1:, 2], base[0, 0]]
    assert [v.tolist() for v in loaded["views"]] == [v.tolist() for v in views]
    loaded["views"][0][1, 2] = 99.0
    assert loaded["views"][1][2, 1].item() == 99.0, "what shared memory still does"
    assert loaded["empty"].shape == (0, 3)
    assert same(loaded["parameter"], nnkit.nn.Parameter(nnkit.ones(2)))
    assert isinstance(loaded["buffer"], nnkit.nn.Buffer)
    others = [b"\x00\xff", b"", 1 + 2j, {1, 2}, bytearray(b"x"), nnkit.Size([2])]
    assert same(loaded["others"], others)
    assert loaded["kinds"] == [nnkit.float16, nnkit.device("cpu"), nnkit.bool]


def test_a_device_that_is_not_there(lib: ModuleType) -> None:
    if lib.cuda.is_available():
        pytest.skip("there is one")
    file = io.BytesIO()
    lib.save(lib.ones(1), file)
    file.seek(0)
    with pytest.raises(RuntimeError):
        lib.load(file, map_location="cuda:0")
