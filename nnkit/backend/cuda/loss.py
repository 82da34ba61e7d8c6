"""Losses on class labels; kernels/loss.cu. Classes stand on axis 1, or 0 without a batch.

A label out of range is reported (backend/cuda/failures.py) and counts as ignored.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from nnkit.backend.cuda import failures
from nnkit.backend.cuda.ctc import ctc_loss, ctc_loss_grad  # noqa: F401
from nnkit.backend.cuda.differences import contiguous, empty, same_dtype
from nnkit.backend.cuda.launch import THREADS, blocks_for
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.cuda.team import team_for
from nnkit.backend.dtype import HALF

I8, F4 = np.dtype(np.int64), np.dtype(np.float32)
REDUCTIONS = ("none", "mean", "sum")
ONE_BLOCK = (1024,)  # threads of a kernel that is a single block


class Labels(ctypes.Structure):
    _fields_ = tuple((n, ctypes.c_int64) for n in ("count", "classes", "inner", "ignore_index"))


def _labels(shape: tuple[int, ...], target: Any, ignore_index: int) -> tuple[Labels, Any]:
    classes = shape[1 if len(shape) > 1 else 0]
    inner = math.prod(shape[2:])
    target = same_dtype(target, I8)
    return Labels(target.size, classes, inner, ignore_index), contiguous(target)


def _teams(labels: Labels) -> tuple[int, int, int]:
    processors = current_machine().processors
    return team_for(labels.count, labels.classes, labels.inner, processors)


def _like(weight: Any, x: Any) -> Any:
    """The weights of the classes in the dtype of the scores."""
    if weight is None:
        return None
    return contiguous(same_dtype(weight, x.dtype))


def _wide(dtype: np.dtype) -> np.dtype:
    return F4 if dtype in HALF else dtype


def cross_entropy(x, target, weight, ignore_index, reduction, label_smoothing):
    x, weight = contiguous(x), _like(weight, x)
    labels, target = _labels(x.shape, target, ignore_index)
    p = empty(x.shape, x.dtype, x)
    losses, weights = (empty(target.shape, _wide(x.dtype), x) for _ in range(2))
    if labels.count:
        kind, blocks, threads = _teams(labels)
        given = (x, target, weight, p, losses, weights, *failures.report(failures.TARGET), labels)
        run = kernel("loss", "cross_entropy", x.dtype, kind)
        run((blocks,), (threads,), (*given, np.float64(label_smoothing)))
    return _reduced(losses, weights, reduction, x), p


def nll_loss(x, target, weight, ignore_index, reduction):
    x, weight = contiguous(x), _like(weight, x)
    labels, target = _labels(x.shape, target, ignore_index)
    losses, weights = (empty(target.shape, _wide(x.dtype), x) for _ in range(2))
    if labels.count:
        blocks = blocks_for(labels.count, THREADS, current_machine().processors)
        given = (x, target, weight, losses, weights, *failures.report(failures.LABEL), labels)
        kernel("loss", "nll_loss", x.dtype)((blocks,), (THREADS,), given)
    return _reduced(losses, weights, reduction, x)


def _reduced(losses: Any, weights: Any, reduction: str, x: Any) -> Any:
    count = np.int64(losses.size)
    if reduction != "none":
        out = empty((), x.dtype, x)
        run = kernel("loss", "reduce_losses", x.dtype, reduction == "mean")
        run((1,), ONE_BLOCK, (losses, weights, out, count))
        return out
    if losses.dtype == x.dtype:
        return losses
    out = empty(losses.shape, x.dtype, x)
    if losses.size:
        blocks = blocks_for(losses.size, THREADS, current_machine().processors)
        kernel("loss", "round_losses", x.dtype)((blocks,), (THREADS,), (losses, out, count))
    return out


def _totals(x: Any, target: Any, weight: Any, labels: Labels) -> Any:
    totals = empty((2,), _wide(x.dtype), x)
    kernel("loss", "weight_totals", x.dtype)((1,), ONE_BLOCK, (target, weight, totals, labels))
    return totals


def cross_entropy_grad(g, probabilities, target, weight, ignore_index, reduction, label_smoothing):
    p, weight = contiguous(probabilities), _like(weight, probabilities)
    labels, target = _labels(p.shape, target, ignore_index)
    out = empty(p.shape, p.dtype, p)
    if p.size:
        kind, blocks, threads = _teams(labels)
        given = (contiguous(g), p, target, weight, _totals(p, target, weight, labels), out, labels)
        statics = (np.int32(REDUCTIONS.index(reduction)), np.float64(label_smoothing))
        run = kernel("loss", "cross_entropy_grad", p.dtype, kind)
        run((blocks,), (threads,), (*given, *statics))
    return out


def nll_loss_grad(g, x, target, weight, ignore_index, reduction):
    weight = _like(weight, x)
    labels, target = _labels(x.shape, target, ignore_index)
    out = empty(x.shape, x.dtype, x)
    if x.size:
        kind, blocks, threads = _teams(labels)
        given = (contiguous(g), target, weight, _totals(x, target, weight, labels), out, labels)
        run = kernel("loss", "nll_loss_grad", x.dtype, kind)
        run((blocks,), (threads,), (*given, np.int32(REDUCTIONS.index(reduction))))
    return out
