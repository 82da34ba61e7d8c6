"""What libraries use of torch's private helpers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nnkit


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
