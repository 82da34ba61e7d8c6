"""Losses: one op, with one node, from the prediction to the reduced loss.

The functions here take the ``reduction`` only. `nnkit.nn.functional` offers them with all of
torch's arguments, such as the deprecated ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from nnkit.autograd.arguments.dims import broadcast_shape, check_tensor
from nnkit.autograd.op.pointwise import fn, pointwise
from nnkit.autograd.op.promotion import promote
from nnkit.autograd.op.rule import check_constant, rule
from nnkit.autograd.ops.elementwise.transcendental import times_log, times_log_grad
from nnkit.autograd.ops.softmax import log_softmax
from nnkit.autograd.tensor import Tensor
from nnkit.autograd.views.history import refresh
from nnkit.backend.dtype import FLOATING, int64, uint8
from nnkit.backend.strict import complain

I8 = int64.array


def paired(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Prediction and target in a common dtype and shape, with a warning if they are broadcast.

    The warning shows the caller of the function that calls this one.
    """
    try:
        x, t = input._array, target._array
    except AttributeError:
        check_tensor(name, input)
        check_tensor(name, target, "target")
        raise
    if x.shape != t.shape:
        complain(
            f"{name}: Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size."
        )
    return broadcast_pair(name, input, target)


def broadcast_pair(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Two tensors in their common shape and dtype; NotImplementedError unless that is floating.

    They are expanded before they are promoted: a 0-dim tensor would count less in the promotion.
    """
    check_tensor(name, input)
    check_tensor(name, target, "target")
    if input._array.shape != target._array.shape:
        shape = broadcast_shape(name, [input._array.shape, target._array.shape])
        input, target = (t if t._array.shape == shape else t.expand(shape) for t in (input, target))
    if input._array.dtype is not target._array.dtype:
        input, target = promote(name, input, target)
    check_floating(name, input)
    return input, target


def elementwise_loss(
    name: str,
    body: Callable,
    scalars: tuple[str, ...] = (),
    private: tuple[str, ...] | Mapping[str, str] = (),
    also: Any = None,
    alone: str | None = None,
    stepwise: tuple[str, ...] = (),
    by_rows: tuple[str, ...] = (),
    divided: str = "first",
    node: str | None = None,
    **rules: Any,
) -> Callable:
    """Declare an op ``name(x, target; reduction, *scalars)`` by the formula of one element's loss
    and the formulas of its derivatives.

    Args:
        private, also, alone: see `rule`.
        stepwise, by_rows: see `pointwise`.
        divided: whether the gradient of a mean is divided ``"first"`` or ``"last"``, or multiplied
            behind that of an ``"element"`` which is divided.
        node: the name of the node of an element's loss, if torch computes the loss by several
            operations. Then the node of the reduced loss is that of the reduction.
    """
    elements = pointwise(
        f"{name}_elements", body, scalars=scalars, function=False, stepwise=stepwise,
        by_rows=by_rows, **rules,
    )
    position = elements.op.primitive.arrays.index
    reduced: Any = {x: _reduced(elements.op.rules[position(x)].function, divided) for x in rules}
    named = node and _named_by_reduction(node)
    return rule(
        name, node=named, private=private, also=also, alone=alone, elements=elements.op, **reduced
    )


def _named_by_reduction(node: str) -> Callable[[Any, Any], str]:
    names = {"none": node, "mean": "MeanBackward0", "sum": "SumBackward0"}
    return lambda operands, statics: names[statics[0]]


def _reduced(gradient: Callable, divided: str) -> Callable:
    """The rule of the reduced loss, given that of one element."""

    def reduced(B: Any, g: Any, reduction: str, x_shape: tuple, *values: Any) -> Any:
        # Of nothing there is nothing to divide, and a sum of it is to stay 0.
        count = (math.prod(x_shape) or 1) if reduction == "mean" else 1
        if divided == "last" or count == 1:
            out = gradient(B, g, *values)
            return out if count == 1 else B.div(out, count)
        if divided == "first":
            return gradient(B, B.div(g, count), *values)
        return B.mul(gradient(B, B.div(B.ones_like(g), count), *values), g)

    reduced.parameters = ("g", "reduction", "x_shape", *gradient.parameters[1:])
    return reduced


mse_loss = elementwise_loss(
    "mse_loss", lambda x, target: (x - target) * (x - target), stepwise=("forward", "backward"),
    by_rows=("x", "target"), divided="element",
    x=lambda g, x, target: (x - target) * 2 * g, target=lambda g, x, target: (target - x) * 2 * g,
)
l1_loss = elementwise_loss(
    "l1_loss", lambda x, target: fn.abs(x - target), node="AbsBackward0", private=("x", "target"),
    x=lambda g, x, target: g * fn.sign(x - target),
    target=lambda g, x, target: -(g * fn.sign(x - target)),
)


def _smooth_l1_slope(x: Any, target: Any, beta: Any) -> Any:
    return fn.where(fn.abs(x - target) >= beta, fn.sign(x - target), (x - target) / beta)


smooth_l1_loss = elementwise_loss(
    "smooth_l1_loss",
    lambda x, target, beta: fn.where(
        fn.abs(x - target) < beta,
        0.5 * (x - target) * (x - target) / beta,
        fn.abs(x - target) - 0.5 * beta,
    ),
    scalars=("beta",), by_rows=("x", "target"), divided="element",
    x=lambda g, x, target, beta: g * _smooth_l1_slope(x, target, beta),
    target=lambda g, x, target, beta: g * _smooth_l1_slope(target, x, beta),
)


def _huber_slope(x: Any, target: Any, delta: Any) -> Any:
    # Clamped to delta, with a derivative of 0 at the bounds.
    low, high = x - target <= -delta, x - target >= delta
    return fn.where(high, delta, fn.where(low, -delta, x - target))


huber_loss = elementwise_loss(
    "huber_loss",
    lambda x, target, delta: fn.where(
        fn.abs(x - target) <= delta,
        0.5 * (x - target) * (x - target),
        delta * (fn.abs(x - target) - 0.5 * delta),
    ),
    scalars=("delta",), by_rows=("x", "target"), stepwise=("backward",), divided="element",
    x=lambda g, x, target, delta: g * _huber_slope(x, target, delta),
    target=lambda g, x, target, delta: g * _huber_slope(target, x, delta),
)
# torch's bounds: logarithms are at least -100, the slope's denominator at least float32's 1e-12.
binary_cross_entropy = elementwise_loss(
    "binary_cross_entropy",
    lambda x, target: (target - 1) * fn.maximum(fn.log1p(-x), -100)
    - target * fn.maximum(fn.log(x), -100),
    stepwise=("forward", "backward"), divided="last",
    x=lambda g, x, target: g * (x - target) / fn.maximum((1 - x) * x, 9.999999960041972e-13),
    target=lambda g, x: g * -fn.log(x / (1 - x)), also={"target": ("target",)},
)


def _raised(B: Any, x: Any) -> tuple[Any, Any]:
    """``x`` and ``1 - x`` in the denominators of torch's second derivatives, raised by 1e-12."""
    return B.add(x, 1e-12), B.add(B.add(B.neg(x), 1), 1e-12)


def _slope_along_g(B: Any, g_out: Any, x: Any, target: Any) -> Any:
    return B.mul(B.div(B.sub(x, target), B.mul(*_raised(B, x))), g_out)


def _slope_along_x(B: Any, g_out: Any, g: Any, x: Any, target: Any) -> Any:
    low, high = _raised(B, x)
    above = B.add(B.sub(B.mul(x, x), B.mul(B.mul(x, 2), target)), target)
    return B.mul(B.div(above, B.mul(B.mul(low, low), B.mul(high, high))), B.mul(g_out, g))


rule(  # torch's, which matters where x is 0 or 1: the clamped slope has another derivative there
    "binary_cross_entropy_elements_grad_x", broadcasts=True, g=_slope_along_g, x=_slope_along_x,
    target=lambda B, g_out, g, x: B.div(
        B.mul(B.neg(g_out), g), B.maximum(B.mul(B.add(B.neg(x), 1), x), 1e-12)
    ),
)
rule(
    "binary_cross_entropy_elements_grad_target", broadcasts=True,
    g=lambda B, g_out, x: B.mul(g_out, B.neg(B.logit(x))),
    x=lambda B, g_out, g, x: B.logit_grad_x(B.neg(B.mul(g_out, g)), x),
)
binary_cross_entropy_with_logits = elementwise_loss(
    "binary_cross_entropy_with_logits", lambda x, target: (1 - target) * x - fn.log_sigmoid(x),
    stepwise=("forward", "backward"), divided="last",
    x=lambda g, x, target: g * (fn.sigmoid(x) - target), target=lambda g, x: -g * x,
    also={"target": ("target",)},
)
kl_div = elementwise_loss(
    "kl_div", lambda x, target: times_log(target, target) - target * x, node="SubBackward0",
    stepwise=("forward", "backward"), x=lambda g, target: -g * target,
    # The last term is NaN where the target is 0, as in torch.
    target=lambda g, x, target: -g * x + (times_log_grad(g, target, target) + g * target / target),
)
kl_div_log_target = elementwise_loss(
    "kl_div_log_target", lambda x, target: fn.exp(target) * (target - x), node="MulBackward0",
    private=("x", "target"),
    stepwise=("forward", "backward"), x=lambda g, target: -(g * fn.exp(target)),
    target=lambda g, x, target: g * fn.exp(target) + g * (target - x) * fn.exp(target),
)
# Infinite, and its slope NaN, where the exponential is, as in torch.
soft_margin_loss = elementwise_loss(
    "soft_margin_loss", lambda x, target: fn.log1p(fn.exp(-x * target)), alone="refused",
    stepwise=("forward", "backward"), divided="element",
    x=lambda g, x, target: -g * (target * fn.exp(-target * x)) / (fn.exp(-target * x) + 1),
)
hinge_embedding_loss = elementwise_loss(
    "hinge_embedding_loss",
    lambda x, target, margin: fn.where(fn.eq(target, 1), 0, fn.maximum(margin - x, 0))
    + fn.where(fn.eq(target, -1), 0, x),
    scalars=("margin",), node="AddBackward0", private=("x", "target"),
    stepwise=("forward", "backward"), alone="recorded",
    x=lambda g, x, target, margin: fn.where(fn.eq(target, -1), 0, g)
    - fn.where(fn.logical_or(fn.eq(target, 1), fn.logical_not(x <= margin)), 0, g),
)
poisson_nll_loss = elementwise_loss(
    "poisson_nll_loss", lambda x, target: fn.exp(x) - target * x, node="SubBackward0",
    private={"x": "target"}, stepwise=("forward", "backward"),
    x=lambda g, x, target: g * fn.exp(x) - g * target, target=lambda g, x: -g * x,
)


# Class labels


def _cross_entropy_rule(
    B: Any, g_loss: Any, g_probabilities: Any, probabilities: Any, target: Any, weight: Any,
    ignore_index: int, reduction: str, label_smoothing: float,
) -> Any:
    p = probabilities
    grad = B.cross_entropy_grad(g_loss, p, target, weight, ignore_index, reduction, label_smoothing)
    if g_probabilities is not None:
        grad = B.add(grad, B.softmax_grad(g_probabilities, p, 1 if p.ndim > 1 else 0))
    return grad


def _name_of_labelled(operands: Any, statics: Any) -> str:
    """The name of the node of a loss of class labels. torch has one op for 2-dim scores and one for
    4-dim scores, and reshapes all others to one of these."""
    if len(statics) > 2 and statics[2]:  # the smoothing of labels
        return "AddBackward0"
    ndim = operands[0]._array.ndim
    if ndim < 3:
        return "NllLossBackward0"
    return "ViewBackward0" if statics[1] == "none" and ndim != 4 else "NllLoss2DBackward0"


# The second op, for 2-dim scores, has a fixed node name, which is faster.
_cross_entropy_of_any, _cross_entropy = (
    rule(
        "cross_entropy", node=node, nondifferentiable=("probabilities",), apart=("x",),
        x=_cross_entropy_rule,
    )
    for node in (_name_of_labelled, "NllLossBackward0")
)  # fmt: skip
_nll_loss = rule(
    "nll_loss",
    node=_name_of_labelled,
    depends="backward",
    x=lambda B, g, x, target, weight, ignore_index, reduction: B.nll_loss_grad(
        g, x, target, weight, ignore_index, reduction
    ),
)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str,
    label_smoothing: float,
) -> Tensor:
    """See `nnkit.nn.functional.cross_entropy`."""
    try:
        x, t = input._array, target._array
        labelled = t.dtype is I8 and x.ndim == 2 and t.ndim == 1 and x.shape[0] == t.shape[0]
    except AttributeError:
        check_tensor("cross_entropy", input)
        check_tensor("cross_entropy", target, "target")
        raise
    if label_smoothing > 1.0:
        raise RuntimeError(
            f"cross_entropy(): label_smoothing must be between 0.0 and 1.0, got {label_smoothing}"
        )
    if not label_smoothing > 0:  # NaN too counts as none
        label_smoothing = 0.0
    if not labelled or weight is not None or input.dtype.category != FLOATING:
        if x.shape == t.shape:
            return _soft_cross_entropy(
                input, target, weight, ignore_index, reduction, label_smoothing
            )
        if not x.ndim:
            raise IndexError("cross_entropy(): expected an input with a dimension of classes")
        if x.size:
            check_floating("cross_entropy", input)
        if weight is not None and x.ndim > 2 and not label_smoothing:
            weight = weight.reshape(-1)  # whose shape torch does not look at
        refresh(input)  # as in torch, which has computed the log_softmax before it looks at labels
        target = _check_labels("cross_entropy", input, target, weight)
        if label_smoothing and weight is not None and target.dtype is uint8:
            raise RuntimeError(
                "cross_entropy(): expected target dtype to be Long beside weight and "
                "label_smoothing, but got Byte"
            )
    if x.dtype.itemsize < 4:  # half precision, asked for at once
        return _in_steps(input, target, weight, ignore_index, reduction, label_smoothing)
    loss = _cross_entropy_of_any if label_smoothing or x.ndim > 2 else _cross_entropy
    return loss(input, target, weight, ignore_index, reduction, label_smoothing)[0]


