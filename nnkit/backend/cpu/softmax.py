"""Softmax and its logarithm: each slice along the axis is shifted by its maximum first."""

from __future__ import annotations

import numpy as np

from nnkit.backend.cpu.rows import by_blocks, max_along, sum_along
from nnkit.backend.dtype import HALF

__all__ = ["log_softmax", "log_softmax_grad", "softmax", "softmax_grad"]

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
