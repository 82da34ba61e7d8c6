"""The losses over the algebra. Classes stand on axis 1, or 0 where there is no batch."""

from __future__ import annotations

from nnkit.backend.dtype import int64


def _elementwise(elements):
    """The loss whose value for one element is the formula ``elements``."""

    def loss(B, x, target, reduction, *scalars):
        losses = getattr(B, elements)(x, target, *scalars)
        if reduction == "none":
            return losses
        total = B.mean if reduction == "mean" else B.sum
        return total(losses, None, False)

    return loss


mse_loss = _elementwise("mse_loss_elements")
l1_loss = _elementwise("l1_loss_elements")
smooth_l1_loss = _elementwise("smooth_l1_loss_elements")
huber_loss = _elementwise("huber_loss_elements")
binary_cross_entropy = _elementwise("binary_cross_entropy_elements")
binary_cross_entropy_with_logits = _elementwise("binary_cross_entropy_with_logits_elements")
kl_div = _elementwise("kl_div_elements")
kl_div_log_target = _elementwise("kl_div_log_target_elements")
soft_margin_loss = _elementwise("soft_margin_loss_elements")
hinge_embedding_loss = _elementwise("hinge_embedding_loss_elements")
poisson_nll_loss = _elementwise("poisson_nll_loss_elements")


def _class_axis(x):
    return 1 if x.ndim > 1 else 0


def _class_vector(B, weight, x):
    """The weights of the classes, to be broadcast over ``x``."""
    return B.reshape(weight, (-1,) + (1,) * max(x.ndim - 2, 0))


def _labels(B, target, ignore_index):
    valid = B.ne(target, ignore_index)
    labels = B.where(valid, target, B.zeros_like(target))
    return B.cast(labels, int64.array), valid  # positions of uint8 would be masks


def _label_weights(B, valid, labels, weight, like):
    """The weight of each label, 0 where it is ignored; of the dtype of ``like``."""
    if weight is None:
        weights = B.expand(B.ones_like(like), tuple(labels.shape))
    else:
        chosen = B.index_select(weight, B.reshape(labels, (-1,)), 0)
        weights = B.reshape(chosen, tuple(labels.shape))
    return B.where(valid, weights, B.zeros_like(weights))


def _reduce(B, losses, weights, reduction):
    if reduction == "none":
        return losses
    total = B.sum(losses, None, False)
    return B.div(total, B.sum(weights, None, False)) if reduction == "mean" else total


def _share(B, g, weights, reduction):
    """The gradient of each label's loss before it is weighted."""
    return B.div(g, B.sum(weights, None, False)) if reduction == "mean" else g


def nll_loss(B, x, target, weight, ignore_index, reduction):
    axis = _class_axis(x)
    labels, valid = _labels(B, target, ignore_index)
    picked = B.squeeze(B.gather(x, B.unsqueeze(labels, axis), axis), (axis,))
    weights = _label_weights(B, valid, labels, weight, picked)
    losses = B.mul(B.neg(picked), weights)
    return _reduce(B, B.where(valid, losses, B.zeros_like(losses)), weights, reduction)


def nll_loss_grad(B, g, x, target, weight, ignore_index, reduction):
    axis = _class_axis(x)
    labels, valid = _labels(B, target, ignore_index)
    weights = _label_weights(B, valid, labels, weight, g)
    each = B.neg(B.mul(_share(B, g, weights, reduction), weights))
    each = B.where(valid, each, B.zeros_like(each))
    return B.scatter(B.zeros_like(x), B.unsqueeze(labels, axis), B.unsqueeze(each, axis), axis)


def cross_entropy(B, x, target, weight, ignore_index, reduction, label_smoothing):
    axis = _class_axis(x)
    scores = B.log_softmax(x, axis)
    loss = B.nll_loss(scores, target, weight, ignore_index, reduction)
    if label_smoothing:
        labels, valid = _labels(B, target, ignore_index)
        weighted = scores if weight is None else B.mul(scores, _class_vector(B, weight, x))
        smooth = B.neg(B.sum(weighted, (axis,), False))
        smooth = B.where(valid, smooth, B.zeros_like(smooth))
        weights = _label_weights(B, valid, labels, weight, smooth)
        smooth = B.mul(
            _reduce(B, smooth, weights, reduction), label_smoothing / max(x.shape[axis], 1)
        )
        loss = B.add(B.mul(loss, 1 - label_smoothing), smooth)
    return loss, B.exp(scores)


def cross_entropy_grad(
    B, g, probabilities, target, weight, ignore_index, reduction, label_smoothing
):
    p = probabilities
    axis = _class_axis(p)
    g_scores = B.nll_loss_grad(g, p, target, weight, ignore_index, reduction)
    if label_smoothing:
        labels, valid = _labels(B, target, ignore_index)
        weights = _label_weights(B, valid, labels, weight, g)
        share = _share(B, B.mul(g, label_smoothing / max(p.shape[axis], 1)), weights, reduction)
        share = B.expand(share, tuple(labels.shape))
        share = B.unsqueeze(B.where(valid, B.neg(share), B.zeros_like(share)), axis)
        if weight is not None:
            share = B.mul(share, _class_vector(B, weight, p))
        g_scores = B.add(B.mul(g_scores, 1 - label_smoothing), share)
    return B.sub(g_scores, B.mul(p, B.sum(g_scores, (axis,), True)))
