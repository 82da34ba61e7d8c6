"""Normalization over some axes, in blocks small enough for the cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nnkit.backend.cpu.rows import sum_along
from nnkit.backend.dtype import HALF

BLOCK = 1 << 17  # elements; smaller blocks cost more Python than they save memory traffic


def standardize(x, weight, bias, axes, eps, centre):
    x = np.ascontiguousarray(x)
    half = x.dtype in HALF
    if x.size <= BLOCK and not half:
        return _standardize(x, weight, bias, axes, eps, centre)
    keep = _keeper(x, weight, axes, eps) if half and 0 in axes else None
    kept = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    out = np.empty(x.shape, x.dtype)
    mean, variance = (np.empty(kept, np.float32 if half else x.dtype) for _ in range(2))
    for at in _blocks(x, axes):
        out[at], mean[at], variance[at] = _standardize(
            _wide(x[at]), _part(weight, x, at), _part(bias, x, at), axes, eps, centre, keep
        )
    return out, mean, variance


def standardize_grad(g, x, weight, mean, variance, axes, eps, centre):
    g, x = np.ascontiguousarray(g), np.ascontiguousarray(x)
    if x.size <= BLOCK and x.dtype not in HALF:
        return _standardize_grad(g, x, weight, mean, variance, axes, eps, centre)
    g_x = np.empty(x.shape, x.dtype)
    g_weight: Any = None if weight is None else np.zeros(weight.shape, mean.dtype)
    keep = _keeper(x, weight, axes, eps) if x.dtype in HALF and centre else None
    for at in _blocks(x, axes):
        statistics = mean[at], variance[at]
        g_x[at], part = _standardize_grad(
            _wide(g[at]), _wide(x[at]), _part(weight, x, at), *statistics, axes, eps, centre, keep
        )
        if part is not None:
            total = _part(g_weight, x, at)
            total += part
    return g_x, None if weight is None else g_weight.astype(x.dtype, copy=False)


def update_running_(running_mean, running_var, mean, variance, momentum, correction):
    for running, new, scale in (
        (running_mean, mean, momentum),
        (running_var, variance, momentum * correction),
    ):
        kept = _wide(running) * (1 - momentum)
        running[...] = kept + new.reshape(running.shape) * new.dtype.type(scale)
    return running_mean


def _keeper(x: Any, weight: Any, axes: tuple[int, ...], eps: float) -> Callable | None:
    """The rounding of saved statistics as torch does it: the mean and the inverse deviation go to
    the dtype of the input. None where the parameters have another dtype."""
    if weight is not None and weight.dtype != x.dtype:
        return None
    narrow = lambda statistic: statistic.astype(x.dtype).astype(np.float32)
    count = np.float32(math.prod([x.shape[a] for a in axes]))
    of_channels = 0 in axes and x.dtype != np.float16

    def keep(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if of_channels:  # those of bfloat16 it rounds on the way
            variance = narrow(narrow(variance * count) / count)
        return narrow(mean), narrow(1 / np.sqrt(variance + eps))

    return keep


def _standardize(x, weight, bias, axes, eps, centre, keep=None):
    count = math.prod([x.shape[a] for a in axes])
    if centre:
        if count:
            first = x[tuple([slice(0, 1) if a in axes else slice(None) for a in range(x.ndim)])]
            first = np.where(np.isfinite(first), first, 0)
        else:
            first = sum_along(x, axes)  # 0
        mean = sum_along(x - first, axes)  # the mean of equal numbers is that number
        mean = first + mean / max(count, 1)
        out = np.subtract(x, mean, order="C")
        variance = sum_along(out * out, axes)
    else:
        variance = sum_along(x * x, axes)
        mean = np.zeros_like(variance)
        out = x
    variance /= count
    scale = 1 / np.sqrt(variance + eps)
    if keep is not None:
        kept, scale = keep(mean, variance)
        out = np.subtract(x, kept, order="C")
    out = np.multiply(out, scale, out=out if centre else None, order="C")
    if weight is not None:
        out *= weight
    if bias is not None:
        out += bias
    return out, mean, variance


def _standardize_grad(g, x, weight, mean, variance, axes, eps, centre, keep=None):
    count = math.prod([x.shape[a] for a in axes])
    scale, exact = 1 / np.sqrt(variance + eps), mean
    if keep is not None:
        mean, scale = keep(mean, variance)
    standard = x - mean if centre else x.copy()
    standard *= scale
    g_x = g.copy() if weight is None else np.multiply(g, weight, order="C")
    if centre:
        across = sum_along(g_x, axes)
        across /= count
        g_x -= across
    # Without the mean slope in it, so that no rounding of the mean is left of equal slopes.
    along = sum_along(g_x * standard, axes)
    along /= count
    if centre:
        along += across * (exact - mean) * scale
    g_x -= standard * along
    g_x *= scale
    if weight is None:
        return g_x, None
    standard *= g
    lead = x.ndim - weight.ndim
    same = (*range(lead), *(lead + i for i, n in enumerate(weight.shape) if n == 1))
    return g_x, sum_along(standard, same).reshape(weight.shape)


def _blocks(x: np.ndarray, axes: tuple[int, ...]) -> Iterator[tuple]:
    """Indices that divide ``x`` along the first axis that is not summed over."""
    along = next((a for a in range(x.ndim) if a not in axes), None)
    if along is None or not x.size:
        yield ()
        return
    step = max(1, BLOCK * x.shape[along] // x.size)
    for start in range(0, x.shape[along], step):
        yield (*(slice(None),) * along, slice(start, start + step))


def _part(parameter: np.ndarray | None, x: np.ndarray, at: tuple) -> Any:
    """The part for block ``at`` of ``x`` of a parameter that is broadcast over ``x``."""
    if parameter is None:
        return None
    axis = len(at) - 1 - (x.ndim - parameter.ndim)
    divided = axis >= 0 and parameter.shape[axis] > 1
    return _wide(parameter[(*(slice(None),) * axis, at[-1])] if divided else parameter)


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype in HALF else x