def _in_steps(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str,
    label_smoothing: float,
) -> Tensor:  # fmt: skip
    """`cross_entropy` in half precision, to which torch rounds between its operations."""
    axis = 1 if input.ndim > 1 else 0
    scores = log_softmax(input, axis)
    loss = _nll_loss(scores, target, weight, ignore_index, reduction)
    if not label_smoothing:
        return loss
    weighted = scores
    if weight is not None:
        weighted = scores * weight.reshape(-1, *[1] * max(input.ndim - 2, 0))
    ignored = target == ignore_index
    smooth = (-weighted.sum(axis)).masked_fill(ignored, 0)
    if reduction != "none":
        smooth = smooth.sum()
    if reduction == "mean":
        kept = ~ignored
        smooth = smooth / (kept if weight is None else weight[target[kept].long()]).sum()
    return (1 - label_smoothing) * loss + smooth * (label_smoothing / max(input.shape[axis], 1))


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """See `nnkit.nn.functional.nll_loss`."""
    check_tensor("nll_loss", input)
    check_tensor("nll_loss", target, "target")
    if input.ndim == 0:
        raise ValueError("nll_loss(): Expected 1 or more dimensions (got 0)")
    if weight is not None and input.ndim > 2:
        weight = weight.reshape(-1)  # whose shape torch does not look at
    target = _check_labels("nll_loss", input, target, weight)
    return _nll_loss(input, target, weight, ignore_index, reduction)


