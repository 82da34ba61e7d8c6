"""What the gradient of an embedding is, over the algebra."""

from __future__ import annotations

import math


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
