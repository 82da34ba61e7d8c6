"""Losses of classification: how well scores or probabilities fit classes."""

from __future__ import annotations

from typing import Any

from nnkit.autograd import Tensor
from nnkit.autograd.arguments.casting import call_cast
from nnkit.autograd.grad_mode import MODE
from nnkit.autograd.op.promotion import require
from nnkit.autograd.op.rule import check_constant, guarded, real_gradient
from nnkit.autograd.op.single import single
from nnkit.autograd.ops.elementwise.activation import log_sigmoid
from nnkit.autograd.ops.elementwise.transcendental import xlogy
from nnkit.autograd.ops.linalg.linear import linear
from nnkit.autograd.ops.loss import losses as ops
from nnkit.backend.warning import warn
from nnkit.nn.functional.reductions import (
    REDUCTIONS,
    check_reduction,
    in_dtype_of,
    legacy,
    reduced,
    reduction_of,
)

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div",
    "linear_cross_entropy", "nll_loss",
]  # fmt: skip


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy ``-log(softmax(input)[target])`` of scores and classes.

    Args:
        input: the scores, (C,), (N, C) or (N, C, d1, ...), floating point.
        target: the classes, of the shape of ``input`` without C, int64 or uint8; or their
            probabilities, of the shape of ``input``.
        weight: a factor for each class, (C,). The mean is divided by the labels' weights.
        size_average, reduce: deprecated, see ``reduction``.
        ignore_index: the label that contributes nothing.
        reduction: ``"mean"``, ``"sum"``, or ``"none"`` for a loss for each label.
        label_smoothing: how much of the target is spread over all classes, from 0 to 1. Szegedy et
            al., "Rethinking the Inception architecture", 2015.

    Raises:
        IndexError: a label that is no class.
        ValueError: an unknown ``reduction``, or another number of targets than of inputs.
        RuntimeError: a target or weight of the wrong shape or dtype.

    Example:
        >>> import nnkit
        >>> scores = nnkit.tensor([[0.0, 0.0], [0.0, 100.0]])
        >>> nnkit.nn.functional.cross_entropy(scores, nnkit.tensor([0, 1]))
        tensor(0.3466)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce)
    if reduction not in REDUCTIONS:
        check_reduction("cross_entropy", reduction)
    return ops.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """The `cross_entropy` of the scores ``linear(input, linear_weight, linear_bias)``.

    Args:
        input: (in) or (N, in).
        linear_weight: (C, in) or, for inputs (N, in), (C, d1, ..., in).
        target: classes or probabilities, as of `cross_entropy` of scores (N, C, d1, ...).
        linear_bias: of the shape of ``linear_weight`` without its last dimension.
        weight: a factor for each class, (C,).
        reduction: ``"mean"``, ``"sum"``, or ``"none"`` for a loss for each label.
        ignore_index: the label that contributes nothing; -100 unless given.
        label_smoothing: how much of the target is spread over all classes, from 0 to 1.
        options: `nnkit.nn.LinearCrossEntropyOptions`, or None; they change no result.

    Raises:
        RuntimeError: shapes that do not fit, or ``ignore_index`` with probabilities.

    Example:
        >>> import nnkit
        >>> x, w = nnkit.ones(2, 3), nnkit.zeros(4, 3)
        >>> nnkit.nn.functional.linear_cross_entropy(x, w, nnkit.tensor([0, 1]))
        tensor(1.3863)
    """
    name = "linear_cross_entropy"
    if input.ndim not in (1, 2):
        raise RuntimeError(f"{name}: input must have 1 or 2 dimensions, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise RuntimeError(
            f"{name}: linear_weight must have at least 2 dimensions, got {linear_weight.ndim}"
        )
    *outputs, features = linear_weight.shape
    if input.shape[-1] != features:
        raise RuntimeError(
            f"{name}: expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {features}, respectively"
        )
    if linear_bias is not None and list(linear_bias.shape) != outputs:
        raise RuntimeError(
            f"{name}: linear_bias must have shape {outputs}, got {list(linear_bias.shape)}"
        )
    if len(outputs) > 1 and input.ndim == 1:
        raise RuntimeError(
            f"{name}: with linear_weight of shape {list(linear_weight.shape)} input must have 2 "
            f"dimensions, got shape {list(input.shape)}"
        )
    if len(outputs) > 1:
        linear_weight = linear_weight.reshape(-1, features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight, linear_bias).reshape(*input.shape[:-1], *outputs)
    if ignore_index is not None and target.shape == scores.shape:
        raise RuntimeError(f"{name}: ignore_index is for classes, but target holds probabilities")
    arguments = (
        scores, target, weight, None, -100 if ignore_index is None else ignore_index, None,
        reduction, label_smoothing,
    )  # fmt: skip
    return call_cast(cross_entropy, "cross_entropy", arguments, {})


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood ``-input[target]`` of log probabilities and classes.

    Args:
        input: the log probabilities, (C,), (N, C) or (N, C, d1, ...).
        target: the classes, of the shape of ``input`` without C, int64 or uint8.
        weight: a factor for each class, (C,). The mean is divided by the labels' weights.
        size_average, reduce: deprecated, see ``reduction``.
        ignore_index: the label that contributes nothing.
        reduction: ``"mean"``, ``"sum"``, or ``"none"`` for a loss for each label.

    Raises:
        IndexError: a label that is no class.
        ValueError: an unknown ``reduction``, or another number of targets than of inputs.
        RuntimeError: a target or weight of the wrong shape or dtype.

    Example:
        >>> import nnkit
        >>> log_probabilities = nnkit.tensor([[-0.5, -1.0], [-2.0, -0.1]])
        >>> nnkit.nn.functional.nll_loss(log_probabilities, nnkit.tensor([0, 1]))
        tensor(0.3000)
    """
    reduction = reduction_of("nll_loss", size_average, reduce, reduction)
    return ops.nll_loss(input, target, weight, ignore_index, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-(target * log(input) + (1 - target) * log(1 - input))`` of a probability.

    Logarithms below -100 count as -100, so that the loss stays finite at 0 and 1.

    Args:
        input: probabilities of any shape.
        target: of the same shape, from 0 to 1.
        weight: factors, broadcast over the elements' losses.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: the shapes differ, or an unknown ``reduction``.
        RuntimeError: an input or a target outside [0, 1], or dtypes that differ.

    Example:
        >>> import nnkit
        >>> p = nnkit.tensor([0.5, 1.0])
        >>> nnkit.nn.functional.binary_cross_entropy(p, nnkit.tensor([1.0, 1.0]))
        tensor(0.3466)
    """
    reduction = reduction_of("binary_cross_entropy", size_average, reduce, reduction)
    name = "binary_cross_entropy"
    if target.shape != input.shape:
        raise ValueError(
            f"{name}: Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is not defined. Please ensure they have the same size."
        )
    if target.dtype is not input.dtype:
        raise RuntimeError(f"{name}: expected target of {input.dtype}, found {target.dtype}")
    ops.check_floating(name, input)
    for parameter, given in (("input", input), ("target", target)):
        wrong = f"{name}: all elements of {parameter} should be between 0 and 1"
        require((given >= 0) & (given <= 1), RuntimeError, wrong)
    if weight is None:
        return ops.binary_cross_entropy(input, target, reduction)
    weight = weight.expand(input.shape)
    check_constant(name, "weight", weight)
    return _weighted(input, target, weight, reduction)