def check_floating(name: str, input: Tensor) -> None:
    if input.dtype.category != FLOATING:
        raise NotImplementedError(f"{name}(): not implemented for '{input.dtype.name}' tensors")


def _check_weight(name: str, weight: Tensor, classes: int) -> None:
    if weight._array.shape != (classes,):
        raise RuntimeError(
            f"{name}(): weight tensor should be defined either for all {classes} classes or "
            f"no classes but got weight tensor of shape {list(weight.shape)}"
        )


def _check_label_dtype(name: str, target: Tensor) -> None:
    if target.dtype is not int64 and target.dtype is not uint8:
        raise RuntimeError(
            f"{name}(): expected target dtype to be Long or Byte, but got {target.dtype}"
        )


def _check_labels(name: str, input: Tensor, target: Tensor, weight: Tensor | None) -> Tensor:
    """The labels in the shape of ``input`` without its classes; torch's errors."""
    x, t = input._array, target._array
    if x.ndim == 1 and t.shape == (1,):
        target = target.reshape(())
    elif x.ndim == 1 and t.ndim:
        _check_label_dtype(name, target)
        if t.ndim > 1:
            raise RuntimeError(f"{name}(): expected labels of 0 or 1 dimensions, got {t.ndim}")
        raise ValueError(
            f"{name}(): For 1D input, 1D target must have size 1, but got target size {t.size}"
        )
    elif x.ndim > 1:
        if not t.ndim or x.shape[0] != t.shape[0]:
            raise ValueError(
                f"{name}(): Expected input batch_size ({x.shape[0]}) to match target batch_size "
                f"({t.shape[0] if t.ndim else 'none'}): got shapes {list(x.shape)}, {list(t.shape)}"
            )
        wanted = (x.shape[0], *x.shape[2:])
        if t.shape != wanted:
            what = f"Expected target size {list(wanted)}, got {list(t.shape)}"
            if x.ndim == 2:
                what = f"0D or 1D target tensor expected, multi-target not supported: {what}"
            raise RuntimeError(f"{name}(): {what}")
    if x.ndim not in (1, 2, 4) and t.size and not x.size:  # torch folds the others to nothing
        raise RuntimeError(
            f"{name}(): size mismatch: got scores of shape {list(x.shape)}, which have no classes, "
            f"and labels of shape {list(t.shape)}"
        )
    _check_label_dtype(name, target)
    if x.ndim > 2 and t.size and target.dtype is uint8:
        raise RuntimeError(
            f"{name}(): expected target dtype to be Long for an input of {x.ndim} dimensions, but "
            "got Byte"
        )
    if weight is not None:
        classes = x.shape[1] if x.ndim > 1 else x.shape[0]
        _check_weight(name, weight, classes)
    check_floating(name, input)
    if weight is not None:
        if weight.dtype is not input.dtype:
            raise RuntimeError(
                f"{name}(): expected scalar type {input.dtype.scalar_type} but found "
                f"{weight.dtype.scalar_type} for weight"
            )
        check_constant(name, "weight", weight)
    return target


