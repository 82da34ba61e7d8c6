"""Reductions and softmax of sparse tensors, over the elements that they store."""

from __future__ import annotations

from typing import Any

from nnkit.autograd.arguments.dims import normalize_dim
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.sparse.coordinates import CoordinateTensor, coalesce, to_dense
from nnkit.autograd.sparse.shape import numel, unsqueeze
from nnkit.autograd.sparse.table import defines


def total(input: CoordinateTensor, dim: Any = None, dtype: Any = None) -> Any:
    """The sum along some dimensions, sparse as long as a sparse dimension is left."""
    if dim is None:
        return input.stored().sum(dtype=dtype)
    input = coalesce(input)
    values = input.stored()
    values = values if dtype is None else values.to(dtype)
    dims = sorted(normalize_dim(d, input.ndim, "sum") for d in _listed(dim))
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    sparse = input.sparse_dims
    dense = [d - sparse + 1 for d in dims if d >= sparse]
    values = values.sum(dense) if dense else values
    kept = [d for d in range(sparse) if d not in dims]
    if not kept:
        return values.sum(0)
    shape = [n for d, n in enumerate(input._shape) if d not in dims]
    whole = len(kept) == sparse
    return coalesce(CoordinateTensor.of(input._coordinates[kept], values, shape, whole))


def _listed(dim: Any) -> list[int]:
    return [dim] if isinstance(dim, int) else list(dim)


@defines("sum")
def sum_of(input: CoordinateTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None):
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = PUBLIC["tensor"](0).dtype
    out = total(input, dim, dtype)
    if not keepdim or dim is None:
        return out
    for d in sorted(normalize_dim(d, input.ndim, "sum") for d in _listed(dim)):
        out = unsqueeze(out, d) if isinstance(out, CoordinateTensor) else out.unsqueeze(d)
    return out


defines("any")(lambda input: coalesce(input).stored().any())


@defines("norm")
def norm(input: CoordinateTensor, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype=None):
    if dim is not None and len(_listed(dim)) not in (0, input.ndim):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty "
            "or contain all dimensions of the input"
        )
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    if dtype is not None and p == "fro":
        raise ValueError("dtype argument is not supported in frobenius norm")
    if dtype is not None:
        raise RuntimeError("norm_sparse currently does not support 'dtype' argument")
    return coalesce(input).stored().reshape(-1).norm(p)


@defines("item")
def item(input: CoordinateTensor) -> Any:
    if numel(input) != 1:
        raise RuntimeError(f"a Tensor with {numel(input)} elements cannot be converted to Scalar")
    return to_dense(input).item()


@defines("is_nonzero", "_bool", "__bool__")
def is_nonzero(input: CoordinateTensor) -> bool:
    if numel(input) != 1:
        what = "more than one value" if numel(input) else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(item(input))


def softmax(input: CoordinateTensor, dim: int, dtype: Any = None, log: bool = False) -> Any:
    """The softmax along a dimension, where what is not stored counts as minus infinity."""
    x = coalesce(input)
    dim = normalize_dim(dim, x.ndim, "softmax")
    values = x.stored() if dtype is None else x.stored().to(dtype)
    if dim >= x.sparse_dims:
        function = PUBLIC["log_softmax" if log else "softmax"]
        return x.like(function(values, dim - x.sparse_dims + 1))
    _, group = x.flat([d for d in range(x.sparse_dims) if d != dim]).unique(return_inverse=True)
    count = group.shape[0]
    which = group.reshape(-1, *[1] * (values.ndim - 1)).expand_as(values)
    low = values.detach().new_full(values.shape, float("-inf"))
    highest = low.scatter_reduce(0, which, values.detach(), "amax")
    shifted = values - highest[group]
    sums = values.new_zeros((count, *values.shape[1:])).index_add(0, group, shifted.exp())
    return x.like(shifted - sums.log()[group] if log else shifted.exp() / sums[group])
