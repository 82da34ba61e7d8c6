"""Losses on class labels. Classes stand on axis 1, or 0 where there is no batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from nnkit.backend.cpu.ctc import ctc_loss, ctc_loss_grad  # noqa: F401
from nnkit.backend.cpu.rows import BLOCK, SHORT, sum_along
from nnkit.backend.cpu.summation import ONES
from nnkit.backend.dtype import HALF

_INT64, _UINT64 = np.dtype(np.int64), np.dtype(np.uint64)
_maximum: Any = np.maximum.reduce
_add, _exp, _log = np.add.reduce, np.exp, np.log
_arange, _dot = np.arange, np.ndarray.dot


def cross_entropy(x, target, weight, ignore_index, reduction, label_smoothing):
    if weight is None and not label_smoothing and x.ndim == 2 and x.size <= BLOCK:
        known = _small_cross_entropy(x, target, ignore_index, reduction)
        if known is not None:
            return known
    if x.dtype in HALF:
        wide = cross_entropy(
            x.astype(np.float32), target, _wide(weight), ignore_index, reduction, label_smoothing
        )
        return wide[0].astype(x.dtype), wide[1].astype(x.dtype)
    classes = x.shape[1] if x.ndim > 1 else x.shape[0]
    labels, ignored = _labels("cross_entropy", target, classes, ignore_index)
    if x.ndim == 2 and classes > SHORT:
        axis, scores = 1, x
    else:
        # Few classes: one long row for each, since a NumPy reduction pays for each of its results.
        axis, scores = 0, _class_rows(x)
    p = np.empty(scores.shape, x.dtype)
    losses, smooth = _losses(scores, labels, p, axis, weight, label_smoothing)
    weights = _label_weights(labels, ignored, weight, x.dtype)
    if weights is not None:
        losses *= weights
    if ignored is not None:
        losses[ignored] = 0
    if label_smoothing:
        if ignored is not None:
            smooth[ignored] = 0
        losses *= 1 - label_smoothing
        losses += smooth * x.dtype.type(label_smoothing / max(classes, 1))
    if axis == 0:
        p = p.T if x.ndim < 3 else np.moveaxis(p.reshape(classes, len(x), *x.shape[2:]), 0, 1)
    return _reduce(losses, weights, reduction, target.shape), p.reshape(x.shape)


def _small_cross_entropy(x, target, ignore_index, reduction):
    """The plain case at half the cost; None where it is not plain."""
    count, classes = x.shape
    if not x.size or classes > SHORT or 0 <= ignore_index < classes or x.dtype in HALF:
        return None
    # Ignored labels, and what is no class: negative ones are huge.
    if target.dtype.itemsize != 8 or _maximum(target.view(_UINT64)) >= classes:
        return None
    p = x.T.copy()
    p -= _maximum(p)
    picked = target * count
    picked += _arange(count)
    losses = p.take(picked)
    _exp(p, p)
    ones = ONES[p.dtype]
    total = _dot(ones[:classes], p)
    p /= total
    _log(total, total)
    total -= losses
    if reduction == "none":
        return total, p.T
    loss = _dot(ones[:count], total) if count <= len(ones) else _add(total)
    return np.asarray(loss / x.dtype.type(count) if reduction == "mean" else loss), p.T


def cross_entropy_grad(g, probabilities, target, weight, ignore_index, reduction, label_smoothing):
    p = probabilities
    if p.dtype in HALF:
        wide = cross_entropy_grad(
            _wide(g), _wide(p), target, _wide(weight), ignore_index, reduction, label_smoothing
        )
        return wide.astype(p.dtype)
    axis = 1 if p.ndim > 1 else 0
    classes = p.shape[axis]
    labels, ignored = _labels("cross_entropy", target, classes, ignore_index)
    if p.ndim == 2 and reduction == "mean" and ignored is weight is None and not label_smoothing:
        # The plain case: half the calls.
        each = g / len(labels)
        out = np.multiply(p, each, order="C")  # the line below writes through a flat view
        out.reshape(-1)[_flat_index(labels, p.shape)] -= each
        return out
    each, share = _shares(g, labels, ignored, weight, reduction, p.dtype)
    scale = each
    if label_smoothing:
        each = each * p.dtype.type(1 - label_smoothing)
        share = share * p.dtype.type(label_smoothing / max(classes, 1))
        scale = each + share * (classes if weight is None else _add(weight))
    out = p.copy()
    out *= _beside_classes(scale, target.shape, axis)
    if label_smoothing:
        share = _beside_classes(share, target.shape, axis)
        out -= share if weight is None else share * _class_vector(weight, p.ndim)
    flat = out.reshape(-1)
    flat[_flat_index(labels, p.shape)] -= each
    return out


def nll_loss(x, target, weight, ignore_index, reduction):
    classes = x.shape[1] if x.ndim > 1 else x.shape[0]
    labels, ignored = _labels("nll_loss", target, classes, ignore_index)
    losses = np.negative(x.reshape(-1)[_flat_index(labels, x.shape)])
    weights = _label_weights(labels, ignored, weight, x.dtype)
    if weights is not None:
        losses *= weights
    if ignored is not None:
        losses[ignored] = 0
    if x.dtype in HALF and reduction != "none":
        counted = np.ones(len(labels), bool) if ignored is None else ~ignored
        return _reduce_in_steps(losses, None if weight is None else weights, counted, reduction)
    return _reduce(losses, weights, reduction, target.shape)


def _reduce_in_steps(losses, weights, counted, reduction):
    """The sum or the mean of the losses that count, in half precision."""
    total = _sum_in_steps(losses, counted)
    if reduction == "mean":
        whole = counted.sum() if weights is None else _sum_in_steps(weights, counted)
        total = total.astype(np.float32) / np.float32(losses.dtype.type(whole))
    return np.asarray(total, losses.dtype)


def _sum_in_steps(x, counted):
    """The sum as torch's loop over labels has it, rounded after each addition: what comes after a
    multiple of 16 goes into the sum of the next level, and this likewise."""
    parts = np.zeros(8, x.dtype)
    for i in np.flatnonzero(counted):
        parts[0] += x[i]
        level, place = 0, i
        while level < 7 and place % 16 == 0:
            parts[level + 1] += parts[level]
            parts[level] = 0
            level, place = level + 1, place // 16
    total = x.dtype.type(0)
    for part in parts:
        total = total + part
    return total


def nll_loss_grad(g, x, target, weight, ignore_index, reduction):
    if x.dtype in HALF:
        x = x.astype(np.float32)
        wide = nll_loss_grad(_wide(g), x, target, _wide(weight), ignore_index, reduction)
        return wide.astype(g.dtype)
    classes = x.shape[1] if x.ndim > 1 else x.shape[0]
    labels, ignored = _labels("nll_loss", target, classes, ignore_index)
    each, _ = _shares(g, labels, ignored, weight, reduction, x.dtype)
    out = np.zeros(x.shape, x.dtype)
    out.reshape(-1)[_flat_index(labels, x.shape)] = -each
    return out


def _wide(x):
    return None if x is None else x.astype(np.float32)


def _labels(name, target, classes, ignore_index) -> tuple[np.ndarray, np.ndarray | None]:
    """The labels as one int64 vector, and a mask of the ignored ones (None: there is none)."""
    labels = target if target.dtype is _INT64 else target.astype(_INT64)
    if labels.ndim != 1:
        labels = labels.reshape(-1)
    # A negative label is a huge unsigned number, so one maximum checks both ends of the range.
    if not labels.size or (
        not 0 <= ignore_index < classes and _maximum(labels.view(_UINT64)) < classes
    ):
        return labels, None
    ignored = labels == ignore_index
    labels = np.where(ignored, 0, labels)
    wrong = labels.view(_UINT64) >= classes
    if wrong.any():
        raise IndexError(
            f"{name}(): Target {labels[wrong][0]} is out of bounds for {classes} classes"
        )
    return labels, ignored


def _label_weights(labels, ignored, weight, dtype) -> np.ndarray | None:
    """The weight of each label, 0 where it is ignored; None where all weigh 1."""
    if weight is None:
        return None if ignored is None else (~ignored).astype(dtype)
    weights = weight.take(labels)
    return weights if ignored is None else np.where(ignored, 0, weights)


def _flat_index(labels: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The position of each label's class in the flattened array of that shape."""
    if len(shape) == 1 or not labels.size:
        return labels
    classes = shape[1]
    if len(shape) == 2:
        index = _arange(0, shape[0] * classes, classes)
        index += labels
        return index
    inner = len(labels) // (shape[0] or 1)
    index = labels.reshape(shape[0], inner) * inner
    index += (_arange(shape[0]) * (classes * inner))[:, None]
    index += _arange(inner)
    return index.reshape(-1)


