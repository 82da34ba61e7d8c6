"""`save` and `load`: a state of many ranks in a folder, from which any number of ranks loads it.

Each rank writes what it has into a file of its own, under a name that no other save uses. When all
have done so, the first rank writes which part of which tensor is where into ``INDEX``, all at once,
and then removes what no index names any more. So whatever happens, also to the processes, the
folder holds the old state whole, or the new one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from nnkit import serialization
from nnkit.autograd import no_grad
from nnkit.autograd.tensor import Tensor
from nnkit.distributed.groups import get_rank, get_world_size, is_initialized
from nnkit.distributed.objects import all_gather_object, broadcast_object_list
from nnkit.distributed.tensor import DTensor
from nnkit.distributed.tensor.moving import extent

__all__ = ["CheckpointException", "Stateful", "load", "save"]

INDEX = "index.safetensors"
_FILE = re.compile(r"[0-9a-f]{12}_\d+\.safetensors")
Key = tuple[str | int, ...]


@runtime_checkable
class Stateful(Protocol):
    """An object with a state of its own, such as a module or an optimizer."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> Any: ...


class CheckpointException(BaseException):
    """A save or a load has failed; raised on every rank.

    Args:
        msg: what was done.
        failures: by rank what went wrong there.
    """

    def __init__(self, msg: str, failures: dict[int, str]) -> None:
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self) -> dict[int, str]:
        """The errors, by rank."""
        return self._failures

    def __str__(self) -> str:
        lines = [f"rank {rank}: {reason}" for rank, reason in self._failures.items()]
        return "\n".join([f"{self.args[0]} failed on ranks {list(self._failures)}", *lines])


class _Ranks:
    """The ranks that save or load together."""

    def __init__(self, group: Any, no_dist: bool) -> None:
        alone = no_dist or not is_initialized()
        self.group = group
        self.rank, self.size = (0, 1) if alone else (get_rank(group), get_world_size(group))

    def everybody(self, value: Any) -> list[Any]:
        """The values of all ranks."""
        if self.size == 1:
            return [value]
        found: list = [None] * self.size
        all_gather_object(found, value, self.group)
        return found

    def first(self, value: Any) -> Any:
        """The first rank's value."""
        box = [value]
        if self.size > 1:
            broadcast_object_list(box, group=self.group, group_src=0)
        return box[0]

    def together(self, name: str, work: Callable[[], Any]) -> list[Any]:
        """The results of the ranks' work.

        Raises:
            CheckpointException: on every rank, if it has failed on one.
        """
        try:
            done = work(), None
        except Exception as error:
            done = None, f"{type(error).__name__}: {error}"
        results = self.everybody(done)
        failures = {rank: reason for rank, (_, reason) in enumerate(results) if reason is not None}
        if failures:
            raise CheckpointException(name, failures)
        return [result for result, _ in results]


