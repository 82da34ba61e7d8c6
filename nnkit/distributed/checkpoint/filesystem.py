"""Checkpoint folders, in the format of `torch.distributed.checkpoint`.

Each rank writes its items into files under new names, one item after the other as `nnkit.save`
writes a tensor. When all have done so, the coordinator replaces ``.metadata``, which says where
each item is, in one step, and then removes the files that it does not name. So whatever happens,
also to the processes, the folder holds the whole old state or the whole new one.
"""

from __future__ import annotations

import io
import os
import pickle
import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from itertools import repeat
from pathlib import Path, PureWindowsPath
from typing import Any, BinaryIO

from nnkit import serialization
from nnkit.autograd import no_grad
from nnkit.autograd.tensor import Tensor
from nnkit.backend.futures import Future
from nnkit.distributed.checkpoint import metadata as classes
from nnkit.distributed.checkpoint.default_planner import narrow_tensor_by_index
from nnkit.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from nnkit.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from nnkit.distributed.checkpoint.staging import BlockingAsyncStager
from nnkit.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult

__all__ = [
    "FileSystem", "FileSystemReader", "FileSystemWriter", "SerializationFormat",
]  # fmt: skip

METADATA = ".metadata"
CURRENT_DCP_VERSION = "1.0.0"
_DATA = re.compile(r"__(\d+)_(\d+)\.distcp")


@dataclass
class _StorageInfo:
    """The place of an item: its file, its first byte and its length."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass
class _StoragePrefix:
    """The prefix of the names of a rank's files."""

    prefix: str


class SerializationFormat(Enum):
    """The formats of items."""

    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


class FileSystem:
    """The machine's file system; another storage has the same methods."""

    @contextmanager
    def create_stream(self, path: str | os.PathLike, mode: str) -> Iterator[Any]:
        """A file, open within the block."""
        with open(path, mode) as stream:
            yield stream

    def concat_path(self, path: str | os.PathLike, suffix: str) -> Path:
        """The path of a file in a folder."""
        return Path(path) / suffix

    def init_path(self, path: str | os.PathLike) -> Path:
        """A path of this kind of files."""
        return Path(path)

    def rename(self, path: str | os.PathLike, new_path: str | os.PathLike) -> None:
        """Rename a file in one step, which replaces a file of that name."""
        os.replace(path, new_path)

    def mkdir(self, path: str | os.PathLike) -> None:
        """Make a folder, if it is not there."""
        Path(path).mkdir(parents=True, exist_ok=True)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether this is a path below a folder that can be written."""
        if isinstance(checkpoint_id, Path):
            return True
        above = Path(checkpoint_id).parents
        return "://" not in str(checkpoint_id) and any(os.access(p, os.W_OK) for p in above)

    def exists(self, path: str | os.PathLike) -> bool:
        """Whether there is such a file or folder."""
        return Path(path).exists()

    def rm_file(self, path: str | os.PathLike) -> None:
        """Remove a file."""
        Path(path).unlink()

    def ls(self, path: str | os.PathLike) -> list[str]:
        """The paths of what is in a folder."""
        return [str(each) for each in Path(path).iterdir()]


class _Folder:
    """The base class of the writer and the reader of a folder."""

    def __init__(self, path: str | os.PathLike) -> None:
        self.fs = FileSystem()
        self.path = self.fs.init_path(path)
        self.rank: int | None = None
        self.use_collectives = True

    def _get_metadata_path(self, rank: int | None = None) -> Path:
        name = METADATA if rank is None else f"__{rank}{METADATA}"
        return self.fs.concat_path(self.path, name)

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether this is a path below a folder that can be written."""
        return FileSystem.validate_checkpoint_id(checkpoint_id)


