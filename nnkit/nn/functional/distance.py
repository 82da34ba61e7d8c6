"""Distances and angles between vectors, and vectors of length 1."""

from __future__ import annotations

from collections.abc import Sequence

from nnkit.autograd import Tensor
from nnkit.autograd.op.out import Out, write_out
from nnkit.autograd.op.promotion import scalar
from nnkit.autograd.ops.linalg.distance import cosine_similarity, pairwise_distance, pdist
from nnkit.autograd.ops.reduction.vector_norm import vector_norm

__all__ = ["cosine_similarity", "normalize", "pairwise_distance", "pdist"]


def normalize(
    input: Tensor,
    p: float | None = 2.0,
    dim: int | Sequence[int] | None = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """``input / max(|input|, eps)``, with the p-norm along ``dim``.

    Args:
        input: floating point, of any shape.
        p: the norm.
        dim: a dimension, or several.
        eps: keeps the quotient finite.
        out: the result is written here, without derivatives.

    Raises:
        IndexError: ``dim`` is out of range.
        RuntimeError: ``input`` is not floating point.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.normalize(nnkit.tensor([[3.0, 4.0]]))
        tensor([[0.6000, 0.8000]])
    """
    result = input / vector_norm(
        "normalize", input, scalar(2.0 if p is None else p), dim, True
    ).clamp_min(eps)
    return result if out is None else write_out(out, result, "normalize", Out(checks_first=True))