class FileSystemWriter:
    """A folder to save in, for `save`.

    Args:
        path: the folder.
        single_file_per_rank, sync_files, thread_count, per_thread_copy_ahead: accepted; each rank
            writes one file, and all of it is on the disk when it is done.
        overwrite: replace a state that is there; else it is an error.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        overwrite: bool = True,
    ) -> None:
        self.path = Path(path)
        self.overwrite = overwrite


class FileSystemReader:
    """A folder to load from, for `load`.

    Args:
        path: the folder.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Write a state into a folder; all ranks call this.

    Each rank writes its parts of the tensors that are in shards. Of what all have alike, each
    writes a share. An interrupted save leaves what was in the folder.

    Args:
        state_dict: nested dictionaries and lists of tensors and of what `nnkit.save` takes; in
            place of a dictionary there may be what has a ``state_dict``.
        checkpoint_id: the folder, which all ranks see; made if it does not exist.
        process_group: the ranks; all by default.
        no_dist: this process saves alone.
        storage_writer: a `FileSystemWriter`, whose folder counts where ``checkpoint_id`` is None.
        planner, use_collectives: accepted where they are the defaults.

    Raises:
        ValueError: no folder is given.
        NotImplementedError: a planner or another writer is given.
        CheckpointException: on every rank, if one has failed.

    Example:
        >>> import nnkit, tempfile
        >>> from nnkit.distributed import checkpoint
        >>> folder = tempfile.mkdtemp()
        >>> checkpoint.save({"weight": nnkit.ones(2), "step": 3}, checkpoint_id=folder)
        >>> state = {"weight": nnkit.zeros(2), "step": 0}
        >>> checkpoint.load(state, checkpoint_id=folder)
        >>> state
        {'weight': tensor([1., 1.]), 'step': 3}
    """
    folder = _folder("save", checkpoint_id, storage_writer, FileSystemWriter, planner)
    ranks = _Ranks(process_group, no_dist)
    if storage_writer is not None and not storage_writer.overwrite:
        ranks.together("save", lambda: _check_empty(folder))
    entries = dict(_flat(_states(state_dict)))
    token = ranks.first(os.urandom(6).hex())
    plans = ranks.together("save", lambda: [_described(k, v) for k, v in entries.items()])
    chosen = _shares(plans)

    def write() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        own = [number for number, rank in chosen[ranks.rank].items() if rank == ranks.rank]
        values = list(entries.values())
        tensors = {str(number): _local(values[number]) for number in own}
        if tensors:
            serialization.save(tensors, folder / _name(token, ranks.rank))

    ranks.together("save", write)

    def finish() -> None:
        if ranks.rank == 0:
            serialization.save(_index(plans, chosen, token), folder / INDEX)
            for path in folder.iterdir():
                if _FILE.fullmatch(path.name) and not path.name.startswith(token):
                    path.unlink()

    ranks.together("save", finish)


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_reader: Any = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill a state with what a folder holds of it; all ranks call this.

    Tensors are written in place, other values replaced. Each rank reads what its parts need,
    however many ranks have saved it.

    Args:
        state_dict: of the same keys and shapes as what was saved, or some of them.
        checkpoint_id: the folder.
        process_group: the ranks; all by default.
        no_dist: this process loads alone.
        storage_reader: a `FileSystemReader`, whose folder counts where ``checkpoint_id`` is None.
        planner: accepted where it is the default.

    Raises:
        ValueError: no folder is given.
        NotImplementedError: a planner or another reader is given.
        CheckpointException: on every rank, if one lacks a key, has another shape, or cannot read;
            tensors may then have been written already.
    """
    folder = _folder("load", checkpoint_id, storage_reader, FileSystemReader, planner)
    ranks = _Ranks(process_group, no_dist)
    states = _states(state_dict)

    def read() -> None:
        index = serialization.load(folder / INDEX)["entries"]
        known = {tuple(entry["key"]): entry for entry in index}
        wanted = list(_flat(states))
        for key, value in wanted:
            _check(key, value, known)
        for key, value in wanted:
            if not isinstance(value, Tensor):
                _put(states, key, known[key]["value"])
        _fill([(known[key], value) for key, value in wanted if isinstance(value, Tensor)], folder)

    ranks.together("load", read)
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(states[key])
        elif not isinstance(value, (Tensor, dict, list)):
            state_dict[key] = states[key]


def _check_empty(folder: Path) -> None:
    if (folder / INDEX).exists():
        raise RuntimeError(f"save: {folder} holds a state, and overwrite=False")


def _folder(name: str, given: Any, storage: Any, kind: type, planner: Any) -> Path:
    if planner is not None or not isinstance(storage, (kind, type(None))):
        raise NotImplementedError(f"{name}: storages and planners of one's own are not there")
    if given is None and storage is not None:
        return storage.path
    if given is None:
        raise ValueError(f"{name}: checkpoint_id must be a folder, got None")
    return Path(given)


def _name(token: str, rank: int) -> str:
    return f"{token}_{rank}.safetensors"


def _states(state_dict: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value.state_dict() if isinstance(value, Stateful) else value
        for key, value in state_dict.items()
    }


def _flat(value: Any, key: Key = ()) -> Iterator[tuple[Key, Any]]:
    """The leaves of nested dictionaries and of lists that hold tensors, with their paths."""
    if isinstance(value, dict) and (value or not key):
        for name, each in value.items():
            yield from _flat(each, (*key, name))
    elif isinstance(value, (list, tuple)) and _holds_tensors(value):
        for number, each in enumerate(value):
            yield from _flat(each, (*key, number))
    else:
        yield key, value


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_tensors, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_holds_tensors, value))
    return isinstance(value, Tensor)


def _put(states: Any, key: Key, value: Any) -> None:
    for part in key[:-1]:
        states = states[part]
    states[key[-1]] = value


# Which rank writes what