@single(name="binary_cross_entropy", node="BinaryCrossEntropyBackward0")
def _weighted(input: Tensor, target: Tensor, weight: Tensor, reduction: str) -> Tensor:
    losses = ops.binary_cross_entropy(input, target, "none") * weight
    return reduced(in_dtype_of("binary_cross_entropy", input, losses), reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of ``sigmoid(input)``, computed without overflow.

    ``(1 - target) * input - (1 + (pos_weight - 1) * target) * log(sigmoid(input))``

    Args:
        input: scores of any shape.
        target: of the same shape, from 0 to 1.
        weight: factors, broadcast over the elements' losses.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        pos_weight: a factor of the positive part, broadcast over the elements.

    Raises:
        ValueError: the shapes differ, or an unknown ``reduction``.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([0.0, 1000.0])
        >>> nnkit.nn.functional.binary_cross_entropy_with_logits(x, nnkit.tensor([1.0, 1.0]))
        tensor(0.3466)
    """
    reduction = reduction_of("binary_cross_entropy_with_logits", size_average, reduce, reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"binary_cross_entropy_with_logits: target size {list(target.shape)} must be the same "
            f"as input size {list(input.shape)}"
        )
    name = "binary_cross_entropy_with_logits"
    ops.check_floating(name, input)
    plain = input.dtype is target.dtype and weight is None and pos_weight is None
    if plain and not (input.is_inference() and target.is_inference()):
        return ops.binary_cross_entropy_with_logits(input, target, reduction)
    factors = {p: t for p, t in (("weight", weight), ("pos_weight", pos_weight)) if t is not None}
    saved = (input, target, *factors.values())
    # Otherwise torch's autograd sees the steps.
    whole = not MODE.transforms and not all(t.is_inference() for t in saved)
    if whole:
        for parameter, factor in factors.items():
            check_constant(name, parameter, factor)
    # In place, where torch's are, they are of the target's dtype, which an integer one refuses.
    written = not MODE.transforms
    multiply, subtract = (Tensor.mul_, Tensor.sub_) if written else (Tensor.mul, Tensor.sub)
    logarithm = log_sigmoid(input)
    if pos_weight is not None:
        logarithm = multiply(logarithm, (pos_weight - 1).mul(target).add_(1))
    losses = subtract(multiply(1 - target, input), logarithm)
    if weight is not None:
        losses = multiply(losses, weight)
    loss = real_gradient(name, reduced(losses, reduction))
    return guarded(name, loss, *saved) if whole else loss


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence ``target * (log(target) - input)``, element by element.

    Args:
        input: log probabilities.
        target: probabilities, broadcast with ``input``; their logarithms with ``log_target``.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"batchmean"`` (the sum divided by the batch size, which is the divergence's
            definition), ``"mean"`` over all elements, ``"sum"`` or ``"none"``.
        log_target: whether ``target`` is a logarithm too.

    Raises:
        ValueError: an unknown ``reduction``.
        RuntimeError: an integer tensor.

    Warns:
        UserWarning: ``reduction="mean"``, since that is rarely what is meant.

    Example:
        >>> import nnkit
        >>> p, q = nnkit.tensor([0.5, 0.5]), nnkit.tensor([0.25, 0.75])
        >>> nnkit.nn.functional.kl_div(q.log(), p, reduction="sum")
        tensor(0.1438)
    """
    by_batch = reduction == "batchmean"
    if size_average is not None or reduce is not None:
        reduction = legacy(size_average, reduce)
    elif reduction == "mean":
        warn(
            "kl_div: reduction='mean' divides the total loss by both the batch size and the "
            "support size; 'batchmean' divides only by the batch size, and aligns with the KL div "
            "math definition."
        )
    if reduction != "batchmean":
        check_reduction("kl_div", reduction)
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError("kl_div: Integral inputs not supported")
    whole = "sum" if reduction == "batchmean" else reduction
    # Each part is computed in the dtype of its own operands, and of inference tensors alone.
    if input.dtype is not target.dtype or not log_target and target.is_inference():
        if log_target:
            total = reduced(target.exp() * (target - input), whole)
        else:
            total = reduced(xlogy(target, target) - target * input, whole)
    else:
        x, y = ops.broadcast_pair("kl_div", input, target)
        total = (ops.kl_div_log_target if log_target else ops.kl_div)(x, y, whole)
    return total / input.shape[0] if by_batch and input.ndim else total
