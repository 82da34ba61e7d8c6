"""Losses that pull similar things together and push others apart."""

from __future__ import annotations

from collections.abc import Callable

from nnkit.autograd import Tensor
from nnkit.autograd.ops.elementwise.bounds import clamp_min, minimum
from nnkit.autograd.ops.loss import losses as ops
from nnkit.autograd.surface.limits import fitting_beside
from nnkit.nn.functional.distance import pairwise_distance
from nnkit.nn.functional.reductions import check_reduction, legacy, reduced, reduction_of

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where ``target`` is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        input: distances of any shape.
        target: 1 (similar) or -1 (dissimilar) for each.
        margin: from what distance on dissimilar ones cost nothing.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: an unknown ``reduction``.

    Example:
        >>> import nnkit
        >>> x, y = nnkit.tensor([0.5, 0.25]), nnkit.tensor([1.0, -1.0])
        >>> nnkit.nn.functional.hinge_embedding_loss(x, y, reduction="none")
        tensor([0.5000, 0.7500])
    """
    reduction = reduction_of("hinge_embedding_loss", size_average, reduce, reduction)
    if not input.is_floating_point():
        dissimilar = clamp_min(input.new_tensor(margin) - input, 0)
        losses = dissimilar.masked_fill(target == 1, 0) + input.masked_fill(target == -1, 0)
        return reduced(losses, reduction)
    # The target is compared, no more.
    x, y = ops.broadcast_pair("hinge_embedding_loss", input, target.to(input.dtype))
    margin = fitting_beside("hinge_embedding_loss", margin, input)
    return ops.hinge_embedding_loss(x, y, reduction, margin)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` where ``target`` is 1, ``max(0, cos - margin)`` where it is -1.

    ``cos = input1 * input2 / sqrt((|input1|**2 + 1e-12) (|input2|**2 + 1e-12))``

    Args:
        input1: (N, D) or (D,).
        input2: of the same shape.
        target: 1 or -1, (N,) or ().
        margin: from what cosine on dissimilar ones cost something.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: an unknown ``reduction``.
        RuntimeError: the numbers of dimensions do not fit each other.

    Example:
        >>> import nnkit
        >>> a, b = nnkit.tensor([1.0, 0.0]), nnkit.tensor([0.0, 1.0])
        >>> nnkit.nn.functional.cosine_embedding_loss(a, b, nnkit.tensor(1))
        tensor(1.)
    """
    reduction = reduction_of("cosine_embedding_loss", size_average, reduce, reduction)
    if target.ndim > 1:
        raise RuntimeError(
            "cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not supported, "
            f"got shape {list(target.shape)}"
        )
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        raise RuntimeError(
            f"cosine_embedding_loss: {target.ndim}D target tensor expects {target.ndim + 1}D input "
            f"tensors, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}"
        )
    squares1 = (input1 * input1).sum(-1) + 1e-12
    squares2 = (input2 * input2).sum(-1) + 1e-12
    cosine = (input1 * input2).sum(-1) / (squares1 * squares2).sqrt()
    similar = (1 - cosine).masked_fill(target != 1, 0)
    dissimilar = clamp_min(cosine - float(margin), 0).masked_fill(target != -1, 0)
    return reduced(similar + dissimilar, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin + |anchor - positive| - |anchor - negative|)``.

    Balntas et al., "Learning shallow convolutional feature descriptors with triplet losses", 2016.

    Args:
        anchor: (N, D) or (D,).
        positive: of the same shape, to be near the anchor.
        negative: of the same shape, to be far from it.
        margin: by how much farther, greater than 0.
        p: the norm of the distance.
        eps: added to each difference.
        swap: take the distance between positive and negative where that is smaller.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: an unknown ``reduction``, or a ``margin`` of 0 or less.
        RuntimeError: the numbers of dimensions differ.

    Example:
        >>> import nnkit
        >>> a, p, n = nnkit.zeros(1, 2), nnkit.zeros(1, 2), nnkit.tensor([[0.0, 0.5]])
        >>> nnkit.nn.functional.triplet_margin_loss(a, p, n)
        tensor(0.5000)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce)

    def distance(x: Tensor, y: Tensor) -> Tensor:
        return pairwise_distance(x, y, p, eps)

    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=distance, margin=margin, swap=swap,
        reduction=reduction,
    )  # fmt: skip


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of one's own.

    Args:
        anchor: (N, D) or (D,).
        positive: of the same shape, to be near the anchor.
        negative: of the same shape, to be far from it.
        distance_function: of two tensors; `pairwise_distance` by default.
        margin: by how much farther, greater than 0.
        swap: take the distance between positive and negative where that is smaller.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: an unknown ``reduction``, or a ``margin`` of 0 or less.
        RuntimeError: the numbers of dimensions differ.

    Example:
        >>> import nnkit
        >>> F = nnkit.nn.functional
        >>> x, near, far = nnkit.zeros(1, 2), nnkit.zeros(1, 2), nnkit.full((1, 2), 3.0)
        >>> F.triplet_margin_with_distance_loss(x, near, far, distance_function=F.pairwise_distance)
        tensor(0.)
    """
    check_reduction("triplet_margin_loss", reduction)
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "triplet_margin_loss: anchor, positive and negative should have the same number of "
            f"dimensions, got {anchor.ndim}, {positive.ndim} and {negative.ndim}"
        )
    distance = distance_function or pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduced(clamp_min(margin + near - far, 0), reduction)
