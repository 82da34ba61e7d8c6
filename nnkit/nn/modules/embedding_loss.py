"""Losses as layers: those that pull similar things together and push others apart."""

from __future__ import annotations

from collections.abc import Callable

from nnkit.autograd import Tensor
from nnkit.nn import functional as F
from nnkit.nn.modules.loss import _Loss

__all__ = [
    "CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip


class _MarginLoss(_Loss):
    """A loss with a margin of its own.

    Args:
        margin: see the class.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
    """

    margin: float

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        margin: from what distance on dissimilar things cost nothing.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Input and target have the same shape.

    >>> import nnkit
    >>> nnkit.nn.HingeEmbeddingLoss()(nnkit.tensor([0.25]), nnkit.tensor([-1.0]))
    tensor(0.7500)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """``max(0, margin - target * (input1 - input2))`` of two scores and a target 1 or -1.

    Args:
        margin: by how much one score is to exceed the other.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Inputs and target have the same shape.

    >>> import nnkit
    >>> a, b, y = nnkit.tensor([1.0]), nnkit.tensor([3.0]), nnkit.tensor([1.0])
    >>> nnkit.nn.MarginRankingLoss()(a, b, y)
    tensor(2.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CosineEmbeddingLoss(_MarginLoss):
    """``1 - cos`` of two vectors where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Args:
        margin: from what cosine on dissimilar vectors cost something.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        inputs (N, D) and target (N,), or inputs (D,) and target ().

    >>> import nnkit
    >>> a, b = nnkit.tensor([1.0, 0.0]), nnkit.tensor([0.0, 1.0])
    >>> nnkit.nn.CosineEmbeddingLoss()(a, b, nnkit.tensor(1))
    tensor(1.)
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


def _check_margin(name: str, margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"{name}: expected margin to be greater than 0, got {margin}")


class TripletMarginLoss(_Loss):
    """``max(0, margin + |anchor - positive| - |anchor - negative|)``.

    Args:
        margin: by how much farther the negative is to be, greater than 0.
        p: the norm of the distance.
        eps: added to each difference.
        swap: take the distance between positive and negative where that is smaller.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        (N, D) or (D,).

    Raises:
        ValueError: ``margin`` is 0 or less.

    >>> import nnkit
    >>> a, p, n = nnkit.zeros(1, 2), nnkit.zeros(1, 2), nnkit.tensor([[0.0, 0.5]])
    >>> nnkit.nn.TripletMarginLoss()(a, p, n)
    tensor(0.5000)
    """

    margin: float
    p: float
    eps: float
    swap: bool

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin("TripletMarginLoss", margin)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps,
            swap=self.swap, reduction=self.reduction,
        )  # fmt: skip


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with a distance of one's own.

    Args:
        distance_function: of two tensors; the Euclidean one by default.
        margin: by how much farther the negative is to be, greater than 0.
        swap: take the distance between positive and negative where that is smaller.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        (N, D) or (D,).

    Raises:
        ValueError: ``margin`` is 0 or less.

    >>> import nnkit
    >>> loss = nnkit.nn.TripletMarginWithDistanceLoss(
    ...     distance_function=lambda x, y: (x - y).abs().sum(-1))
    >>> loss(nnkit.zeros(1, 2), nnkit.ones(1, 2), nnkit.ones(1, 2))
    tensor(1.)
    """

    margin: float
    swap: bool

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(None, None, reduction)
        _check_margin("TripletMarginWithDistanceLoss", margin)
        self.distance_function = distance_function or F.pairwise_distance
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function,
            margin=self.margin, swap=self.swap, reduction=self.reduction,
        )  # fmt: skip