def _described(key: Key, value: Any) -> dict[str, Any]:
    """An entry of the plan of a rank: where its part begins in the whole, and its sizes."""
    if not isinstance(value, Tensor):
        return {"key": list(key), "value": value}
    starts, sizes = [0] * value.ndim, list(value.shape)
    if isinstance(value, DTensor):
        if any(placement.is_partial() for placement in value.placements):
            raise ValueError(f"{key}: what is still to be brought together cannot be saved")
        starts, sizes = extent(value.shape, value.device_mesh, value.placements)
    return {
        "key": list(key), "shape": list(value.shape), "dtype": str(value.dtype),
        "starts": starts, "sizes": sizes,
    }  # fmt: skip


def _shares(plans: list[list[dict]]) -> list[dict[int, int]]:
    """For each rank which rank writes each of its parts: of those that have it the one with the
    fewest elements so far."""
    owners: dict[Any, list[int]] = {}
    for rank, plan in enumerate(plans):
        for entry in plan:
            if "shape" in entry:
                owners.setdefault(_part(entry), []).append(rank)
    loads = [0] * len(plans)
    chosen: dict[Any, int] = {}
    for part, having in owners.items():
        rank = min(having, key=lambda r: (loads[r], r))
        size = 1
        for n in part[2]:
            size *= n
        loads[rank] += size
        chosen[part] = rank
    return [
        {n: chosen[_part(entry)] for n, entry in enumerate(plan) if "shape" in entry}
        for plan in plans
    ]


def _part(entry: dict) -> tuple:
    return tuple(entry["key"]), tuple(entry["starts"]), tuple(entry["sizes"])


def _index(plans: list[list[dict]], chosen: list[dict[int, int]], token: str) -> dict[str, Any]:
    """The index of a checkpoint: each entry once, a tensor with its parts and their files."""
    entries: dict[Key, dict[str, Any]] = {}
    for rank, plan in enumerate(plans):
        for number, entry in enumerate(plan):
            known = entries.setdefault(tuple(entry["key"]), {"key": entry["key"]})
            if "shape" not in entry:
                known.setdefault("value", entry["value"])
                continue
            known.update(shape=entry["shape"], dtype=entry["dtype"])
            if chosen[rank][number] == rank and 0 not in entry["sizes"]:
                place = {"file": _name(token, rank), "name": str(number)}
                found = {"starts": entry["starts"], "sizes": entry["sizes"], **place}
                known.setdefault("parts", []).append(found)
    return {"format": 1, "entries": list(entries.values())}


def _local(value: Tensor) -> Tensor:
    return value.to_local().detach() if isinstance(value, DTensor) else value.detach()


# What a rank needs of it


def _check(key: Key, value: Any, known: dict[Key, dict]) -> None:
    """KeyError or ValueError if the folder does not hold this."""
    name = ".".join(map(str, key))
    if key not in known:
        raise KeyError(f"Missing key in checkpoint state_dict: {name}.")
    if isinstance(value, Tensor) != ("shape" in known[key]):
        kinds = ("a tensor", "not a tensor")[:: 1 if isinstance(value, Tensor) else -1]
        raise ValueError(f"{name}: the current value is {kinds[0]}, the saved one {kinds[1]}")
    if isinstance(value, Tensor) and known[key]["shape"] != list(value.shape):
        raise ValueError(
            f"Size mismatch between saved {known[key]['shape']} and current: {list(value.shape)} "
            f"for {name}"
        )


@no_grad()
def _fill(wanted: list[tuple[dict, Tensor]], folder: Path) -> None:
    """Copy into tensors what their parts have in common with those in the files, one file after
    another."""
    by_file: dict[str, list[Callable[[dict], Any]]] = {}
    for entry, value in wanted:
        starts, sizes = [0] * value.ndim, list(value.shape)
        if isinstance(value, DTensor):
            starts, sizes = extent(value.shape, value.device_mesh, value.placements)
        for part in entry.get("parts", ()):
            common = [
                (max(a, b), min(a + n, b + m))
                for a, n, b, m in zip(starts, sizes, part["starts"], part["sizes"])
            ]
            if all(first < last for first, last in common):
                to = tuple(slice(f - s, e - s) for (f, e), s in zip(common, starts))
                of = tuple(slice(f - s, e - s) for (f, e), s in zip(common, part["starts"]))
                copy = _copier(_local(value), to, part["name"], of)
                by_file.setdefault(part["file"], []).append(copy)
    for name, copies in by_file.items():
        arrays = serialization.load(folder / name)
        for copy in copies:
            copy(arrays)


def _copier(target: Tensor, to: tuple, name: str, of: tuple) -> Callable[[dict], Any]:
    return lambda arrays: target[to].copy_(arrays[name][of])
