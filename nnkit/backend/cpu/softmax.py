"""Softmax and its logarithm: each slice along the axis is shifted by its maximum first."""

from __future__ import annotations

import numpy as np

from nnkit.backend.cpu.rows import by_blocks, max_along, sum_along
from nnkit.backend.dtype import HALF

_exp, _log, _subtract, _multiply = np.exp, np.log, np.subtract, np.multiply


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    return _apply(_softmax, axis, x)


def softmax_grad(g: np.ndarray, out: np.ndarray, axis: int) -> np.ndarray:
    return _apply(_softmax_grad, axis, g, out)


def log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    return _apply(_log_softmax, axis, x)


def log_softmax_grad(g: np.ndarray, out: np.ndarray, axis: int) -> np.ndarray:
    return _apply(_log_softmax_grad, axis, g, out)


def _apply(kernel, axis: int, *arrays: np.ndarray) -> np.ndarray:
    first = arrays[0]
    if first.dtype in HALF:
        last = not first.ndim or axis % first.ndim == first.ndim - 1
        steps = STEPS_OF_HALF.get((kernel, last))
        if steps is not None and first.size:
            return np.asarray(steps(first.astype(np.float32), axis, first.dtype), order="C")
        wide = _apply(kernel, axis, *(a.astype(np.float32) for a in arrays))
        return wide.astype(first.dtype)
    if not first.ndim:
        return _apply(kernel, 0, *(a.reshape(1) for a in arrays)).reshape(())
    result = np.empty(first.shape, first.dtype)
    if result.size:
        by_blocks(kernel, axis, result, *arrays)
    return result


def _softmax(x, axis, out):
    _subtract(x, max_along(x, axis), out)
    _exp(out, out)
    out /= sum_along(out, axis)


# In half precision torch stores what it computes between: the exponentials of a softmax along
# another axis than the last, and along the last the sum for a logarithm, and its logarithm.


def _softmax_of_half(x, axis, half):
    exponentials = _exp(x - max_along(x, axis))
    stored = exponentials.astype(half).astype(np.float32)
    return (stored / sum_along(exponentials, axis)).astype(half)


def _log_softmax_of_half(x, axis, half):
    if not x.ndim:
        return (x - x).astype(half)
    shifted = x - max_along(x, axis)
    total = sum_along(_exp(shifted), axis).astype(half).astype(np.float32)
    return (shifted - _log(total).astype(half).astype(np.float32)).astype(half)


def _softmax_grad(g, y, axis, out):
    _multiply(g, y, out)
    total = sum_along(out, axis)
    _subtract(g, total, out)
    out *= y


def _log_softmax(x, axis, out):
    _subtract(x, max_along(x, axis), out)
    out -= _log(sum_along(_exp(out), axis))


def _log_softmax_grad(g, y, axis, out):
    _exp(y, out)
    out *= sum_along(g, axis)
    _subtract(g, out, out)


# By the kernel, and whether it goes along the last axis.
STEPS_OF_HALF = {(_softmax, False): _softmax_of_half, (_log_softmax, True): _log_softmax_of_half}
