"""Storages: memory in bytes and in numbers, of tensors, of files and without memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import nnkit

BYTES = bytes(range(10))
# What is asked of T (torch or nnkit), of x = 0, 1, 2, 3 in int16 and of a file of ten bytes.
ASKED: dict[str, Callable[[Any, Any, str], Any]] = {
    "room": lambda T, x, p: T.UntypedStorage(3).nbytes(),
    "bytes": lambda T, x, p: T.UntypedStorage([1, 2, 3]).tolist(),
    "none": lambda T, x, p: len(T.UntypedStorage()),
    "of a tensor": lambda T, x, p: x.untyped_storage().tolist(),
    "one": lambda T, x, p: (x.untyped_storage()[2], x.untyped_storage()[-1]),
    "a slice": lambda T, x, p: x.untyped_storage()[1:4].tolist(),
    "a slice with a step": lambda T, x, p: x.untyped_storage()[::2],
    "beyond": lambda T, x, p: x.untyped_storage()[100],
    "by a word": lambda T, x, p: x.untyped_storage()["a"],
    "of a float": lambda T, x, p: T.UntypedStorage(2.5),
    "meta": lambda T, x, p: str(T.UntypedStorage(3, device="meta").device),
    "element of meta": lambda T, x, p: T.UntypedStorage(3, device="meta")[0],
    "elements of meta": lambda T, x, p: T.UntypedStorage(3, device="meta").tolist(),
    "of meta": lambda T, x, p: (
        T.TypedStorage([1, 2], device="meta").untyped().nbytes(),
        x.to("meta").storage().data_ptr(),
        x.to("meta").untyped_storage().is_shared(),
        str(x.to("meta").storage()).split("[")[0],
    ),
    "a number of meta": lambda T, x, p: x.to("meta").storage()[0],
    "a slice of meta": lambda T, x, p: x.to("meta").untyped_storage()[1:],
    "meta copied": lambda T, x, p: T.UntypedStorage(3).copy_(T.UntypedStorage(3, device="meta")),
    "meta shared": lambda T, x, p: x.to("meta").storage().share_memory_(),
    "a tensor of meta shared": lambda T, x, p: x.to("meta").share_memory_(),
    "meta by its file": lambda T, x, p: x.to("meta").storage()._share_fd_cpu_(),
    "by its file": lambda T, x, p: x.untyped_storage()._share_fd_cpu_()[1],
    "meta written": lambda T, x, p: (
        x.to("meta").storage()._write_file(open(p, "wb"), True, True, 1)
    ),
    "of the same memory": lambda T, x, p: [
        x.storage()._cdata == y.untyped_storage()._cdata for y in (x[1:], x.clone())
    ],
    "of a storage": lambda T, x, p: T.UntypedStorage(T.UntypedStorage([1, 2])).tolist(),
    "a copy": lambda T, x, p: x.untyped_storage().__copy__().fill_(1)[0] + x[0].item(),
    "bytes in all": lambda T, x, p: (
        T.zeros(100).storage().__sizeof__() - x.storage().__sizeof__() == 392
    ),
    "a deep copy": lambda T, x, p: x._typed_storage()._deepcopy({}).fill_(1)[0] + x[0].item(),
    "private names": lambda T, x, p: (
        x.storage()._size(),
        x.storage()._untyped_storage.nbytes(),
        T.ShortStorage._dtype is x.dtype,
    ),
    "tensors on a storage": lambda T, x, p: [
        make(x.storage()).data_ptr() == x.data_ptr() for make in (T.ShortTensor, x.new)
    ],
    "a tensor on a storage of another dtype": lambda T, x, p: T.FloatTensor(x.storage()),
    "new of another dtype": lambda T, x, p: x.new(T.ones(2)),
    "a class of one dtype's tensors": lambda T, x, p: type("Mine", (T.FloatTensor,), {}),
    "a number of meta in text": lambda T, x, p: f"{T.empty((), device='meta')}",
    "a file": lambda T, x, p: T.UntypedStorage.from_file(p, False, 10).tolist(),
    "a part": lambda T, x, p: T.UntypedStorage.from_file(p, nbytes=4).tolist(),
    "too much": lambda T, x, p: T.UntypedStorage.from_file(p, False, 100),
    "no file": lambda T, x, p: T.UntypedStorage.from_file(p + "no", False, 4),
    "the file that is written to": lambda T, x, p: [
        kind.from_file(p, shared, 1).filename == p
        for kind in (T.UntypedStorage, T.LongStorage)
        for shared in (True, False)
    ],
    "the size of a file's": lambda T, x, p: T.UntypedStorage.from_file(p, False, 4).resizable(),
    "numbers": lambda T, x, p: T.TypedStorage([1, 2], dtype=T.float64).tolist(),
    "wrapped": lambda T, x, p: T.TypedStorage(wrap_storage=x.untyped_storage(), dtype=T.int32)[0],
    "FloatStorage": lambda T, x, p: (T.FloatStorage([1, 2]).tolist(), T.FloatStorage(3).size()),
    "LongStorage of a file": lambda T, x, p: T.LongStorage.from_file(p, False, 1).tolist(),
    "its kind": lambda T, x, p: [
        isinstance(x.storage(), kind) for kind in (T.ShortStorage, T.FloatStorage, T.TypedStorage)
    ],
    "the class": lambda T, x, p: x.storage_type() is T.ShortStorage,
    "cast": lambda T, x, p: x.storage().float().tolist(),
    "a slice of numbers": lambda T, x, p: x.storage()[1:3],
    "asarray": lambda T, x, p: T.asarray(T.UntypedStorage([1, 2]), dtype=T.uint8).tolist(),
    "set_": lambda T, x, p: T.tensor([], dtype=T.int16).set_(x.untyped_storage()).tolist(),
    "fill_": lambda T, x, p: (x.untyped_storage().fill_(1).tolist(), x.tolist()),
    "write": lambda T, x, p: (x.untyped_storage().__setitem__(1, 3), x.tolist()),
    "copy_": lambda T, x, p: (x.untyped_storage().copy_(T.UntypedStorage([1] * 8)), x.tolist())[1],
    "copy_ of another size": lambda T, x, p: x.untyped_storage().copy_(T.UntypedStorage([1])),
    "byteswap": lambda T, x, p: (x.untyped_storage().byteswap(T.int16), x.tolist()),
    "resize_": lambda T, x, p: (x.untyped_storage().resize_(16).size(), x.untyped_storage().size()),
    "resize_ of a part": lambda T, x, p: (x[2:].untyped_storage().resize_(16).size(), x.tolist()),
    "set_ grows": lambda T, x, p: (
        x.set_(x.untyped_storage(), 3, (2, 2))[0, 0].item(),
        x.untyped_storage().size(),
        x.stride(),
    ),
    "set_ of a tensor grows": lambda T, x, p: (
        T.empty(0, dtype=T.int16).set_(x, 2, (4,))[:2].tolist(),
        x.untyped_storage().size(),
    ),
    "set_ of the same size": lambda T, x, p: x.set_(x.untyped_storage(), 9, x.size()),
    "set_ beyond what is lent": lambda T, x, p: T.empty(0, dtype=T.int16).set_(
        T.from_numpy(x.numpy()), 0, (9,)
    ),
    "type": lambda T, x, p: x.storage().type().partition(".")[2],
    "new": lambda T, x, p: x.untyped_storage().new().size(),
    "repr": lambda T, x, p: str(x.untyped_storage()).count("\n"),
    "from_file": lambda T, x, p: T.from_file(p, size=2, dtype=T.int16).tolist(),
    "from_file beyond": lambda T, x, p: T.from_file(p, size=100, dtype=T.uint8),
}


@pytest.mark.parametrize("name", ASKED)
def test_storages_as_torch(name: str, torch: ModuleType, tmp_path: Path) -> None:
    def found(T: Any) -> Any:
        path = tmp_path / T.__name__
        path.write_bytes(BYTES)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own: storages of numbers are deprecated
            try:
                return ASKED[name](T, T.arange(4, dtype=T.int16), str(path))
            except Exception as error:
                return type(error).__name__

    assert found(nnkit) == found(torch)


KINDS = {
    "BFloat16Storage": "bfloat16", "BoolStorage": "bool", "ByteStorage": "uint8",
    "CharStorage": "int8", "ComplexDoubleStorage": "complex128", "ComplexFloatStorage": "complex64",
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16",
    "IntStorage": "int32", "LongStorage": "int64", "ShortStorage": "int16",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("name", KINDS)
def test_each_dtype_has_its_storage(name: str, lib: ModuleType) -> None:
    kind, d = getattr(lib, name), getattr(lib, KINDS[name])
    assert kind.dtype == d
    assert isinstance(lib.zeros(2, dtype=d).storage(), kind)


def test_maps_of_files(lib: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_bytes(BYTES)
    own = lib.from_file(str(path), size=3, dtype=lib.uint8)
    own.fill_(9)
    assert path.read_bytes() == BYTES
    both = lib.from_file(str(path), shared=True, size=12, dtype=lib.uint8)
    both[0] = 7
    assert path.read_bytes() == b"\x07" + BYTES[1:] + b"\0\0"
    new = tmp_path / "new"
    assert lib.from_file(str(new), shared=True, size=0).shape == (0,) and not new.exists()
    lib.from_file(str(new), shared=True, size=2, dtype=lib.int16).fill_(1)
    assert new.read_bytes() == b"\x01\0\x01\0"


def test_safetensors_opens_a_file_for_the_framework(tmp_path: Path) -> None:
    """As its reader for torch does: one map, of which each tensor is a part."""
    path = str(tmp_path / "x")
    Path(path).write_bytes(bytes(8) + nnkit.arange(4.0).numpy().tobytes())
    storage = nnkit.UntypedStorage.from_file(path, False, 24)
    part = nnkit.asarray(storage[8:24], dtype=nnkit.uint8).view(dtype=nnkit.float32).reshape(2, 2)
    assert part.tolist() == [[0.0, 1.0], [2.0, 3.0]]
