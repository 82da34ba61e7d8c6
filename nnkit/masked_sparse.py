"""The functions of `nnkit.masked` on sparse tensors, by coordinates and by compressed rows.

What a mask lets through of a sparse tensor is a sparse tensor that stores just that, zeros
included; what it does not store counts for nothing in a reduction. So the result, sparse too,
stores nothing where nothing is let through.
"""

from __future__ import annotations

import math
from typing import Any

import nnkit
from nnkit.autograd import Tensor
from nnkit.autograd.sparse.coordinates import CoordinateTensor, broadcast, coalesce

LAYOUTS = (nnkit.strided, nnkit.sparse_coo, nnkit.sparse_csr)


def mask_of(input: Tensor, mask: Any) -> Tensor:
    """The mask in the shape and the layout of the input, as booleans.

    Raises:
        ValueError: the input is of another layout than those that masks are defined for.
    """
    if input.layout not in LAYOUTS:
        raise ValueError(
            f"masked: expected a strided, sparse COO or sparse CSR tensor, got {input.layout}"
        )
    mask = mask.to(nnkit.bool)
    if mask.layout is nnkit.strided:
        mask = mask.broadcast_to(input.shape)
    elif mask.shape != input.shape:
        mask = broadcast(mask.to_sparse_coo(), input.shape)
    if mask.layout is input.layout:
        return mask
    if input.layout is nnkit.strided:
        return mask.to_dense()
    if input.layout is nnkit.sparse_csr:
        return mask.to_sparse_csr()
    return mask.to_sparse(input.sparse_dim()) if mask.layout is nnkit.strided else mask.to_sparse()


def identity(input: Tensor, number: float) -> Tensor:
    """A number in the input's dtype: -1 and 1 times infinity are its lowest and highest ones.

    Raises:
        NotImplementedError, TypeError: the dtype, bool or a complex one, has none.
    """
    if math.isinf(number) and not input.is_floating_point():
        if input.is_complex() or input.dtype is nnkit.bool:
            error = TypeError if input.is_complex() else NotImplementedError
            raise error(f"masked: there is no lowest or highest number of {input.dtype}")
        limits = nnkit.iinfo(input.dtype)
        number = limits.min if number < 0 else limits.max
    return nnkit.tensor(number, dtype=input.dtype, device=input.device)


def filled(input: Tensor, mask: Any, fill: Tensor) -> Tensor:
    """What the mask lets through; in its dense dimensions ``fill`` stands for the rest."""
    if input.layout is nnkit.sparse_csr:
        return filled(input.to_sparse_coo(), mask.to_sparse_coo(), fill).to_sparse_csr()
    known = coalesce(mask)
    values = known.values()
    through = values.flatten(1).any(1) if values.ndim > 1 else values
    values = values[through]
    kept = CoordinateTensor.of(known.indices()[:, through], values, input.shape, True)
    found: Any = input.sparse_mask(kept)
    return found.like(nnkit.where(values, found.values(), fill))


def reduced(
    name: str, input: Tensor, dims: tuple[int, ...], keepdim: bool, dtype: Any = None
) -> Tensor:
    """A reduction of what is stored.

    Args:
        name: ``sum``, ``prod``, ``mean``, ``amax`` or ``amin``.

    Raises:
        RuntimeError, AssertionError: compressed rows are reduced without ``keepdim``.
    """
    rows = input.layout is nnkit.sparse_csr
    if rows and not keepdim:
        error = RuntimeError if name in ("sum", "prod") else AssertionError
        raise error("reduction operations on CSR tensors with keepdim=False is unsupported")
    coordinates: Any = input.to_sparse_coo() if rows else input
    x = coalesce(coordinates)
    indices, values, sparse = x.indices(), x.values().to(dtype or input.dtype), x.sparse_dim()
    dense = [d - sparse + 1 for d in dims if sparse <= d < x.ndim]  # a number has no dimension 0
    for d in reversed(dense):
        values = getattr(nnkit, name)(values, d, keepdim=keepdim)
    shape = [1 if d in dims else n for d, n in enumerate(x.shape) if keepdim or d not in dims]
    lost = [d for d in dims if d < sparse]
    if not rows and len(lost) == sparse:
        return _total(name, values).reshape(shape).to_sparse()
    if keepdim:
        indices = indices.clone()
        indices[lost] = 0
    else:
        indices = indices[[d for d in range(sparse) if d not in dims]]
    if values.shape[0]:
        indices, group = nnkit.unique(indices, return_inverse=True, dim=1)
        out = values.new_zeros((indices.shape[1], *values.shape[1:]))
        group = group.reshape(-1, *[1] * (values.ndim - 1)).expand_as(values)
        values = out.scatter_reduce(0, group, values, name, include_self=False)
    made = CoordinateTensor.of(indices, values, shape, True)
    return made.to_sparse_csr() if rows else made


def _total(name: str, values: Tensor) -> Tensor:
    """All values as one; what is lowest or highest of none is the limit of the dtype."""
    if name not in ("amax", "amin") or values.shape[0]:
        return getattr(nnkit, name)(values, 0)
    limit = identity(values, -math.inf if name == "amax" else math.inf)
    return limit.expand(values.shape[1:])
