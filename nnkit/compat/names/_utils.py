"""Private helpers of torch that libraries use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import nnkit
from nnkit.autograd.surface.copying import state_of as _get_obj_state
from nnkit.compat.names._dynamo import is_compiling as is_compiling
from nnkit.compat.wrappers import _rebuild_wrapper_subclass as _rebuild_wrapper_subclass
from nnkit.torch_rebuild import _rebuild_parameter as _rebuild_parameter
from nnkit.torch_rebuild import _rebuild_parameter_with_state as _rebuild_parameter_with_state
from nnkit.torch_rebuild import _rebuild_sparse as _rebuild_sparse_tensor
from nnkit.torch_rebuild import _rebuild_stored as _rebuild_tensor_v3
from nnkit.torch_rebuild import _rebuild_tensor as _rebuild_tensor
from nnkit.torch_rebuild import _rebuild_without_memory as _rebuild_meta_tensor_no_storage
from nnkit.torch_rebuild import _set_obj_state as _set_obj_state
from nnkit.utils.data.worker import ExceptionWrapper as ExceptionWrapper

__all__ = [
    "_get_obj_state", "_rebuild_meta_tensor_no_storage", "_rebuild_sparse_tensor",
    "_rebuild_tensor_v3",
]  # fmt: skip


def _rebuild_tensor_v2(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool,
    backward_hooks: Any = None, metadata: Any = None,
) -> Any:  # fmt: skip
    """A tensor on a storage; on one of the meta device of any size, since it takes no memory."""
    if storage.device.type == "meta" and not storage.nbytes():
        return _rebuild_meta_tensor_no_storage(storage.dtype, size, stride, requires_grad)
    given = storage_offset, size, stride, requires_grad, backward_hooks, metadata
    return _rebuild_tensor(storage, *given)


def _element_size(dtype: Any) -> int:
    """The bytes of an element of a dtype."""
    return dtype.itemsize


def _flatten_dense_tensors(tensors: Sequence[Any]) -> Any:
    """All elements of some tensors in one row."""
    return nnkit.cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Any, tensors: Sequence[Any]) -> tuple:
    """The pieces of a row in the shapes of some tensors."""
    pieces = flat.split([tensor.numel() for tensor in tensors])
    return tuple([piece.view_as(tensor) for piece, tensor in zip(pieces, tensors, strict=True)])


def _take_tensors(tensors: Iterable[Any], size_limit: int) -> Iterator[list[Any]]:
    """The tensors in groups of one dtype and at most ``size_limit`` bytes: what fills up first is
    first."""
    groups: dict[Any, list[Any]] = {}
    sizes: dict[Any, int] = {}
    for tensor in tensors:
        kind, size = tensor.dtype, tensor.nbytes
        if sizes.get(kind, 0) + size > size_limit and sizes.get(kind, 0) > 0:
            yield groups[kind]
            groups[kind], sizes[kind] = [], 0
        groups.setdefault(kind, []).append(tensor)
        sizes[kind] = sizes.get(kind, 0) + size
    yield from filter(None, groups.values())


def _get_available_device_type() -> str | None:
    """The type of the accelerator that there is, None if there is none."""
    return "cuda" if nnkit.cuda.is_available() else None


def _get_device_module(device_type: str) -> Any:
    """The module of a type of device, `nnkit.cuda` of ``cuda``.

    Raises:
        RuntimeError: there is none of that name.
    """
    found = getattr(nnkit, device_type, None)
    if found is None:
        raise RuntimeError(f"Device '{device_type}' does not have a corresponding module")
    return found


def _is_privateuse1_backend_available() -> bool:
    """Whether a device of another maker is there: False."""
    return False
