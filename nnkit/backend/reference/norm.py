"""The normalizations over the algebra: each is `standardize` of another view."""

from __future__ import annotations

import math


def standardize(B, x, weight, bias, axes, eps, centre):
    """``(x - mean) / sqrt(variance + eps) * weight + bias``; the mean is 0 without ``centre``.
    The parameters have a shape that is broadcast over ``x``."""
    mean = B.mean(x, axes, True)
    if not centre:
        mean = B.zeros_like(mean)
    centred = B.sub(x, mean)
    variance = B.mean(B.square(centred), axes, True)
    out = B.mul(centred, B.rsqrt(B.add(variance, eps)))
    if weight is not None:
        out = B.mul(out, weight)
    if bias is not None:
        out = B.add(out, bias)
    return out, mean, variance


def standardize_grad(B, g, x, weight, mean, variance, axes, eps, centre):
    # The statistics are computed anew, so that this can be differentiated by x alone.
    standard, _, variance = B.standardize(x, None, None, axes, eps, centre)
    g_x = g if weight is None else B.mul(g, weight)
    if centre:
        g_x = B.sub(g_x, B.mean(g_x, axes, True))
    along = B.mul(standard, B.mean(B.mul(g_x, standard), axes, True))
    g_x = B.mul(B.sub(g_x, along), B.rsqrt(B.add(variance, eps)))
    return g_x, None if weight is None else B.sum_to(B.mul(g, standard), tuple(weight.shape))


def _reshaped(B, x, shape):
    return x if x is None or tuple(x.shape) == shape else B.reshape(x, shape)


def _forward(B, x, weight, bias, view, eps, centre=True):
    shape, parameters, axes = view
    weight, bias = _reshaped(B, weight, parameters), _reshaped(B, bias, parameters)
    out, mean, variance = B.standardize(_reshaped(B, x, shape), weight, bias, axes, eps, centre)
    return _reshaped(B, out, tuple(x.shape)), mean, variance


def _backward(B, g, x, weight, mean, variance, view, eps, centre=True):
    shape, parameters, axes = view
    g_x, g_weight = B.standardize_grad(
        _reshaped(B, g, shape), _reshaped(B, x, shape), _reshaped(B, weight, parameters),
        mean, variance, axes, eps, centre,
    )  # fmt: skip
    if g_weight is not None:
        g_weight = _reshaped(B, g_weight, tuple(weight.shape))
    return _reshaped(B, g_x, tuple(x.shape)), g_weight


# Each view: the shape of x, the shape of its parameters, the axes of one mean.


def _rows(x, ndim):
    inner = math.prod(x.shape[x.ndim - ndim :])
    return (math.prod(x.shape[: x.ndim - ndim]), inner), (inner,), (1,)


def _groups(x, groups):
    width = x.shape[1] // groups
    return (x.shape[0], groups, width, math.prod(x.shape[2:])), (groups, width, 1), (2, 3)


def _channels(x):
    return (x.shape[0], x.shape[1], math.prod(x.shape[2:])), (x.shape[1], 1), (0, 2)


def layer_norm(B, x, weight, bias, ndim, eps):
    return _forward(B, x, weight, bias, _rows(x, ndim), eps)


def layer_norm_grad(B, g, x, weight, mean, variance, ndim, eps):
    return _backward(B, g, x, weight, mean, variance, _rows(x, ndim), eps)


def rms_norm(B, x, weight, ndim, eps):
    out, _, variance = _forward(B, x, weight, None, _rows(x, ndim), eps, False)
    return out, variance


def rms_norm_grad(B, g, x, weight, variance, ndim, eps):
    return _backward(B, g, x, weight, variance, variance, _rows(x, ndim), eps, False)


def group_norm(B, x, weight, bias, groups, eps):
    return _forward(B, x, weight, bias, _groups(x, groups), eps)


def group_norm_grad(B, g, x, weight, mean, variance, groups, eps):
    return _backward(B, g, x, weight, mean, variance, _groups(x, groups), eps)


def batch_norm(B, x, weight, bias, eps):
    return _forward(B, x, weight, bias, _channels(x), eps)


def batch_norm_grad(B, g, x, weight, mean, variance, eps):
    return _backward(B, g, x, weight, mean, variance, _channels(x), eps)


def batch_norm_eval(B, x, weight, bias, mean, scale):
    """``(x - mean) * scale * weight + bias`` for each channel, in the dtype of ``scale``."""
    if x.dtype != scale.dtype:
        wide = [None if t is None else B.cast(t, scale.dtype) for t in (x, weight, bias, mean)]
        return B.cast(B.batch_norm_eval(*wide, scale), x.dtype)
    shape = (-1,) + (1,) * (x.ndim - 2)
    if weight is not None:
        scale = B.mul(scale, weight)
    shift = B.neg(B.mul(mean, scale))
    if bias is not None:
        shift = B.add(shift, bias)
    return B.add(B.mul(x, B.reshape(scale, shape)), B.reshape(shift, shape))


def batch_norm_eval_grad(B, g, x, weight, mean, scale, weighted):
    """The gradients of x, and of the weight if it is ``weighted``."""
    shape = (-1,) + (1,) * (x.ndim - 2)
    g_x = B.mul(g, B.reshape(scale if weight is None else B.mul(scale, weight), shape))
    if not weighted:
        return g_x, None
    centred = B.sub(x, B.reshape(mean, shape))
    along = B.sum(B.mul(g, centred), (0, *range(2, g.ndim)), False)
    return g_x, B.mul(along, scale)


def update_running_(B, running_mean, running_var, mean, variance, momentum, correction):
    shape = tuple(running_mean.shape)
    for running, new in ((running_mean, mean), (running_var, B.mul(variance, correction))):
        kept = B.mul(running, 1 - momentum)
        B.copy_(running, B.add(kept, B.mul(B.reshape(new, shape), momentum)))
    return running_mean
