"""What the losses are, over the algebra. Classes stand on axis 1, or 0 where there is no batch."""

from __future__ import annotations


def reduce_losses(B, losses, reduction):
    if reduction == "mean":
        return B.mean(losses, None, False)
    return B.sum(losses, None, False) if reduction == "sum" else losses


def _class_axis(x):
    return 1 if x.ndim > 1 else 0


def _class_vector(B, weight, x):
    """The weights of the classes, to be broadcast over ``x``."""
    return B.reshape(weight, (-1,) + (1,) * max(x.ndim - 2, 0))


def _labels(B, target, ignore_index):
    valid = B.ne(target, ignore_index)
    return B.where(valid, target, B.zeros_like(target)), valid


def _label_weights(B, valid, labels, weight, like):
    """The weight of each label, 0 where it is ignored; of the dtype of ``like``."""
    if weight is None:
        weights = B.expand(B.ones_like(like), tuple(labels.shape))
    else:
        weights = B.reshape(B.index_select(weight, B.reshape(labels, (-1,)), 0), labels.shape)
    return B.where(valid, weights, B.zeros_like(weights))


def nll_loss(B, x, target, weight, ignore_index, reduction):
    axis = _class_axis(x)
    labels, valid = _labels(B, target, ignore_index)
    picked = B.squeeze(B.gather(x, B.unsqueeze(labels, axis), axis), (axis,))
    weights = _label_weights(B, valid, labels, weight, picked)
    losses = B.mul(B.neg(picked), weights)
    losses = B.where(valid, losses, B.zeros_like(losses))
    total_weight = B.sum(weights, None, False)
    if reduction != "mean":
        total_weight = B.ones_like(total_weight)
    if reduction != "none":
        losses = B.sum(losses, None, False)
    return B.div(losses, total_weight), total_weight


def nll_loss_grad(B, g, x, target, weight, total_weight, ignore_index, reduction):
    axis = _class_axis(x)
    labels, valid = _labels(B, target, ignore_index)
    each = B.div(g, total_weight)
    each = B.mul(each, _label_weights(B, valid, labels, weight, each))
    each = B.where(valid, B.neg(each), B.zeros_like(each))
    return B.scatter(B.zeros_like(x), B.unsqueeze(labels, axis), B.unsqueeze(each, axis), axis)


def cross_entropy(B, x, target, weight, ignore_index, reduction, label_smoothing):
    axis = _class_axis(x)
    scores = B.log_softmax(x, axis)
    loss, total_weight = B.nll_loss(scores, target, weight, ignore_index, reduction)
    if label_smoothing:
        valid = B.ne(target, ignore_index)
        weighted = scores if weight is None else B.mul(scores, _class_vector(B, weight, x))
        smooth = B.neg(B.sum(weighted, axis, False))
        smooth = B.where(valid, smooth, B.zeros_like(smooth))
        if reduction != "none":
            smooth = B.div(B.sum(smooth, None, False), total_weight)
        share = label_smoothing / x.shape[axis]
        loss = B.add(B.mul(loss, 1 - label_smoothing), B.mul(smooth, share))
    return loss, B.exp(scores), total_weight


def cross_entropy_grad(
    B, g, probabilities, target, weight, total_weight, ignore_index, reduction, label_smoothing
):
    p = probabilities
    axis = _class_axis(p)
    statics = (ignore_index, reduction)
    hard = B.nll_loss_grad(g, p, target, weight, total_weight, *statics)
    if label_smoothing:
        labels, valid = _labels(B, target, ignore_index)
        share = B.div(B.mul(g, label_smoothing / p.shape[axis]), total_weight)
        share = B.unsqueeze(B.where(valid, share, B.zeros_like(share)), axis)
        soft = B.neg(share) if weight is None else B.mul(B.neg(share), _class_vector(B, weight, p))
        hard = B.add(B.mul(hard, 1 - label_smoothing), soft)
    return B.sub(hard, B.mul(p, B.sum(hard, axis, True)))
