"""Losses of regression: by how much numbers differ."""

from __future__ import annotations

import math

from nnkit.autograd import Tensor, no_grad
from nnkit.autograd.op.promotion import check_dtype, require, scalar
from nnkit.autograd.op.rule import without_derivative
from nnkit.autograd.ops.loss import losses as ops
from nnkit.autograd.ops.loss.losses import paired
from nnkit.autograd.views.writes import check_cast
from nnkit.backend.dtype import to_float
from nnkit.nn.functional.reductions import check_reduction, in_dtype_of, reduced, reduction_of

__all__ = [
    "gaussian_nll_loss", "huber_loss", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss",
]  # fmt: skip


def _weighted(name: str, losses: Tensor, input: Tensor, weight: Tensor) -> Tensor:
    if weight.shape != input.shape:
        raise ValueError(
            f"{name}: Weights and input must have the same size, "
            f"got {list(weight.shape)} and {list(input.shape)}"
        )
    return losses * weight


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared error ``(input - target)**2``.

    Args:
        input: of any shape, floating point.
        target: of the same shape.
        size_average, reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"``, or ``"none"`` for a loss for each element.
        weight: factors of the elements' losses; the mean is then divided by their sum.

    Raises:
        ValueError: an unknown ``reduction``, or a weight of another shape.
        NotImplementedError: the dtype is not floating point.

    Warns:
        UserWarning: the shapes differ; an error after ``nnkit.set_strict(True)``.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.mse_loss(nnkit.tensor([1.0, 2.0]), nnkit.tensor([1.0, 4.0]))
        tensor(2.)
    """
    reduction = reduction_of("mse_loss", size_average, reduce, reduction)
    x, y = paired("mse_loss", input, target)
    if weight is None:
        return ops.mse_loss(x, y, reduction)
    losses = _weighted("mse_loss", (x - y).square(), input, weight)
    return losses.sum() / weight.sum() if reduction == "mean" else reduced(losses, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute error ``|input - target|``; the gradient where they agree is 0.

    Arguments and errors are those of `mse_loss`.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.l1_loss(nnkit.tensor([1.0, 2.0]), nnkit.tensor([1.0, 4.0]))
        tensor(1.)
    """
    reduction = reduction_of("l1_loss", size_average, reduce, reduction)
    try:
        x, y = paired("l1_loss", input, target)
    except NotImplementedError:
        if weight is not None:
            raise
        return reduced((input - target).abs(), reduction)
    for each in (input, target):  # which are subtracted
        check_dtype("sub", each.dtype, ("bool",))
    if weight is None:
        return ops.l1_loss(x, y, reduction)
    losses = _weighted("l1_loss", (x - y).abs(), input, weight)
    return losses.sum() / weight.sum() if reduction == "mean" else reduced(losses, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """``d**2 / (2 beta)`` where ``d = |input - target| < beta``, else ``d - beta / 2``.

    Girshick, "Fast R-CNN", 2015. With ``beta`` 0 it is `l1_loss`; its other arguments and errors
    are those of `mse_loss`.

    Raises:
        RuntimeError: ``beta`` is negative.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.smooth_l1_loss(nnkit.tensor([0.0, 3.0]), nnkit.tensor([1.0, 0.0]))
        tensor(1.5000)
    """
    reduction = reduction_of("smooth_l1_loss", size_average, reduce, reduction)
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    x, y = paired("smooth_l1_loss", input, target)
    if not beta > 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    return ops.smooth_l1_loss(x, y, reduction, beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """``d**2 / 2`` where ``d = |input - target| <= delta``, else ``delta (d - delta / 2)``.

    Args:
        input: of any shape, floating point.
        target: of the same shape.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        delta: where the parabola goes over into lines.
        weight: factors of the elements' losses; the mean is divided by their number all the same.

    Raises:
        RuntimeError: ``delta`` is not positive.
        ValueError: an unknown ``reduction``, or a weight of another shape.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.huber_loss(nnkit.tensor([0.0, 3.0]), nnkit.tensor([1.0, 0.0]))
        tensor(1.5000)
    """
    check_reduction("huber_loss", reduction)
    check_cast("huber_loss", target.dtype, input.dtype)
    x, y = paired("huber_loss", input, target)
    delta = scalar(delta)
    if not delta > 0:
        raise RuntimeError(
            f"huber_loss does not support non-positive values for delta, got {delta}"
        )
    if weight is None:
        loss = in_dtype_of("huber_loss", input, ops.huber_loss(x, y, reduction, delta))
        same = input.dtype is target.dtype  # as torch's backward asks for
        return loss if same else without_derivative("huber_loss of several dtypes", loss)
    losses = ops.huber_loss(x, y, "none", delta)
    return reduced(_weighted("huber_loss", losses, input, weight), reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood of counts that are Poisson distributed.

    ``exp(input) - target * input``, or with ``log_input=False``
    ``input - target * log(input + eps)``; both leave out the constant ``log(target!)``.

    Args:
        input: the expected count, or its logarithm.
        target: the count, of the same shape.
        log_input: whether ``input`` is a logarithm.
        full: add Stirling's approximation of ``log(target!)`` where ``target > 1``.
        size_average, reduce: deprecated, see ``reduction``.
        eps: keeps the logarithm finite.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: an unknown ``reduction``.

    Example:
        >>> import nnkit
        >>> nnkit.nn.functional.poisson_nll_loss(nnkit.tensor([0.0]), nnkit.tensor([3.0]))
        tensor(1.)
    """
    reduction = reduction_of("poisson_nll_loss", size_average, reduce, reduction)
    if input.dtype is not target.dtype or not input.is_floating_point():
        x, y = input, target  # each part is computed in the dtype of its own operands
        losses = x.exp() - y * x if log_input else x - y * (x + eps).log()
    else:
        x, y = ops.broadcast_pair("poisson_nll_loss", input, target)
        if log_input and not full:
            return ops.poisson_nll_loss(x, y, reduction)
        losses = ops.poisson_nll_loss(x, y, "none") if log_input else x - y * (x + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses += stirling.masked_fill(target <= 1, 0)
    return reduced(losses, reduction)


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """The negative log likelihood ``(log(var) + (input - target)**2 / var) / 2`` of normal numbers.

    Nix and Weigend, "Estimating the mean and variance of the target probability distribution",
    1994.

    Args:
        input: the expected value.
        target: the value.
        var: the variance: a number, a tensor of ``input``'s shape, the same with one dimension of
            size 1, or without the last one. Values below ``eps`` count as ``eps``, and yet get
            their gradient.
        full: add the constant ``log(2 pi) / 2``.
        eps: keeps the quotient finite.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: an unknown ``reduction``, a negative variance, or one of the wrong size.

    Example:
        >>> import nnkit
        >>> x = nnkit.tensor([1.0])
        >>> nnkit.nn.functional.gaussian_nll_loss(x, nnkit.tensor([3.0]), nnkit.tensor([4.0]))
        tensor(1.1931)
    """
    if not isinstance(var, Tensor):
        var = input.new_full(input.shape, float(var), dtype=to_float(input.dtype))
    require(~(var < 0), ValueError, "gaussian_nll_loss: var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif (
            input.ndim != var.ndim
            or sum(v for n, v in zip(input.shape, var.shape, strict=True) if n != v) != 1
        ):
            raise ValueError(
                f"gaussian_nll_loss: var is of incorrect size {list(var.shape)} for input of "
                f"size {list(input.shape)}"
            )
    check_reduction("gaussian_nll_loss", reduction)
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    losses = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced(losses, reduction)
