"""`save` and `async_save`: write the state of several ranks into a folder."""

from __future__ import annotations

import functools
import os
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any

from nnkit.backend.warning import warn
from nnkit.distributed.checkpoint.default_planner import DefaultSavePlanner
from nnkit.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from nnkit.distributed.checkpoint.metadata import Metadata
from nnkit.distributed.checkpoint.planner import SavePlan, SavePlanner
from nnkit.distributed.checkpoint.staging import AsyncStager, DefaultStager, StagingOptions
from nnkit.distributed.checkpoint.stateful import Stateful
from nnkit.distributed.checkpoint.storage import StorageWriter
from nnkit.distributed.checkpoint.utils import Ranks, storage_may_come_second
from nnkit.distributed.groups import default_group, is_initialized, new_group

__all__ = ["AsyncCheckpointerType", "AsyncSaveResponse", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(Enum):
    """Where `async_save` writes; both are a thread here."""

    THREAD = "thread"
    PROCESS = "process"


@dataclass
class AsyncSaveResponse:
    """The result of `async_save` where the state is copied in a thread too."""

    staging_completion: Future
    upload_completion: Future


@storage_may_come_second("storage_writer")
def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write a state into a folder; all ranks call this.

    Each rank writes its parts of sharded tensors, and a share of the values that all ranks have. An
    interrupted save leaves the folder as it was.

    Args:
        state_dict: nested dictionaries and lists of tensors and values that can be pickled; an
            object with a ``state_dict`` may stand in place of a dictionary.
        checkpoint_id: the folder, which all ranks see; made if it does not exist.
        storage_writer: the writer, by default a `FileSystemWriter`.
        planner: decides which rank writes what, by default a `DefaultSavePlanner`.
        process_group: the ranks; all by default.
        no_dist: this process saves alone.
        use_collectives: with False each rank saves all that it has, without the others, and loads
            the same again.

    Returns:
        the metadata of the checkpoint.

    Raises:
        RuntimeError: neither a folder nor a writer is given.
        CheckpointException: on every rank, if one has failed.

    Example:
        >>> import nnkit, tempfile
        >>> from nnkit.distributed import checkpoint
        >>> folder = tempfile.mkdtemp()
        >>> saved = checkpoint.save({"weight": nnkit.ones(2), "step": 3}, checkpoint_id=folder)
        >>> state = {"weight": nnkit.zeros(2), "step": 0}
        >>> checkpoint.load(state, checkpoint_id=folder)
        >>> state
        {'weight': tensor([1., 1.]), 'step': 3}
    """
    writer = storage(storage_writer, checkpoint_id, FileSystemWriter)
    ranks = Ranks(process_group, no_dist)
    return _save(states(state_dict), writer, ranks, planner, use_collectives)


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """`save` of a state as it is, by its older name."""
    warn("`save_state_dict` is deprecated. Please use `save` instead.", FutureWarning)
    storage_writer.reset()
    return _save_state_dict(
        state_dict, storage_writer, process_group, coordinator_rank, no_dist, planner
    )


def _save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
    use_collectives: bool = True,
) -> Metadata:
    ranks = Ranks(process_group, no_dist, coordinator_rank)
    return _save(state_dict, storage_writer, ranks, planner, use_collectives)


def _save(
    state_dict: dict[str, Any],
    writer: StorageWriter,
    ranks: Ranks,
    planner: SavePlanner | None,
    use_collectives: bool,
) -> Metadata:
    planner = planner or DefaultSavePlanner()

    def propose() -> SavePlan:
        planner.set_up_planner(
            state_dict=state_dict,
            storage_meta=writer.storage_meta(),
            is_coordinator=ranks.is_coordinator,
        )
        writer.set_up_storage_writer(
            ranks.is_coordinator, rank=ranks.rank, use_collectives=use_collectives
        )
        return writer.prepare_local_plan(planner.create_local_plan())

    def decide(proposed: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans, metadata = planner.create_global_plan(proposed)
        return writer.prepare_global_plan(plans), metadata

    def write(plan: SavePlan) -> Any:
        return writer.write_data(planner.finish_plan(plan), planner).wait()

    def finish(metadata: Metadata, results: list) -> Metadata:
        writer.finish(metadata=metadata, results=results)
        return metadata

    if not use_collectives:
        plans, metadata = decide([propose()])
        finish(metadata, [write(plans[0])])
        ranks.everybody(None)
        return metadata
    plans, metadata = ranks.decide("plan", propose, decide)
    return ranks.decide(
        "write", lambda: write(plans[ranks.rank]), lambda results: finish(metadata, results)
    )


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: AsyncStager | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future | AsyncSaveResponse:
    """`save` of a copy of the state, in a thread, while training goes on.

    Several ranks do so in a group of their own, so that their messages do not mix with those of
    training; a group that is given must be used for nothing else meanwhile.

    Args:
        async_checkpointer_type: accepted; a thread writes.
        async_stager: copies the state; by default the writer, or a `DefaultStager`.

    Returns:
        a future of the result of `save`; where the stager copies in a thread, an
        `AsyncSaveResponse`.

    Example:
        >>> import nnkit, tempfile
        >>> from nnkit.distributed import checkpoint
        >>> folder = tempfile.mkdtemp()
        >>> saving = checkpoint.async_save({"weight": nnkit.ones(2)}, checkpoint_id=folder)
        >>> list(saving.result().state_dict_metadata)
        ['weight']
    """
    stager: Any = async_stager
    if stager is None:
        is_stager = isinstance(storage_writer, AsyncStager)
        stager = (
            storage_writer
            if is_stager
            else DefaultStager(StagingOptions(False, False, False, False))
        )
    if process_group is None and is_initialized() and not no_dist:
        process_group = _group_for_saving(default_group())
    staged = stager.stage(states(state_dict))
    copy = staged if isinstance(staged, Future) else None

    def write() -> Metadata:
        return save(
            staged if copy is None else copy.result(),
            checkpoint_id=checkpoint_id, storage_writer=storage_writer, planner=planner,
            process_group=process_group, no_dist=no_dist, use_collectives=use_collectives,
        )  # fmt: skip

    thread = ThreadPoolExecutor(1)
    saving = thread.submit(write)
    thread.shutdown(wait=False)
    if copy is not None:
        staging: Future = Future()
        copy.add_done_callback(lambda done: _pass_on(done, staging))
        return AsyncSaveResponse(staging, saving)
    if stager.should_synchronize_after_execute:
        stager.synchronize_staging()
    return saving


@functools.cache
def _group_for_saving(default: Any) -> Any:
    """A second group of all ranks, one for each default group."""
    return new_group()


def _pass_on(done: Future, to: Future) -> None:
    error = done.exception()
    to.set_result(None) if error is None else to.set_exception(error)


def states(state_dict: dict[str, Any]) -> dict[str, Any]:
    """A state in which the objects that have a state are replaced by it."""
    return {
        key: value.state_dict() if isinstance(value, Stateful) else value
        for key, value in state_dict.items()
    }


def storage(
    given: Any, checkpoint_id: Any, kind: type[FileSystemWriter] | type[FileSystemReader]
) -> Any:
    """The given writer or reader, or one of files.

    Raises:
        RuntimeError: there is neither a writer or reader nor a folder, or the path is no folder.
    """
    if given is not None:
        if checkpoint_id is not None:
            given.reset(checkpoint_id)
        return given
    if not checkpoint_id:
        raise RuntimeError(
            "`checkpoint_id` must be specified if storage_reader/storage_writer is None."
        )
    if not kind.validate_checkpoint_id(checkpoint_id):
        raise RuntimeError(
            f"Cannot detect which StorageReader or StorageWriter to use: {checkpoint_id!r} is no "
            "folder. Please specify the storage_reader/storage_writer."
        )
    return kind(checkpoint_id)
