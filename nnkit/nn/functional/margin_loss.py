"""Losses with a margin: right scores are to exceed wrong ones by at least that much."""

from __future__ import annotations

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.dims import broadcast_shape
from nnkit.autograd.batch.examples import lowest
from nnkit.autograd.op.promotion import check_dtype
from nnkit.autograd.op.rule import check_constant, guarded, real_gradient
from nnkit.autograd.ops.creation.factories import zeros_like
from nnkit.autograd.ops.elementwise.activation import log_sigmoid
from nnkit.autograd.ops.elementwise.bounds import clamp_min
from nnkit.autograd.ops.elementwise.comparison import where
from nnkit.autograd.ops.loss import losses as ops
from nnkit.autograd.views.counters import without_base
from nnkit.autograd.views.writes import check_cast
from nnkit.backend.dtype import FLOATING, int64
from nnkit.nn.functional.reductions import (
    check_reduction,
    in_dtype_of,
    legacy,
    reduced,
    reduction_of,
)

__all__ = [
    "margin_ranking_loss", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "soft_margin_loss",
]  # fmt: skip


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``, without PyTorch's overflow at large scores.

    Args:
        input: scores of any shape.
        target: 1 or -1 for each.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: an unknown ``reduction``.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.soft_margin_loss(nnkit.tensor([0.0]), nnkit.tensor([1.0]))
        tensor(0.6931)
    """
    reduction = reduction_of("soft_margin_loss", size_average, reduce, reduction)
    if input.dtype.category < FLOATING:
        raise RuntimeError(f"soft_margin_loss: expected a floating-point input, got {input.dtype}")
    check_constant("soft_margin_loss", "target", target, around=True)
    if broadcast_shape("soft_margin_loss", [input.shape, target.shape]) != input.shape:
        raise RuntimeError(
            f"soft_margin_loss: target of shape {list(target.shape)} does not broadcast to the "
            f"input's shape {list(input.shape)}"
        )
    if input.is_complex():
        losses = reduced(((-input * target).exp() + 1).log(), reduction)
        return real_gradient("soft_margin_loss", losses.to(input.dtype))
    check_cast("soft_margin_loss", target.dtype, input.dtype)
    x, y = ops.broadcast_pair("soft_margin_loss", input, target)
    return in_dtype_of("soft_margin_loss", input, ops.soft_margin_loss(x, y, reduction))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin - target * (input1 - input2))``.

    Args:
        input1: scores of any shape.
        input2: scores to be ranked against them.
        target: 1 where ``input1`` is to be larger, -1 where ``input2`` is.
        margin: by how much.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: an unknown ``reduction``.
        RuntimeError: the numbers of dimensions differ.

    Example:
        >>> import nnkit
        >>> a, b = nnkit.tensor([1.0, 2.0]), nnkit.tensor([3.0, 0.0])
        >>> nnkit.nn.functional.margin_ranking_loss(a, b, nnkit.tensor([1.0, 1.0]))
        tensor(1.)
    """
    reduction = reduction_of("margin_ranking_loss", size_average, reduce, reduction)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss: input1, input2 and target should have the same number of "
            f"dimensions, got shapes {list(input1.shape)}, {list(input2.shape)} and "
            f"{list(target.shape)}"
        )
    return reduced(clamp_min(-target * (input1 - input2) + float(margin), 0), reduction)


def _rows(name: str, input: Tensor) -> Tensor:
    """The scores as (N, C)."""
    if input.ndim > 2 or (input.ndim and input.shape[-1] == 0):
        raise RuntimeError(
            f"{name}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}"
        )
    return input if input.ndim == 2 else input.reshape(1, -1)


