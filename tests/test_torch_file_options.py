"""What can be chosen for files of ``torch.save``: what is left out, mapped, checked, and where."""

from __future__ import annotations

import io
import mmap
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nnkit
from nnkit import torch_options
from tests.frameworks import raises


def save_as_torch(lib: ModuleType, value: Any, file: Any, **options: Any) -> None:
    lib.save(value, file, **options, **({"format": "torch"} if lib is nnkit else {}))


def test_data_that_are_skipped(lib: ModuleType, tmp_path: Path) -> None:
    path, options = tmp_path / "x.pt", lib.serialization
    with options.skip_data():
        save_as_torch(lib, {"x": lib.arange(4.0)}, path)
        with raises(lib, RuntimeError, "skip_data"):
            save_as_torch(lib, [], path.with_suffix(""), _use_new_zipfile_serialization=False)
    assert lib.load(path)["x"].tolist() == [0, 0, 0, 0]
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("x/data/0").file_size == 16
    save_as_torch(lib, {"x": lib.arange(4.0)}, path)
    with options.skip_data():
        assert lib.load(path)["x"].shape == (4,)
    assert lib.load(path)["x"].tolist() == [0, 1, 2, 3]


@pytest.mark.skipif(sys.platform == "win32", reason="there is one way to map files")
def test_files_that_share_memory_with_tensors(lib: ModuleType, tmp_path: Path) -> None:
    path, options = tmp_path / "x.pt", lib.serialization
    save_as_torch(lib, lib.zeros(2), path)
    with options.set_default_mmap_options(mmap.MAP_SHARED):
        assert options.get_default_mmap_options() == mmap.MAP_SHARED
        lib.load(path, mmap=True)[0] = 5
    lib.load(path, mmap=True)[1] = 6
    assert options.get_default_mmap_options() == mmap.MAP_PRIVATE
    if lib is nnkit:
        with pytest.raises(ValueError, match="CRC"):
            lib.load(path)
    options.set_crc32_options(False)
    try:
        assert not options.get_crc32_options() and lib.load(path).tolist() == [5, 0]
    finally:
        options.set_crc32_options(True)
    with raises(lib, ValueError, "MAP_SHARED"):
        options.set_default_mmap_options(77)


def test_files_without_checksums(torch: ModuleType) -> None:
    torch.serialization.set_crc32_options(False)
    try:
        torch.save({"x": torch.arange(3.0)}, content := io.BytesIO())
    finally:
        torch.serialization.set_crc32_options(True)
    assert nnkit.load(io.BytesIO(content.getvalue()))["x"].tolist() == [0, 1, 2]


def test_packages_that_name_places(lib: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = lib is nnkit
    place, name = (torch_options, "_packages") if ours else (lib.serialization, "_package_registry")
    monkeypatch.setattr(place, name, [*getattr(place, name)])
    seen = []

    def named(storage: Any) -> str | None:
        return "here" if storage.nbytes() == 8 else None

    def restored(storage: Any, location: str) -> Any:
        seen.append((type(storage).__name__, location))
        return storage if location == "here" else None

    options = lib.serialization
    options.register_package(3, named, restored)
    options.register_package(99, lambda storage: "never", lambda *_: None)
    assert options.location_tag(lib.ones(2).untyped_storage()) == "here"
    file = io.BytesIO()
    save_as_torch(lib, [lib.ones(2), lib.ones(3)], file)
    loaded = lib.load(io.BytesIO(file.getvalue()))
    assert [x.tolist() for x in loaded] == [[1, 1], [1, 1, 1]]
    assert seen == [("UntypedStorage", "here"), ("UntypedStorage", "cpu")]
