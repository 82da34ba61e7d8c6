"""The items to be written and read for the values of a state."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.ops.creation.factories import empty_like
from nnkit.autograd.surface.size import Size
from nnkit.autograd.tensor import Tensor
from nnkit.distributed.checkpoint.metadata import (
    STORAGE_TYPES,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    MetadataIndex,
    TensorProperties,
    TensorStorageMetadata,
)
from nnkit.distributed.checkpoint.planner import (
    LoadItemType,
    ReadItem,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from nnkit.distributed.tensor import DTensor
from nnkit.distributed.tensor.dtensor import as_dtensor
from nnkit.distributed.tensor.moving import extent

__all__ = ["create_read_items_for_chunk_list"]


def _create_chunk(tensor: Tensor) -> ChunkStorageMetadata:
    """The part of a tensor that this rank has."""
    starts, sizes = [0] * tensor.ndim, tensor.shape
    if isinstance(tensor, DTensor):
        starts, sizes = extent(tensor.shape, tensor.device_mesh, tensor.placements)
    return ChunkStorageMetadata(Size(starts), Size(sizes))


def _create_write_items(fqn: str, value: Any) -> list[WriteItem]:
    """The items that this rank could write of a value.

    Raises:
        ValueError: it is a tensor whose parts are still to be reduced.
    """
    if not isinstance(value, Tensor):
        return [WriteItem(MetadataIndex(fqn), WriteItemType.BYTE_IO)]
    kind = WriteItemType.TENSOR
    if isinstance(value, DTensor):
        kind = WriteItemType.SHARD
        if any(placement.is_partial() for placement in value.placements):
            raise ValueError(f"{fqn}: what is still to be brought together cannot be saved")
    chunk = _create_chunk(value)
    properties = TensorProperties.create_from_tensor(value)
    data = TensorWriteData(chunk, properties, Size(value.shape))
    return [WriteItem(MetadataIndex(fqn, chunk.offsets), kind, tensor_data=data)]


def create_read_items_for_chunk_list(
    fqn: str, checkpoint_md: TensorStorageMetadata, local_chunks: list[ChunkStorageMetadata]
) -> list[ReadItem]:
    """The overlaps of the parts of a tensor here with those in a checkpoint."""
    items = []
    for place, own in enumerate(local_chunks):
        for number, saved in enumerate(checkpoint_md.chunks):
            common = [
                (max(a, b), min(a + n, b + m))
                for a, n, b, m in zip(own.offsets, own.sizes, saved.offsets, saved.sizes)
            ]
            if all(first < last for first, last in common):
                items.append(
                    ReadItem(
                        LoadItemType.TENSOR,
                        MetadataIndex(fqn, own.offsets, place),
                        Size([first - a for (first, _), a in zip(common, own.offsets)]),
                        MetadataIndex(fqn, saved.offsets, number),
                        Size([first - b for (first, _), b in zip(common, saved.offsets)]),
                        Size([last - first for first, last in common]),
                    )
                )
    return items


def _create_read_items(fqn: str, md: STORAGE_TYPES, obj: Any) -> list[ReadItem]:
    """The items that this rank reads for a value.

    Raises:
        ValueError: it is no tensor, but a tensor was saved.
    """
    if isinstance(md, BytesStorageMetadata):
        index, origin, none = MetadataIndex(fqn), Size([0]), Size([0])
        return [ReadItem(LoadItemType.BYTE_IO, index, origin, index, origin, none)]
    if not isinstance(obj, Tensor):
        raise ValueError(
            f"Invalid checkpoint metadata for {fqn}, expected BytesStorageMetadata but found "
            f"{type(md)}"
        )
    return create_read_items_for_chunk_list(fqn, md, [_create_chunk(obj)])


def _init_state_dict(value: Any) -> Any:
    """A nested state with memory for its tensors on meta; dictionaries are changed."""
    if isinstance(value, DTensor) and value.is_meta:
        local = empty_like(value.to_local(), device="cpu")
        return as_dtensor(local, value.device_mesh, value.placements, value.shape)
    if isinstance(value, Tensor):
        return empty_like(value, device="cpu") if value.is_meta else value
    if isinstance(value, dict):
        for key, each in value.items():
            value[key] = _init_state_dict(each)
    elif type(value) in (list, tuple):
        return type(value)(map(_init_state_dict, value))
    return value