class FileSystemWriter(_Folder, StorageWriter, BlockingAsyncStager):
    """A folder to save in.

    Args:
        path: the folder; made if it does not exist.
        single_file_per_rank: a file for each rank and thread; else one for each item.
        sync_files: wait until all is on the disk.
        thread_count: how many threads write.
        per_thread_copy_ahead: accepted, and changes nothing.
        cache_staged_state_dict: `async_save` keeps its copy of the state for the next save.
        overwrite: replace a state that is there; else it is an error.
        serialization_format: accepted where it is the default.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
        _extensions: Any = None,
        serialization_format: SerializationFormat = SerializationFormat.TORCH_SAVE,
    ) -> None:
        _Folder.__init__(self, path)
        BlockingAsyncStager.__init__(self, cache_staged_state_dict)
        if _extensions or serialization_format is not SerializationFormat.TORCH_SAVE:
            raise NotImplementedError("FileSystemWriter: extensions and formats are not there")
        self.single_file_per_rank = single_file_per_rank
        self.sync_files = sync_files
        self.thread_count = thread_count
        self.per_thread_copy_ahead = per_thread_copy_ahead
        self.overwrite = overwrite
        self.save_id = str(uuid.uuid4())

    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Begin a new checkpoint, in another folder if one is given."""
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Called on every rank before anything is planned."""
        self.rank = kwargs.get("rank")
        self.use_collectives = kwargs.get("use_collectives", True)

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Make the folder.

        Raises:
            RuntimeError: it holds a state, and ``overwrite`` is False.
        """
        self.fs.mkdir(self.path)
        if not self.overwrite and self.fs.exists(self._own_metadata()):
            raise RuntimeError(f"Checkpoint already exists and {self.overwrite=}.")
        if self.rank is not None and not self.use_collectives:
            plan = replace(plan, storage_data=_StoragePrefix(f"__{self.rank}_"))
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """The plans, with the prefix of the names of each rank's files."""
        return [
            replace(plan, storage_data=plan.storage_data or _StoragePrefix(f"__{rank}_"))
            for rank, plan in enumerate(plans)
        ]

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        """Write the items of a plan into new files."""
        if self.single_file_per_rank:
            shares = _shares(plan.items, self.thread_count)
        else:
            shares = [[item] for item in plan.items]
        prefix = plan.storage_data.prefix
        taken = {os.path.basename(name) for name in self.fs.ls(self.path)}
        free = (n for n in range(len(taken) + len(shares)) if f"{prefix}{n}.distcp" not in taken)
        names = [f"{prefix}{n}.distcp" for n, _ in zip(free, shares)]
        with ThreadPoolExecutor(self.thread_count) as threads:
            written = threads.map(self._write, names, shares, repeat(planner))
            done: Future = Future()
            done.set_result([result for results in written for result in results])
        return done

    def _write(self, name: str, items: list[WriteItem], planner: SavePlanner) -> list[WriteResult]:
        results = []
        with self.fs.create_stream(self.fs.concat_path(self.path, name), "wb") as stream:
            for item in items:
                begin = stream.tell()
                data = planner.resolve_data(item)
                if isinstance(data, Tensor):
                    alone = data.detach().cpu()
                    if alone.untyped_storage().nbytes() != alone.nbytes:
                        alone = alone.clone()
                    serialization.save(alone, stream, format="torch")
                else:
                    stream.write(data.getbuffer())
                length = stream.tell() - begin
                place = _StorageInfo(name, begin, length)
                results.append(WriteResult(item.index, length, place))
            self._sync(stream)
        return results

    def _sync(self, stream: BinaryIO) -> None:
        if self.sync_files:
            stream.flush()
            os.fsync(stream.fileno())

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Write the metadata, and remove the files that it does not name."""
        from nnkit import torch_pickle

        metadata.version = CURRENT_DCP_VERSION
        metadata.storage_data = {r.index: r.storage_data for written in results for r in written}
        metadata.storage_meta = self.storage_meta()
        path = self._own_metadata()
        new = self.fs.concat_path(self.path, path.name + ".tmp")
        with self.fs.create_stream(new, "wb") as stream:
            torch_pickle.dump(metadata, stream, lambda value: None, pickle, 4)
            self._sync(stream)
        self.fs.rename(new, path)
        named = {place.relative_path for place in metadata.storage_data.values()}
        for each in self.fs.ls(self.path):
            name = os.path.basename(each)
            found = _DATA.fullmatch(name)
            if found and name not in named and (self.use_collectives or self._is_own(found)):
                self.fs.rm_file(each)

    def _is_own(self, name: re.Match) -> bool:
        return int(name[1]) == self.rank

    def _own_metadata(self) -> Path:
        return self._get_metadata_path(None if self.use_collectives else self.rank)

    def storage_meta(self) -> StorageMeta:
        """The folder, and the name of this save."""
        return StorageMeta(checkpoint_id=self.path, save_id=self.save_id)


def _shares(items: list[WriteItem], count: int) -> list[list[WriteItem]]:
    """The items of each thread: about as many bytes of tensors, and as many other values."""
    others = [item for item in items if item.type is WriteItemType.BYTE_IO]
    tensors = [item for item in items if item.type is not WriteItemType.BYTE_IO]
    shares = [others[first::count] for first in range(count)]
    loads = [0] * count
    for item in sorted(tensors, key=lambda item: -_size(item)):
        least = loads.index(min(loads))
        shares[least].append(item)
        loads[least] += _size(item)
    return shares


def _size(item: WriteItem) -> int:
    """The number of bytes of the part of a tensor that an item is for."""
    assert item.tensor_data is not None
    size = item.tensor_data.properties.dtype.itemsize
    for n in item.tensor_data.chunk.sizes:
        size *= n
    return size


class FileSystemReader(_Folder, StorageReader):
    """A folder to load from.

    Args:
        path: the folder.
    """

    def __init__(self, path: str | os.PathLike, _extension_registry: Any = None) -> None:
        super().__init__(path)
        self.storage_data: dict[MetadataIndex, _StorageInfo] = {}
        self.load_id = str(uuid.uuid4())

    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Begin a new load, from another folder if one is given."""
        self.storage_data = {}
        if checkpoint_id:
            self.path = self.fs.init_path(checkpoint_id)
        self.load_id = str(uuid.uuid4())

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The metadata of the folder, or of one ``rank`` that has saved alone.

        Raises:
            UnpicklingError: the file refers to more than data need.
        """
        with self.fs.create_stream(self._get_metadata_path(kwargs.get("rank")), "rb") as stream:
            found = _read_metadata(io.BytesIO(stream.read()))
        about = getattr(found, "storage_meta", None) or StorageMeta()
        found.storage_meta = replace(about, load_id=self.load_id)
        return found

    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Called on every rank before anything is planned."""
        self.storage_data = metadata.storage_data
        self.rank = kwargs.get("rank")
        self.use_collectives = kwargs.get("use_collectives", True)

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan as it is."""
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans as they are."""
        return plans

    @no_grad()
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        """Read the items of a plan, one file after the other."""
        by_file: dict[str, list[ReadItem]] = {}
        for item in plan.items:
            name = self.storage_data[item.storage_index].relative_path
            by_file.setdefault(name, []).append(item)
        for name, items in by_file.items():
            with self.fs.create_stream(self.fs.concat_path(self.path, name), "rb") as stream:
                for item in items:
                    self._read(item, stream, planner)
        done: Future = Future()
        done.set_result(None)
        return done

    def _read(self, item: ReadItem, stream: BinaryIO, planner: LoadPlanner) -> None:
        place = self.storage_data[item.storage_index]
        stream.seek(place.offset)
        content = io.BytesIO(stream.read(place.length))
        if item.type is LoadItemType.BYTE_IO:
            planner.load_bytes(item, content)
            return
        saved = serialization.load(content, map_location="cpu")
        target = planner.resolve_tensor(item).detach()
        target.copy_(narrow_tensor_by_index(saved, item.storage_offsets, item.lengths))
        planner.commit_tensor(item, target)


def _read_metadata(stream: io.BytesIO) -> Metadata:
    """The contents of a file ``.metadata``, read as data."""
    from nnkit.pickle_reader import PickleReader
    from nnkit.torch_rebuild import PLAIN

    known = ("BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex",
             "StorageMeta", "TensorProperties", "TensorStorageMetadata",
             "_MEM_FORMAT_ENCODING")  # fmt: skip
    here = "torch.distributed.checkpoint"
    allowed = {f"{here}.metadata.{name}": getattr(classes, name) for name in known}
    allowed[f"{here}.filesystem._StorageInfo"] = _StorageInfo
    for module in ("pathlib", "pathlib._local"):
        allowed |= {f"{module}.PosixPath": Path, f"{module}.WindowsPath": PureWindowsPath}
    return PickleReader(PLAIN, _no_storage, allowed | serialization._allowed()).read(stream)


def _no_storage(pid: Any) -> Any:
    raise pickle.UnpicklingError("a file .metadata has no memory of tensors")
