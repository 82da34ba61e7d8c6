"""torch's private functions of sparse tensors: unchecked constructors, checks, broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import nnkit
from nnkit import Tensor

__all__ = [
    "_has_compatible_shallow_copy_type", "_sparse_broadcast_to",
    "_sparse_compressed_tensor_unsafe", "_sparse_coo_tensor_unsafe",
    "_validate_sparse_bsc_tensor_args", "_validate_sparse_bsr_tensor_args",
    "_validate_sparse_compressed_tensor_args", "_validate_sparse_coo_tensor_args",
    "_validate_sparse_csc_tensor_args", "_validate_sparse_csr_tensor_args",
]  # fmt: skip


def _sparse_broadcast_to(input: Any, size: Sequence[int]) -> Tensor:
    """A tensor of coordinates expanded to a larger size."""
    from nnkit.autograd.sparse.coordinates import broadcast

    return broadcast(input, size)


def _sparse_coo_tensor_unsafe(*parts: Any, **options: Any) -> Tensor:
    """`nnkit.sparse_coo_tensor` whose indices are not checked."""
    return nnkit.sparse_coo_tensor(*parts, **options, check_invariants=False)


def _sparse_compressed_tensor_unsafe(*parts: Any, **options: Any) -> Tensor:
    """`nnkit.sparse_compressed_tensor` whose indices are not checked."""
    return nnkit.sparse_compressed_tensor(*parts, **options, check_invariants=False)


def _validate_sparse_coo_tensor_args(
    indices: Tensor, values: Tensor, size: Sequence[int], is_coalesced: bool | None = None
) -> None:
    """RuntimeError if the arguments make no tensor of coordinates."""
    nnkit.sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=is_coalesced)


def _validate_sparse_compressed_tensor_args(
    compressed_indices: Tensor, plain_indices: Tensor, values: Tensor, size: Sequence[int],
    layout: Any,
) -> None:  # fmt: skip
    """RuntimeError if the arguments make no matrix of a layout."""
    nnkit.sparse_compressed_tensor(
        compressed_indices, plain_indices, values, size, layout=layout, check_invariants=True
    )


(
    _validate_sparse_csr_tensor_args, _validate_sparse_csc_tensor_args,
    _validate_sparse_bsr_tensor_args, _validate_sparse_bsc_tensor_args,
) = [
    partial(_validate_sparse_compressed_tensor_args, layout=each)
    for each in (nnkit.sparse_csr, nnkit.sparse_csc, nnkit.sparse_bsr, nnkit.sparse_bsc)
]  # fmt: skip


def _has_compatible_shallow_copy_type(self: Tensor, from_: Tensor) -> bool:
    """Whether a tensor could take the place of another in memory: layouts and devices agree."""
    return self.layout is from_.layout and self.device.type == from_.device.type
