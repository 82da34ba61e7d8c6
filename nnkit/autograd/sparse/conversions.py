"""From one layout to another: `Tensor.to_sparse` and its kin."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.sparse.compressed import CLASSES, CompressedTensor, compressed, to_coordinates
from nnkit.autograd.sparse.coordinates import CoordinateTensor, from_dense
from nnkit.autograd.sparse.indexing import sparse_mask
from nnkit.autograd.sparse.table import FUNCTIONS
from nnkit.autograd.sparse.tensor import SparseTensor
from nnkit.autograd.tensor import Tensor
from nnkit.backend.memory import layout, sparse_coo


def to_sparse(x: Any, sparse_dim: Any, wanted: Any, blocksize: Any) -> SparseTensor:
    """A tensor of any layout in another one; see `nnkit.Tensor.to_sparse`."""
    if isinstance(sparse_dim, layout):
        sparse_dim, wanted = None, sparse_dim
    wanted = sparse_coo if wanted is None else wanted
    if wanted is not sparse_coo and wanted not in CLASSES:
        raise RuntimeError(f"to_sparse(): expected a sparse layout, got {wanted}")
    if sparse_dim is not None and (wanted is not sparse_coo or isinstance(x, SparseTensor)):
        raise RuntimeError(
            f"to_sparse: conversion from {x.layout} to {wanted} with sparse_dim argument "
            f"({sparse_dim}) is not supported"
        )
    if wanted is not sparse_coo:
        return compressed(x, wanted, blocksize)
    if isinstance(x, CoordinateTensor):
        return x
    if isinstance(x, CompressedTensor):
        return to_coordinates(x)
    dims = x.ndim if sparse_dim is None else sparse_dim
    if not min(x.ndim, 1) <= dims <= x.ndim:
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [{min(x.ndim, 1)},{x.ndim}] range, "
            f"but {dims} is given"
        )
    return from_dense(x, dims)


def masked(x: Tensor, mask: Any) -> SparseTensor:
    """The elements of a tensor that a sparse mask stores; see `nnkit.Tensor.sparse_mask`."""
    if not isinstance(mask, SparseTensor):
        raise RuntimeError(f"sparse_mask(): expected a sparse mask, got layout {mask.layout}")
    return (type(mask).functions.get("sparse_mask", sparse_mask))(x, mask)


def _enter() -> None:
    def convert(input: Any, sparse_dim: Any = None, *, layout: Any = None, blocksize: Any = None,
                dense_dim: Any = None) -> Any:  # fmt: skip
        return to_sparse(input, sparse_dim, layout, blocksize)

    for table in (FUNCTIONS, *(kind.functions for kind in CLASSES.values())):
        table["to_sparse"] = convert
        table["to_sparse_coo"] = lambda input: to_sparse(input, None, None, None)
        for kind in CLASSES:
            table[f"to_{kind.name}"] = lambda input, blocksize=None, dense_dim=None, of=kind: (
                to_sparse(input, None, of, blocksize)
            )


_enter()
