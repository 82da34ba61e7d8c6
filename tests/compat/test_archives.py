"""Archives of torch.save, record by record."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nnkit
from nnkit.compat.archives import PyTorchFileReader, PyTorchFileWriter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    value = {"a": nnkit.arange(3.0), "b": nnkit.ones(2, dtype=nnkit.bfloat16)}
    nnkit.save(value, tmp_path / "x.pt", format="torch")
    return tmp_path / "x.pt"


def test_records(path: Path) -> None:
    reader = PyTorchFileReader(path)
    names = ["data.pkl", "byteorder", "data/0", "data/1", "version"]
    assert sorted(reader.get_all_records()) == sorted(names)
    assert reader.has_record("data/0") and not reader.has_record("data/2")
    assert reader.get_record("byteorder") == b"little"
    assert reader.get_record_size("data/0") == 12 and reader.serialization_id() == ""
    begin, content = reader.get_record_offset("data/0"), path.read_bytes()
    assert content[begin : begin + 12] == reader.get_record("data/0")
    assert content[reader.get_record_header_offset("data/0") :].startswith(b"PK")
    for dtype, numel in ((nnkit.float32, 3), (nnkit.UntypedStorage, 12)):
        record = reader.get_storage_from_record("data/0", numel, dtype)
        memory = nnkit.empty(0).set_(record.untyped_storage(), 0, (3,))
        assert record.shape == (0,) and memory.tolist() == [0.0, 1.0, 2.0]


def test_torch_reads_and_writes_the_same(path: Path, torch: ModuleType) -> None:
    theirs, ours = torch.PyTorchFileReader(str(path)), PyTorchFileReader(str(path))
    assert theirs.get_all_records() == ours.get_all_records()
    for name in ours.get_all_records():
        assert theirs.get_record(name) == ours.get_record(name)
        assert theirs.get_record_offset(name) == ours.get_record_offset(name)
    writer: Any
    for writer, reader in (
        (PyTorchFileWriter, torch.PyTorchFileReader),
        (torch._C.PyTorchFileWriter, PyTorchFileReader),
    ):
        archive = writer(str(path))
        archive.write_record("data.pkl", b"N.", 2)
        archive.write_record("note", "text", 2)
        assert (archive.archive_name(), archive.get_all_written_records()) == (
            "x", {"data.pkl", "note"}
        )  # fmt: skip
        archive.write_end_of_file()
        assert reader(str(path)).get_record("note") == b"te"
        assert nnkit.load(path) is None


def test_a_storage_is_a_record() -> None:
    stream = io.BytesIO()
    writer = PyTorchFileWriter(stream)
    writer.set_min_version(3)
    writer.write_record("data/0", nnkit.arange(3.0).untyped_storage(), 12)
    writer.write_end_of_file()
    record = PyTorchFileReader(stream).get_storage_from_record("data/0", 3, nnkit.float32)
    assert record.untyped_storage().nbytes() == 12


def test_what_is_refused(path: Path) -> None:
    reader = PyTorchFileReader(path)
    path.with_suffix(".txt").write_text("no archive")
    with zipfile.ZipFile(path.with_suffix(".zip"), "w"):
        pass
    assert PyTorchFileReader(path.with_suffix(".zip")).get_all_records() == []
    for call, match in (
        (lambda: PyTorchFileReader(path.with_suffix(".none")), "cannot be opened"),
        (lambda: PyTorchFileReader(path.with_suffix(".txt")), "is no zip archive"),
        (lambda: reader.get_record("data/2"), "there is no record data/2"),
        (lambda: reader.get_record_offset("data/2"), "there is no record data/2"),
        (
            lambda: reader.get_storage_from_record("data/0", 30, nnkit.float32),
            r"record size \(12 bytes\) does not match expected size \(120 bytes",
        ),
    ):
        with pytest.raises(RuntimeError, match=match):
            call()


def test_what_answers_for_functions_may_stand_in_a_state() -> None:
    """As a tensor that is read when it is copied."""

    class Later:
        shape, ndim = nnkit.Size([2]), 1

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*[nnkit.ones(2) if isinstance(a, Later) else a for a in args])

    module = nnkit.nn.Module()
    module.weight = nnkit.nn.Parameter(nnkit.zeros(2))
    module.load_state_dict({"weight": Later()})  # type: ignore[dict-item]
    assert module.weight.tolist() == [1.0, 1.0]
