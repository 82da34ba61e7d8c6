"""Indexing of sparse tensors: slices, elements by index, the elements at a mask's indices."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import normalize_dim
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.sparse.coordinates import (
    CoordinateTensor,
    added,
    coalesce,
    find_indices,
    pairs_of_equal,
    to_dense,
)
from nnkit.autograd.sparse.table import defines
from nnkit.autograd.tensor import Tensor


@defines("select")
def select(input: CoordinateTensor, dim: int, index: int) -> Any:
    dim = normalize_dim(dim, input.ndim, "select")
    size = input._shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at "
            f"dimension {dim}"
        )
    index %= size
    sparse, values = input.sparse_dims, input.stored()
    shape = [n for d, n in enumerate(input._shape) if d != dim]
    if dim >= sparse:
        return CoordinateTensor.of(
            input._coordinates, values.select(dim - sparse + 1, index), shape, input._coalesced
        )
    kept = (input._coordinates[dim] == index).nonzero()[:, 0]
    values = values[kept]
    if sparse == 1:
        return added(values) if values.shape[0] != 1 else values[0]
    rows = [d for d in range(sparse) if d != dim]
    return CoordinateTensor.of(input._coordinates[rows][:, kept], values, shape)


@defines("index_select")
def index_select(input: CoordinateTensor, dim: int, index: Tensor) -> CoordinateTensor:
    dim = normalize_dim(dim, input.ndim, "index_select")
    sparse, values, rows = input.sparse_dims, input.stored(), input._coordinates
    shape = list(input._shape)
    size, shape[dim] = shape[dim], index.numel()
    if index.numel() and not bool(((index >= -size) & (index < size)).all()):
        raise IndexError(f"index_select(): index out of range for dimension {dim} of size {size}")
    index = PUBLIC["where"](index < 0, index + size, index)
    if dim >= sparse:
        values = values.index_select(dim - sparse + 1, index)
        return CoordinateTensor.of(rows, values, shape, input._coalesced)
    order = rows[dim].argsort(stable=True)
    to, source = pairs_of_equal(index, rows[dim][order])
    source = order[source]
    found = rows[:, source]
    found = PUBLIC["cat"]([found[:dim], to[None], found[dim + 1 :]])
    return CoordinateTensor.of(found, values[source], shape)


@defines("narrow_copy")
def narrow_copy(input: CoordinateTensor, dim: int, start: int, length: int) -> CoordinateTensor:
    sparse, shape = input.sparse_dims, list(input._shape)
    if not shape:
        raise RuntimeError("narrow_copy(): narrow() cannot be applied to a 0-dim tensor.")
    if not 0 <= dim < input.ndim:
        raise RuntimeError(
            f"narrow_copy(): Dimension {dim} out of range. Expecting 0 <= dim < {input.ndim}."
        )
    if not 0 <= start <= start + length <= shape[dim]:
        raise RuntimeError(
            f"narrow_copy(): Invalid range to narrow. range(start, start+length) must be a subset "
            f"of range(0, {shape[dim]}), got {start} and {length}."
        )
    shape[dim] = length
    if dim >= sparse:
        values = input.stored().narrow(dim - sparse + 1, start, length)
        return CoordinateTensor.of(input._coordinates, values, shape, input._coalesced)
    along = input._coordinates[dim]
    kept = ((along >= start) & (along < start + length)).nonzero()[:, 0]
    rows = input._coordinates[:, kept].clone()
    rows[dim] -= start
    return CoordinateTensor.of(rows, input.stored()[kept], shape, input._coalesced)


@defines("unbind")
def unbind(input: CoordinateTensor, dim: int = 0) -> tuple:
    dim = normalize_dim(dim, input.ndim, "unbind")
    return tuple(select(input, dim, i) for i in range(input._shape[dim]))


@defines("__iter__", "iterate")
def iterate(input: CoordinateTensor) -> Any:
    return iter(unbind(input))


@defines("getitem", "__getitem__")
def getitem(input: CoordinateTensor, index: Any) -> Any:
    out: Any = input
    at = 0
    parts = index if isinstance(index, tuple) else (index,)
    consumed = len([p for p in parts if p is not None and p is not Ellipsis])
    if consumed > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim}")
    for part in parts:
        if part is Ellipsis:
            at += input.ndim - consumed
        elif part is None:
            out, at = out.unsqueeze(at), at + 1
        elif isinstance(part, int) and not isinstance(part, bool):
            out = out.select(at, part)
        elif isinstance(part, slice) and part == slice(None):
            at += 1
        else:
            raise NotImplementedError(
                "a tensor of layout nnkit.sparse_coo can be indexed only by integers, None and "
                "':': use index_select() for several indices"
            )
    return out


@defines("sparse_mask")
def sparse_mask(input: Tensor, mask: Any) -> CoordinateTensor:
    """The elements of ``input`` at the indices that ``mask`` stores."""
    if input.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(input.shape)} "
            f"but mask has size {list(mask.shape)}"
        )
    if input is mask:
        return mask.like(mask.stored().clone())
    if isinstance(input, CoordinateTensor) and input.sparse_dims == mask.sparse_dims:
        known = coalesce(input)
        where, found = find_indices(mask, known)
        values = known.stored()
        values = values[where] if len(values) else values.new_zeros((len(found), *values.shape[1:]))
        missing = ~found.reshape(-1, *[1] * (values.ndim - 1))
        return mask.like(values.masked_fill(missing, 0))
    dense = to_dense(input) if isinstance(input, CoordinateTensor) else input
    if not mask.sparse_dims:
        return mask.like(dense[None])
    return mask.like(dense[mask.at()])


defines("_sparse_mask_projection")(sparse_mask)
CoordinateTensor._sparse_mask_projection = sparse_mask  # type: ignore[attr-defined]
