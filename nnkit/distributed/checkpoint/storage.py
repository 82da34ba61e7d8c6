"""The base classes of writers and readers of checkpoints."""

from __future__ import annotations

import abc
import os
from dataclasses import dataclass
from typing import Any

from nnkit.backend.futures import Future
from nnkit.distributed.checkpoint.metadata import Metadata, MetadataIndex, StorageMeta
from nnkit.distributed.checkpoint.planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner

__all__ = ["StorageReader", "StorageWriter", "WriteResult"]


@dataclass(frozen=True)
class WriteResult:
    """A written item: its size and its place."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any


class StorageWriter(abc.ABC):
    """The base class of writers of checkpoints; the methods are called in the order listed here."""

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Begin a new checkpoint, in another place if one is given."""

    @abc.abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Called on every rank before anything is planned."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """The plan of this rank, with additions of the storage."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """The plans of all ranks, with additions of the storage; on the coordinator."""

    @abc.abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Future:
        """Write the items of a plan; the future's result is a list of `WriteResult`."""

    @abc.abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Make the checkpoint valid, given the results of all ranks; on the coordinator."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether this storage can use a place of that name."""

    def storage_meta(self) -> StorageMeta | None:
        """The storage's description of itself for the planner."""
        return None


class StorageReader(abc.ABC):
    """The base class of readers of checkpoints; the methods are called in the order listed here."""

    @abc.abstractmethod
    def reset(self, checkpoint_id: str | os.PathLike | None = None) -> None:
        """Begin a new load, from another place if one is given."""

    @abc.abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The metadata of the checkpoint."""

    @abc.abstractmethod
    def set_up_storage_reader(
        self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any
    ) -> None:
        """Called on every rank before anything is planned."""

    @abc.abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """The plan of this rank, with additions of the storage."""

    @abc.abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """The plans of all ranks, with additions of the storage; on the coordinator."""

    @abc.abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future:
        """Read the items of a plan into the tensors and values that the planner gives for them."""

    @classmethod
    @abc.abstractmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike) -> bool:
        """Whether this storage can use a place of that name."""