def _soft_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str,
    label_smoothing: float,
) -> Tensor:
    """The target holds probabilities of the classes."""
    if target.dtype.category != FLOATING:
        raise RuntimeError(
            "cross_entropy(): Expected floating point type for target with class probabilities, "
            f"got {target.dtype}"
        )
    if ignore_index >= 0:
        raise RuntimeError(
            "cross_entropy(): ignore_index is not supported for floating point target"
        )
    axis = 1 if input.ndim > 1 else 0
    classes = input._array.shape[axis] if input.ndim else 1
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / max(classes, 1)
    losses = log_softmax(input, axis) * target
    if weight is not None:
        _check_weight("cross_entropy", weight, classes)
        losses = losses * weight.reshape(-1, *(1,) * max(input.ndim - 2, 0))
    if reduction == "none":
        return -losses.sum(axis)
    total = -losses.sum()
    return total / (input._array.size // max(classes, 1)) if reduction == "mean" else total


def _is_short(x: Any, right: Any, margin: Any) -> Any:
    return margin - right + x > 0


# By how much wrong scores exceed the right one less a margin; 0 for NaN, as in torch's loops.
margin_excess = pointwise(
    "margin_excess",
    lambda x, right, margin: fn.where(_is_short(x, right, margin), margin - right + x, 0),
    scalars=("margin",), function=False, stepwise=("forward", "backward"),
    x=lambda g, x, right, margin: fn.where(_is_short(x, right, margin), g, 0),
    right=lambda g, x, right, margin: fn.where(_is_short(x, right, margin), -g, 0),
)
