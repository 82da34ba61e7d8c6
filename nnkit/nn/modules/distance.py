"""Distances and angles between vectors as layers."""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.nn import functional as F
from nnkit.nn.modules.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of ``x1 - x2 + eps`` over the last dimension.

    Args:
        p: the norm.
        eps: keeps the derivative finite where the two agree.
        keepdim: keep the last dimension with size 1.

    Shape:
        inputs (N, D) or (D,), output (N,) or ().

    >>> import nnkit
    >>> nnkit.nn.PairwiseDistance()(nnkit.tensor([[3.0, 0.0]]), nnkit.tensor([[0.0, 4.0]]))
    tensor([5.])
    """

    norm: float
    eps: float
    keepdim: bool

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """``sum(x1 * x2) / (max(|x1|, eps) * max(|x2|, eps))`` along a dimension.

    Args:
        dim: the dimension.
        eps: keeps the quotient finite.

    Shape:
        inputs of the same shape, output without ``dim``.

    >>> import nnkit
    >>> nnkit.nn.CosineSimilarity()(nnkit.tensor([[3.0, 0.0]]), nnkit.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """

    dim: int
    eps: float

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