def _class_rows(x: np.ndarray) -> np.ndarray:
    """``x`` as (classes, labels)."""
    if x.ndim == 2:
        return x.T
    if x.ndim == 1:
        return x.reshape(-1, 1)
    return np.moveaxis(x, 1, 0).reshape(x.shape[1], x.size // (x.shape[1] or 1))


def _class_vector(weight: np.ndarray, ndim: int) -> np.ndarray:
    return weight.reshape((-1,) + (1,) * (ndim - 2)) if ndim > 2 else weight


def _beside_classes(each: np.ndarray, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """A number for each label, to be broadcast over the classes."""
    return np.expand_dims(each.reshape(shape), axis) if each.ndim else each


def _losses(scores, labels, p, axis, weight, label_smoothing) -> tuple[Any, Any]:
    """-log softmax(scores)[label], and its weighted sum over all classes if labels are smoothed.
    Writes the softmax into ``p``."""
    if p.size <= BLOCK:
        return _block_losses(scores, labels, p, axis, weight, label_smoothing)
    step = max(1, BLOCK * len(labels) // p.size)
    parts = []
    for start in range(0, len(labels), step):
        block = slice(start, start + step)
        at = block if axis else (slice(None), block)
        part = _block_losses(scores[at], labels[block], p[at], axis, weight, label_smoothing)
        parts.append(part)
    losses, smooth = zip(*parts, strict=True)
    return np.concatenate(losses), np.concatenate(smooth) if label_smoothing else None


def _block_losses(scores, labels, p, axis, weight, label_smoothing):
    if not p.size:
        return np.zeros(len(labels), p.dtype), np.zeros(len(labels), p.dtype)
    np.copyto(p, scores)
    p -= _maximum(p, axis, keepdims=True)
    row = _arange(len(labels))
    picked = p[row, labels] if axis else p[labels, row]
    smooth = None
    if label_smoothing:
        weighted = p if weight is None else p * (weight if axis else weight[:, None])
        smooth = _add(weighted, axis)
    _exp(p, p)
    total = sum_along(p, axis)
    p /= total
    normalizer = _log(total, total).reshape(-1)
    if label_smoothing:
        smooth = normalizer * (p.shape[axis] if weight is None else _add(weight)) - smooth
    normalizer -= picked
    return normalizer, smooth


def _reduce(losses, weights, reduction, shape) -> np.ndarray:
    if reduction == "none":
        return losses.reshape(shape)
    total = _add(losses)
    if reduction == "mean":
        total = total / losses.dtype.type(losses.size if weights is None else _add(weights))
    return np.asarray(total)


def _shares(g, labels, ignored, weight, reduction, dtype) -> tuple[np.ndarray, np.ndarray]:
    """The part of ``g`` that each label's loss gets, with and without its weight."""
    weights = _label_weights(labels, ignored, weight, dtype)
    if reduction == "none":
        share = g.reshape(-1)
    elif reduction == "mean":
        share = g / (labels.size if weights is None else _add(weights))
    else:
        share = g
    each = share if weights is None else share * weights
    if ignored is None:
        return each, share
    return np.where(ignored, 0, each), np.where(ignored, 0, share)
