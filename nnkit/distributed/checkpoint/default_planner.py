"""The default planners: they save each part of a tensor in a nested state once, and load it."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from typing import Any

from nnkit import serialization
from nnkit.autograd.ops.creation.factories import empty
from nnkit.autograd.tensor import Tensor
from nnkit.backend.warning import warn
from nnkit.distributed.checkpoint.metadata import (
    STATE_DICT_TYPE,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from nnkit.distributed.checkpoint.nested import Path, flatten_state_dict, set_element
from nnkit.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from nnkit.distributed.checkpoint.planner_helpers import (
    _create_read_items,
    _create_write_items,
    _init_state_dict,
)
from nnkit.distributed.checkpoint.utils import find_state_dict_object

__all__ = [
    "DefaultLoadPlanner", "DefaultSavePlanner", "create_default_global_load_plan",
    "create_default_global_save_plan", "create_default_local_load_plan",
    "create_default_local_save_plan", "dedup_save_plans",
]  # fmt: skip


class DefaultSavePlanner(SavePlanner):
    """The planner of `save`: each rank writes its shards, and a share of the replicated values.

    Args:
        flatten_state_dict: save the leaves of a nested state.
        flatten_sharded_tensors, enable_plan_caching: accepted, and change nothing.
        dedup_replicated_tensors: ignored with a warning.
        dedup_save_to_lowest_rank: replicated values are written by the lowest rank alone.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.mappings: dict[str, Path] = {}
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        if dedup_replicated_tensors is not None:
            warn("DefaultSavePlanner: dedup_replicated_tensors has no effect")

    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Flatten the state."""
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict = state_dict
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> SavePlan:
        """An item for each tensor and each other value."""
        self.plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            self.plan = replace(self.plan, planner_data=self.mappings)
        return self.plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """The plans, each part in one of them, and the metadata of the checkpoint.

        Raises:
            ValueError: the parts of a tensor overlap, or do not cover it.
        """
        plans = dedup_save_plans(all_plans, self.dedup_save_to_lowest_rank)
        plans, metadata = create_default_global_save_plan(plans)
        if self.flatten_state_dict:
            paths: dict[str, Path] = {}
            for plan in reversed(plans):
                paths.update(plan.planner_data)
            metadata = replace(metadata, planner_data=paths)
        errors = _validate_global_plan(plans, metadata)
        if errors:
            raise ValueError(f"Failed to validate global plan: {'; '.join(errors)}")
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """The plan as it is."""
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """The tensor of an item, or the bytes of another value as a file of ``torch.save``."""
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The value of an index; subclasses may give another."""
        return find_state_dict_object(self.state_dict, index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """The value as it is written; subclasses may give another."""
        if write_item.type is WriteItemType.BYTE_IO:
            stream = io.BytesIO()
            serialization.save(object, stream, format="torch")
            return stream
        return object


class DefaultLoadPlanner(LoadPlanner):
    """The planner of `load`, which fills a nested state in place.

    Args:
        flatten_state_dict: the checkpoint has the leaves of a nested state.
        flatten_sharded_tensors: accepted, and changes nothing.
        allow_partial_load: leave values alone that the checkpoint lacks, instead of an error.
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.original_state_dict: STATE_DICT_TYPE = {}
        self.mappings: dict[str, Path] = {}
        self.allow_partial_load = allow_partial_load

    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        """Give tensors on meta memory, and flatten the state."""
        _init_state_dict(state_dict)
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict = state_dict
        self.metadata = metadata
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> LoadPlan:
        """An item for each part in the checkpoint that overlaps with one of this rank.

        Raises:
            RuntimeError: the checkpoint lacks a key.
            ValueError: a tensor has another size there.
        """
        assert self.metadata is not None
        strict = not self.allow_partial_load
        return create_default_local_load_plan(self.state_dict, self.metadata, strict)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """The plans as they are."""
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """The plan as it is."""
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        """Put a value into the state; its bytes are read as data (`nnkit.load`)."""
        found, fqn = serialization.load(value), read_item.dest_index.fqn
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[fqn], found)
        else:
            self.state_dict[fqn] = found

    def resolve_tensor(self, read_item: ReadItem) -> Tensor:
        """The part of a tensor that an item fills, as a view."""
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Tensor) -> None:
        """Nothing: the view was written."""

    def lookup_tensor(self, index: MetadataIndex) -> Tensor:
        """The tensor of an index; subclasses may give another."""
        return find_state_dict_object(self.state_dict, index)

    def transform_tensor(self, read_item: ReadItem, tensor: Tensor) -> Tensor:
        """The part that is written; subclasses may give another."""
        return narrow_tensor_by_index(tensor, read_item.dest_offsets, read_item.lengths)


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Builds the state from the checkpoint's contents: all of them, or those below some keys."""

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        self.keys = keys
        super().__init__(*args, **kwargs)

    def set_up_planner(
        self,
        state_dict: STATE_DICT_TYPE,
        metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:
        assert metadata is not None and not state_dict
        paths = metadata.planner_data or {}
        for key, value in metadata.state_dict_metadata.items():
            path = paths.get(key, (key,))
            above = {".".join(map(str, path[:n])) for n in range(1, len(path) + 1)}
            if self.keys is not None and not self.keys & (above | {key}):
                continue
            if isinstance(value, TensorStorageMetadata):
                value = empty(value.size, dtype=value.properties.dtype)
            set_element(state_dict, path, value)
        super().set_up_planner(state_dict, metadata, is_coordinator)


def narrow_tensor_by_index(tensor: Tensor, offsets: Any, sizes: Any) -> Tensor:
    """The part of a tensor with some offsets and sizes, as a view."""
    for dim, (start, size) in enumerate(zip(offsets, sizes)):
        if size < tensor.shape[dim]:
            tensor = tensor.narrow(dim, start, size)
    return tensor


def create_default_local_load_plan(
    state_dict: dict[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """The plan of the items that a rank reads for a flat state.

    Raises:
        RuntimeError: the checkpoint lacks a key, if ``strict``.
        ValueError: a tensor has another size there, or a value is a tensor only there or here.
    """
    items: list[ReadItem] = []
    for fqn, value in state_dict.items():
        if fqn not in metadata.state_dict_metadata:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {fqn}.")
            continue
        known = metadata.state_dict_metadata[fqn]
        if (
            isinstance(known, TensorStorageMetadata)
            and isinstance(value, Tensor)
            and known.size != value.size()
        ):
            raise ValueError(
                f"Size mismatch between saved {known.size} and current: {value.size()} for {fqn}"
            )
        items += _create_read_items(fqn, known, value)
    return LoadPlan(items)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans as they are: each rank reads whatever it needs."""
    return all_plans


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """The plan of everything that a rank could write of a flat state."""
    return SavePlan(
        [i for fqn, value in state_dict.items() for i in _create_write_items(fqn, value)]
    )


def dedup_save_plans(
    all_plans: list[SavePlan], save_to_lowest_rank: bool = False
) -> list[SavePlan]:
    """The plans with each item in only one of them, the one with the fewest bytes so far."""
    having: dict[MetadataIndex, list[int]] = {}
    sizes: dict[MetadataIndex, int] = {}
    for rank, plan in enumerate(all_plans):
        for item in plan.items:
            having.setdefault(item.index, []).append(rank)
            sizes[item.index] = item.tensor_storage_size() or 1
    loads = [0] * len(all_plans)
    chosen: dict[MetadataIndex, int] = {}
    for index, ranks in having.items():
        rank = min(ranks) if save_to_lowest_rank else min(ranks, key=lambda r: (loads[r], r))
        loads[rank] += sizes[index]
        chosen[index] = rank
    return [
        replace(plan, items=[item for item in plan.items if chosen[item.index] == rank])
        for rank, plan in enumerate(all_plans)
    ]


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The plans, with the position of each part among those of its tensor, and the metadata."""
    found: dict[str, Any] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            fqn, data = item.index.fqn, item.tensor_data
            if item.type is not WriteItemType.SHARD and fqn in found:
                raise AssertionError(f"{fqn} is written twice")
            if data is None:
                found[fqn] = BytesStorageMetadata()
            else:
                whole = TensorStorageMetadata(data.properties, data.size, [])
                chunks = found.setdefault(fqn, whole).chunks
                if rewrite_index_hints:
                    item = replace(item, index=replace(item.index, index=len(chunks)))
                chunks.append(data.chunk)
            items.append(item)
        plans.append(replace(plan, items=items))
    return plans, Metadata(found)


def _create_default_local_metadata(state_dict: STATE_DICT_TYPE) -> Metadata:
    """The metadata of a checkpoint of a flat state in one process."""
    return create_default_global_save_plan([create_default_local_save_plan(state_dict, True)])[1]


def _check_box_overlap(box0: ChunkStorageMetadata, box1: ChunkStorageMetadata) -> bool:
    """Whether two parts overlap."""
    return all(
        a < b + m and b < a + n
        for a, n, b, m in zip(box0.offsets, box0.sizes, box1.offsets, box1.sizes)
    )


def _check_box_bounds(outer_box_size: Any, inner_box: ChunkStorageMetadata) -> bool:
    """Whether a part lies within the whole."""
    return all(
        a >= 0 and n >= 0 and a + n <= whole
        for a, n, whole in zip(inner_box.offsets, inner_box.sizes, outer_box_size)
    )


def _validate_global_plan(global_plan: list[SavePlan], metadata: Metadata) -> list[str]:
    """The errors in the parts of the tensors: out of bounds, overlapping, incomplete."""
    errors = []
    for key, value in metadata.state_dict_metadata.items():
        if isinstance(value, BytesStorageMetadata) or not value.size:
            continue
        for number, chunk in enumerate(value.chunks):
            if not _check_box_bounds(value.size, chunk):
                errors.append(
                    f"key:{key} has out of bounds chunk: tensor-size:{value.size} chunk: {chunk}"
                )
            for other in value.chunks[:number]:
                if _check_box_overlap(chunk, other):
                    errors.append(f"key:{key} has overlapping chunks: {chunk} {other}")
        covered = sum(math.prod(chunk.sizes) for chunk in value.chunks)
        if len(global_plan) > 1 and covered != math.prod(value.size):
            errors.append(
                f"key:{key} invalid fill tensor-volume: {math.prod(value.size)} "
                f"chunks-volume: {covered}"
            )
    return errors
