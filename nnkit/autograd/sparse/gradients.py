"""Sparse gradients: those of a leaf of which an operation has read some rows or elements.

Such a gradient passes through backward as a sparse tensor, and only to a leaf: what an operation
gets is made strided.
"""

from __future__ import annotations

from typing import Any

from nnkit.autograd.function import Function
from nnkit.autograd.op.public import PUBLIC
from nnkit.autograd.sparse.coordinates import CoordinateTensor
from nnkit.autograd.tensor import Tensor
from nnkit.backend.program.outside import break_off


class Embedding(Function):
    """`nnkit.embedding` of a leaf, whose gradient is sparse."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, index: Tensor, padding: int) -> Tensor:
        ctx.save_for_backward(index)
        ctx.shape, ctx.padding = weight.shape, padding
        return PUBLIC["embedding"](weight, index, padding)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        (index,) = ctx.saved_tensors
        index = index.reshape(-1).long().clone()  # the program may write into its own
        values = grad.reshape(index.numel(), ctx.shape[1]).contiguous()  # it will be written
        if ctx.padding >= 0:
            kept = (index != ctx.padding).nonzero()[:, 0]
            index, values = index[kept], values[kept]
        return CoordinateTensor.of(index[None], values, ctx.shape), None, None


class Gather(Function):
    """`nnkit.gather` of a leaf, whose gradient is sparse."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, dim: int, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.shape, ctx.dim = input.shape, dim
        return PUBLIC["gather"](input, dim, index)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        (index,) = ctx.saved_tensors
        if not ctx.shape:
            rows = index.new_zeros((0, index.numel()))
        elif not index.ndim:
            rows = index.reshape(1, 1).clone()
        else:
            place = [PUBLIC["arange"](n, device=index.device) for n in index.shape]
            rows = list(PUBLIC["meshgrid"](*place, indexing="ij"))
            rows[ctx.dim] = index
            rows = PUBLIC["stack"]([r.reshape(-1) for r in rows])
        return CoordinateTensor.of(rows, grad.reshape(-1).contiguous(), ctx.shape), None, None


def embedding(weight: Tensor, index: Tensor, padding: int) -> Tensor:
    """`nnkit.embedding` of a leaf, whose gradient stores the rows that were read."""
    break_off("a sparse gradient")
    return Embedding.apply(weight, index, padding)


def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """`nnkit.gather` of a leaf, whose gradient stores the elements that were read."""
    break_off("a sparse gradient")
    return Gather.apply(input, dim, index)
