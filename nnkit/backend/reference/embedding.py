"""Rows of a table by index, their gradients and norms, and classes as rows of zeros and a one."""

from __future__ import annotations

import math

from nnkit.backend.dtype import int64


def embedding(B, weight, index, padding_idx, scale_grad_by_freq):
    rows = B.index_select(weight, B.reshape(index, (-1,)), 0)
    return B.reshape(rows, (*index.shape, *weight.shape[1:]))


def embedding_grad(B, g, index, count, padding_idx, scale_grad_by_freq):
    width = g.shape[-1]
    count_met = math.prod(index.shape)
    rows, index = B.reshape(g, (count_met, width)), B.reshape(index, (count_met,))
    if scale_grad_by_freq:
        ones = B.ones_like(B.sum(rows, (1,), False))
        counts = B.index_select_adjoint(ones, index, 0, (count,))
        rows = B.div(rows, B.unsqueeze(B.index_select(counts, index, 0), 1))
    if padding_idx is not None:
        kept = B.unsqueeze(B.ne(index, padding_idx), 1)
        rows = B.where(kept, rows, B.zeros_like(rows))
    return B.index_select_adjoint(rows, index, 0, (count, width))


def embedding_renorm_(B, weight, index, max_norm, norm_type):
    """Shrink the rows that are met to ``max_norm``, where they are longer."""
    index = B.reshape(index, (-1,))
    rows = B.index_select(weight, index, 0)
    norms = B.norm(rows, norm_type, (1,), True)
    scale = B.div(max_norm, B.add(norms, 1e-7))
    shrunk = B.where(B.gt(norms, max_norm), B.mul(rows, scale), rows)
    return B.index_copy_(weight, index, B.cast(shrunk, weight.dtype), 0)


def bag_sum(B, weight, index, bags, factors, count):
    """The sum of the rows of each bag of indices, each times its factor."""
    rows = B.index_select(weight, index, 0)
    if factors is not None:
        rows = B.mul(rows, B.unsqueeze(factors, 1))
    return B.index_select_adjoint(rows, bags, 0, (count, weight.shape[1]))


def bag_max(B, x, bags, count):
    """The maximum of the rows of each bag, column by column, and the row it stands in; 0 and -1
    for an empty bag. Of equal ones the first counts."""
    index, shape = B.expand(B.unsqueeze(bags, 1), x.shape), (count, x.shape[1])
    out = B.scatter_reduce(B.zeros(shape, x.dtype), index, x, 0, "amax", False)
    reached = B.logical_or(B.eq(x, B.index_select(out, bags, 0)), B.ne(x, x))
    counted = B.unsqueeze(B.arange(0, x.shape[0], 1, int64.array), 1)
    rows = B.where(reached, counted, x.shape[0])
    none = B.full(shape, -1, int64.array)
    return out, B.scatter_reduce(none, index, rows, 0, "amin", False)


def one_hot(B, index, classes):
    counted = B.arange(0, classes, 1, int64.array)
    return B.cast(B.eq(B.unsqueeze(index, -1), counted), int64.array)
