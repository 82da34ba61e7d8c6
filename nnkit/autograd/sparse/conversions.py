"""Conversions between layouts: `Tensor.to_sparse` and its relatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnkit.autograd.sparse.compressed import CLASSES, CompressedTensor, compressed, to_coordinates
from nnkit.autograd.sparse.coordinates import CoordinateTensor, from_dense
from nnkit.autograd.sparse.copying import empty
from nnkit.autograd.sparse.indexing import sparse_mask
from nnkit.autograd.sparse.table import FUNCTIONS
from nnkit.autograd.sparse.tensor import SparseTensor
from nnkit.autograd.tensor import Tensor
from nnkit.backend.memory import layout, sparse_coo, strided


def to_sparse(
    x: Any, sparse_dim: Any, wanted: Any = None, blocksize: Any = None, dense_dim: Any = None
) -> Any:
    """A tensor of any layout in another one; see `nnkit.Tensor.to_sparse`."""
    if isinstance(sparse_dim, layout):
        sparse_dim, wanted = None, sparse_dim
    wanted = sparse_coo if wanted is None else wanted
    _check_conversion(x, wanted, sparse_dim, blocksize, dense_dim)
    if wanted is strided:
        return x.to_dense()
    if wanted is not sparse_coo:
        return compressed(x, wanted, blocksize, dense_dim)
    if isinstance(x, CoordinateTensor):
        return x
    if isinstance(x, CompressedTensor):
        return to_coordinates(x)
    dims = x.ndim - (dense_dim or 0) if sparse_dim is None else sparse_dim
    if not min(x.ndim, 1) <= dims <= x.ndim:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [{min(x.ndim, 1)},{x.ndim}] range, "
            f"but {dims} is given"
        )
    return from_dense(x, dims)


def _check_conversion(
    x: Any, wanted: layout, sparse_dim: Any, blocksize: Any, dense_dim: Any
) -> None:
    """RuntimeError for arguments that a conversion to a layout does not take."""
    change = f"to_sparse: conversion from {x.layout.kind} to {wanted.kind}"
    blocked = wanted in CLASSES and CLASSES[wanted].blocked
    if blocksize is not None:
        size = (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)
        if len(size) != 2:
            raise RuntimeError(
                f"to_sparse: blocksize needs to be a tuple of size 2, but got {len(size)}"
            )
        if not blocked:
            raise RuntimeError(f"{change} with blocksize argument given is not supported")
        if x.layout is wanted and size != x.block():
            raise RuntimeError(
                f"{change} with blocksize changed from {list(x.block())} to {list(size)} is not "
                "supported"
            )
    elif blocked:
        raise RuntimeError(f"{change} without blocksize argument given is not supported")
    if dense_dim is not None and isinstance(x, SparseTensor):
        raise RuntimeError(f"{change} with dense_dim argument given is not supported")
    if sparse_dim is not None and (wanted is not sparse_coo or isinstance(x, SparseTensor)):
        known = x.sparse_dim() if isinstance(x, SparseTensor) else None
        if wanted is not sparse_coo or sparse_dim != known:
            raise RuntimeError(
                f"{change} with sparse_dim argument !=self.sparse_dim() is not supported: got "
                f"{sparse_dim}, and self has {known}"
            )


def without_elements(shape: Sequence[int], wanted: layout, dtype: Any, device: Any) -> Any:
    """The tensor of a sparse layout that stores no element.

    Raises:
        RuntimeError: the layout is one of blocks, or the shape that of no matrix.
    """
    out = empty(shape, len(shape), dtype, device)
    if wanted is sparse_coo:
        return out
    if CLASSES[wanted].blocked:
        raise RuntimeError(
            "empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got "
            f"{wanted.kind}"
        )
    if len(shape) < 2:
        raise RuntimeError(
            "torch.empty: Only batched sparse compressed (non-block) tensors are supported, but "
            f"got size {list(shape)}"
        )
    return compressed(out, wanted, batches=len(shape) - 2)


def masked(x: Tensor, mask: Any) -> SparseTensor:
    """The elements of a tensor at the indices of a sparse mask; see `nnkit.Tensor.sparse_mask`."""
    if not isinstance(mask, SparseTensor):
        raise RuntimeError(f"sparse_mask(): expected a sparse mask, got layout {mask.layout}")
    return (type(mask).functions.get("sparse_mask", sparse_mask))(x, mask)


def _enter() -> None:
    def convert(input: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
                dense_dim: Any = None) -> Any:  # fmt: skip
        return to_sparse(input, sparse_dim, layout, blocksize, dense_dim)

    for table in (FUNCTIONS, *(kind.functions for kind in CLASSES.values())):
        table["to_sparse"] = convert
        table["to_sparse_coo"] = lambda input: to_sparse(input, None)
        for kind in CLASSES:
            table[f"to_{kind.name}"] = lambda input, blocksize=None, dense_dim=None, of=kind: (
                to_sparse(input, None, of, blocksize, dense_dim)
            )


_enter()
