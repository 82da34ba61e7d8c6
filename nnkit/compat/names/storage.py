"""torch.storage: the classes of storages by dtype."""

from __future__ import annotations

import io
from typing import Any

from nnkit.autograd.ops.creation.conversion import TYPE_NAMES
from nnkit.autograd.surface.storage import UntypedStorage, storage_name
from nnkit.backend.dtype import DTYPES


class StorageBase(UntypedStorage):
    """What classes of storages are derived from; none is made of it alone."""

    def __new__(cls, *given: Any, **options: Any) -> Any:
        if cls is StorageBase:
            raise RuntimeError("Cannot directly construct StorageBase; subclass it")
        return super().__new__(cls)


def _storage_type_to_dtype_map() -> dict[str, Any]:
    """The dtypes by the names of their classes of storages."""
    return {name: kind for kind, name in _dtype_to_storage_type_map().items()}


def _dtype_to_storage_type_map() -> dict[Any, str]:
    """The names of the classes of storages by dtype."""
    return {DTYPES[kind]: storage_name(DTYPES[kind]) for kind in TYPE_NAMES}


def _load_from_bytes(b: bytes) -> Any:
    """What a file of ``torch.save`` holds; pickles of torch's storages are made of it."""
    from nnkit import load

    return load(io.BytesIO(b), weights_only=False)