def _check_target(name: str, target: Tensor, low: int, classes: int) -> None:
    if target.dtype is not int64:
        raise RuntimeError(f"{name}: expected target of int64 but found {target.dtype}")
    target = lowest(target)
    wrong = (target < low) | (target >= classes)
    if wrong.any():
        raise RuntimeError(
            f"{name}: target {target[wrong][0].item()} is out of range for {classes} classes"
        )


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: float = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over wrong classes of ``max(0, margin - input[target] + input[class])**p``.

    Args:
        input: scores, (N, C) or (C,).
        target: the right class of each, (N,) or ().
        p: 1 or 2.
        margin: by how much the right score is to exceed the others.
        weight: a factor for each right class, (C,).
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: another ``p``, an unknown ``reduction``, or a weight that is no vector.
        RuntimeError: a target that is no class, or shapes that do not fit.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.multi_margin_loss(nnkit.tensor([0.0, 2.0]), nnkit.tensor(0))
        tensor(1.5000)
    """
    name = "multi_margin_loss"
    reduction = reduction_of(name, size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError(f"{name}: only p == 1 and p == 2 supported, got {p}")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"{name}: weight must be one-dimensional, got {list(weight.shape)}")
    rows = _rows(name, input)
    count, classes = rows.shape
    if target.ndim > 1 or target.numel() != count:
        raise RuntimeError(
            f"{name}: target tensor should be 1-D with size equal to the number of input samples. "
            f"Expected target size [{count}], but got {list(target.shape)} for input of shape "
            f"{list(input.shape)}"
        )
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(
            f"{name}: inconsistent weight size, expected {classes} but got {weight.numel()}"
        )
    if weight is not None:
        check_constant(name, "weight", weight, around=True)
    ops.check_floating(name, input)
    if input._array.size:
        check_dtype(name, input.dtype, ("half",))
    if weight is not None and weight.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}: expected scalar type {input.dtype.scalar_type} but found "
            f"{weight.dtype.scalar_type} for weight"
        )
    _check_target(name, target, 0, classes)
    labels = target.reshape(-1, 1)
    excess = ops.margin_excess(rows, rows.gather(1, labels), margin)
    losses = excess * excess if p == 2 else excess
    if weight is not None:
        losses = losses * weight[labels]
    losses = losses.scatter(1, labels, 0).sum(1) / classes
    out = without_base(reduced(losses if target.ndim else losses.reshape(()), reduction))
    return guarded(name, out, input, target, *([] if weight is None else [weight]))


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over right classes r and wrong ones w of ``max(0, 1 - input[r] + input[w]) / C``.

    Args:
        input: scores, (N, C) or (C,).
        target: the right classes of each row, of the same shape; those from the first -1 on do
            not count.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: an unknown ``reduction``.
        RuntimeError: a target that is neither a class nor -1, or shapes that do not fit.

    Example:
        >>> import nnkit
        >>> x, y = nnkit.tensor([0.0, 2.0, 0.0]), nnkit.tensor([0, 1, -1])
        >>> nnkit.nn.functional.multilabel_margin_loss(x, y)
        tensor(0.3333)
    """
    name = "multilabel_margin_loss"
    reduction = reduction_of(name, size_average, reduce, reduction)
    rows = _rows(name, input)
    classes = rows.shape[1]
    if target.shape != input.shape and not input.ndim == target.numel() == 1:
        raise RuntimeError(
            f"{name}: inconsistent target size: {list(target.shape)} for input of size: "
            f"{list(input.shape)}"
        )
    ops.check_floating(name, input)
    if input._array.size:
        check_dtype(name, input.dtype, ("half",))
    _check_target(name, target, -1, classes)
    labels = target.reshape(rows.shape)
    counts = (labels >= 0).long().cumprod(1).bool()
    right = labels.masked_fill(~counts, 0)
    is_wrong = zeros_like(labels).scatter_add(1, right, counts.long()) == 0
    correct = rows.gather(1, right).unsqueeze(2)
    excess = ops.margin_excess(rows.unsqueeze(1), correct, 1)
    pairs = counts.unsqueeze(2) & is_wrong.unsqueeze(1)
    losses = where(pairs, excess, 0).sum((1, 2)) / classes
    out = reduced(losses if input.ndim == 2 else losses.reshape(()), reduction)
    return guarded(name, out, input, target)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of `binary_cross_entropy_with_logits`.

    Args:
        input: scores, (..., C).
        target: 1 for the classes that are right, 0 for the others.
        weight: a factor for each class, (C,).
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: an unknown ``reduction``.

    Example:
        >>> import nnkit
        >>> x, y = nnkit.tensor([[0.0, 0.0]]), nnkit.tensor([[0.0, 1.0]])
        >>> nnkit.nn.functional.multilabel_soft_margin_loss(x, y)
        tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce)
    if input.dtype.category != FLOATING:
        raise NotImplementedError(
            f"multilabel_soft_margin_loss: not implemented for '{input.dtype.name}' tensors"
        )
    if not input.ndim:
        raise IndexError("multilabel_soft_margin_loss: input must have a dimension, got shape []")
    losses = -(target * log_sigmoid(input) + (1 - target) * log_sigmoid(-input))
    if weight is not None:
        losses = losses * weight
    losses = losses.sum(input.ndim - 1) / input.shape[-1]
    check_reduction("multilabel_soft_margin_loss", reduction)
    return reduced(losses, reduction)
