"""Sizes of sparse tensors, transposed and permuted ones, and joining."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nnkit.autograd.arguments.dims import normalize_dim
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.sparse.coordinates import CoordinateTensor
from nnkit.autograd.sparse.table import FUNCTIONS, defines
from nnkit.autograd.sparse.tensor import SparseTensor
from nnkit.autograd.tensor import Tensor


@defines("size")
def size(input: SparseTensor, dim: int | None = None) -> Any:
    return input._shape if dim is None else input._shape[normalize_dim(dim, input.ndim, "size")]


@defines("numel", "nelement")
def numel(input: SparseTensor) -> int:
    return input._shape.numel()


defines("dim", "ndimension")(lambda input: input.ndim)


@defines("stride")
def stride(input: CoordinateTensor, dim: int | None = None) -> Any:
    return (0,) * input.ndim if dim is None else 0


@defines("storage_offset")
def storage_offset(input: SparseTensor) -> int:
    return 0


@defines("is_contiguous")
def is_contiguous(input: CoordinateTensor, memory_format: Any = None) -> bool:
    return False


@defines("is_same_size")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    return input.shape == other.shape


@defines("transpose", "swapaxes", "swapdims")
def transpose(input: CoordinateTensor, dim0: int, dim1: int) -> CoordinateTensor:
    first, second = (normalize_dim(d, input.ndim, "transpose") for d in (dim0, dim1))
    if first == second:
        return input.like(input.stored())
    order = list(range(input.ndim))
    order[first], order[second] = order[second], order[first]
    sparse = input.sparse_dims
    if first >= sparse or second >= sparse:
        raise RuntimeError(
            "sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
            f"{sparse}, d0: {first}, d1: {second}"
        )
    return permute(input, order)


@defines("permute")
def permute(input: CoordinateTensor, *given: Any, dims: Any = None) -> CoordinateTensor:
    given = given if dims is None else (dims,)
    given = given[0] if len(given) == 1 and not isinstance(given[0], int) else given
    order = [normalize_dim(d, input.ndim, "permute") for d in given]
    if len(order) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {input.ndim} is not "
            f"equal to len(dims) = {len(order)}"
        )
    if len(set(order)) < len(order):
        raise RuntimeError(f"permute(): duplicate dims are not allowed, got {tuple(given)}")
    sparse = input.sparse_dims
    if max(order[:sparse], default=-1) >= sparse:
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
            "allowed."
        )
    values = input.stored()
    if order[sparse:] != list(range(sparse, input.ndim)):
        values = values.permute(0, *(d - sparse + 1 for d in order[sparse:]))
    same = order[:sparse] == list(range(sparse))
    rows = input._coordinates if same else input._coordinates[order[:sparse]]
    shape = [input._shape[d] for d in order]
    ascending = input._coalesced and (same or not input._nnz())
    return CoordinateTensor.of(rows, values, shape, ascending)


def movedim(input: CoordinateTensor, source: Any, destination: Any) -> CoordinateTensor:
    froms = [source] if isinstance(source, int) else list(source)
    tos = [destination] if isinstance(destination, int) else list(destination)
    froms = [normalize_dim(d, input.ndim, "movedim") for d in froms]
    tos = [normalize_dim(d, input.ndim, "movedim") for d in tos]
    order = [d for d in range(input.ndim) if d not in froms]
    for to, source_dim in sorted(zip(tos, froms, strict=True)):
        order.insert(to, source_dim)
    return permute(input, order)


defines("movedim", "moveaxis")(movedim)


@defines("t", "adjoint")
def t(input: CoordinateTensor) -> CoordinateTensor:
    if input.sparse_dims > 2 or input.ndim > input.sparse_dims:
        raise RuntimeError(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{input.sparse_dims} sparse and {input.dense_dims} dense dimensions"
        )
    return transpose(input, 0, 1) if input.ndim == 2 else input.like(input.stored())


for _name in ("transpose", "t"):

    def _turn(input: Any, *dims: int, of: Callable = FUNCTIONS[_name]) -> Any:
        return input._become(of(input, *dims))

    defines(f"{_name}_")(_turn)


@defines("unsqueeze")
def unsqueeze(input: CoordinateTensor, dim: int) -> CoordinateTensor:
    dim = normalize_dim(dim, input.ndim + 1, "unsqueeze")
    sparse, rows, values = input.sparse_dims, input._coordinates, input.stored()
    shape = [*input._shape[:dim], 1, *input._shape[dim:]]
    if dim > sparse:
        return CoordinateTensor.of(rows, values.unsqueeze(dim - sparse + 1), shape)
    zeros = rows.new_zeros((1, rows.shape[1]))
    return CoordinateTensor.of(PUBLIC["cat"]([rows[:dim], zeros, rows[dim:]]), values, shape)


@defines("cat", "concat", "concatenate")
def cat(tensors: Sequence, dim: int = 0, **options: Any) -> CoordinateTensor:
    first = tensors[0]
    for position, x in enumerate(tensors):
        if not isinstance(x, CoordinateTensor):
            raise RuntimeError(
                "Concatenating sparse tensors, but a dense tensor was found at position "
                f"{position}."
            )
        if x.ndim == first.ndim and x.sparse_dims != first.sparse_dims:
            raise RuntimeError(
                f"All tensors must have the same sparse_dim and dense_dim: {first.sparse_dims}, "
                f"{first.dense_dims}, but tensor at position {position} has "
                f"{x.sparse_dims}, {x.dense_dims}."
            )
        dim = normalize_dim(dim, first.ndim, "cat")
        if x.ndim != first.ndim or any(
            n != m for d, (n, m) in enumerate(zip(x.shape, first.shape)) if d != dim
        ):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the "
                f"concatenating dimension), but found shape: {list(x.shape)} at position "
                f"{position}."
            )
    shape, sparse = list(first._shape), first.sparse_dims
    shape[dim] = 0
    for x in tensors:
        shape[dim] += x._shape[dim]
    rows, values, start = [], [], 0
    for x in tensors:
        found, part = x._coordinates, x.stored()
        if dim < sparse:
            found = PUBLIC["cat"]([found[:dim], found[dim : dim + 1] + start, found[dim + 1 :]])
        else:
            sides = list(part.shape)
            before, after = list(sides), list(sides)
            axis = dim - sparse + 1
            before[axis], after[axis] = start, shape[dim] - start - x._shape[dim]
            part = PUBLIC["cat"]([part.new_zeros(before), part, part.new_zeros(after)], axis)
        rows.append(found)
        values.append(part)
        start += x._shape[dim]
    return CoordinateTensor.of(PUBLIC["cat"](rows, 1), PUBLIC["cat"](values), shape)


@defines("stack")
def stack(tensors: Sequence, dim: int = 0) -> CoordinateTensor:
    return cat([unsqueeze(x, dim) for x in tensors], dim)
