"""`load`: fills the state of any number of ranks from a checkpoint of any number of ranks."""

from __future__ import annotations

import os
from typing import Any

from nnkit.backend.warning import warn
from nnkit.distributed.checkpoint.default_planner import (
    DefaultLoadPlanner,
    _EmptyStateDictLoadPlanner,
)
from nnkit.distributed.checkpoint.filesystem import FileSystemReader
from nnkit.distributed.checkpoint.metadata import Metadata
from nnkit.distributed.checkpoint.planner import LoadPlan, LoadPlanner
from nnkit.distributed.checkpoint.state_dict_saver import states, storage
from nnkit.distributed.checkpoint.stateful import Stateful
from nnkit.distributed.checkpoint.storage import StorageReader
from nnkit.distributed.checkpoint.utils import Ranks, storage_may_come_second

__all__ = ["load", "load_state_dict"]


@storage_may_come_second("storage_reader")
def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill a state with the values in a folder; all ranks call this.

    Tensors are written in place, other values replaced. Each rank reads what its parts need,
    however many ranks have saved it.

    Args:
        state_dict: the state, with the keys and shapes that were saved, or some of them.
        checkpoint_id: the folder.
        storage_reader: the reader, by default a `FileSystemReader`.
        planner: decides what is read, by default a `DefaultLoadPlanner`.
        process_group: the ranks; all by default.
        no_dist: this process loads alone.

    Raises:
        RuntimeError: neither a folder nor a reader is given.
        CheckpointException: on every rank, if one lacks a key, has another shape, or cannot read;
            tensors may then have been written already. Other values are read as data
            (`nnkit.load`).
    """
    reader = storage(storage_reader, checkpoint_id, FileSystemReader)
    found = states({key: state_dict[key] for key in sorted(state_dict)})
    _load_state_dict(found, reader, process_group, no_dist=no_dist, planner=planner)
    for key, value in list(state_dict.items()):
        if isinstance(value, Stateful):
            value.load_state_dict(found[key])
        else:
            state_dict[key] = found[key]


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """`load` into a state as it is, by its older name."""
    warn("`load_state_dict` is deprecated. Please use `load` instead.", FutureWarning)
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    planner = planner or DefaultLoadPlanner()
    ranks = Ranks(process_group, no_dist, coordinator_rank)

    def propose() -> LoadPlan:
        metadata, together = _metadata(storage_reader, ranks.rank)
        planner.set_up_planner(state_dict, metadata, ranks.is_coordinator)
        storage_reader.set_up_storage_reader(
            metadata, ranks.is_coordinator, rank=ranks.rank, use_collectives=together
        )
        return storage_reader.prepare_local_plan(planner.create_local_plan())

    def decide(proposed: list[LoadPlan]) -> list[LoadPlan]:
        return storage_reader.prepare_global_plan(planner.create_global_plan(proposed))

    plans = ranks.decide("plan", propose, decide)
    plan = plans[ranks.rank]
    ranks.together(
        "read",
        lambda: storage_reader.read_data(planner.finish_plan(plan), planner).wait(),
    )


def _metadata(reader: StorageReader, rank: int) -> tuple[Metadata, bool]:
    """The metadata of a checkpoint, and whether all ranks have saved it together."""
    try:
        return reader.read_metadata(), True
    except FileNotFoundError:
        try:
            return reader.read_metadata(rank=rank), False
        except (FileNotFoundError, TypeError):
            pass
        raise


def _load_state_dict_from_keys(
    keys: set[str] | str | None = None,
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_reader: StorageReader | None = None,
    process_group: Any = None,
) -> dict[str, Any]:
    """The state in a checkpoint, all of it or the parts below some keys."""
    reader = storage(storage_reader, checkpoint_id, FileSystemReader)
    found: dict[str, Any] = {}
    names = {keys} if isinstance(keys, str) else keys
    planner = _EmptyStateDictLoadPlanner(names)
    _load_state_dict(found, reader, process_group, planner=planner)
    return found
