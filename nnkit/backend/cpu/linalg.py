"""Products of vectors, matrices and stacks of matrices, left to the BLAS that NumPy has.

`numpy.dot` costs half of what `numpy.matmul` does on small matrices, and copies operands whose
strides BLAS cannot read; stacks of matrices need `numpy.matmul`.
"""

from __future__ import annotations

import math

import numpy as np

from nnkit.backend.cpu.half import rounded
from nnkit.backend.dtype import HALF

F4 = np.dtype(np.float32)
# The method, since `np.dot` first asks its operands for `__array_function__`: 0.4 us.
_dot, _matmul = np.ndarray.dot, np.matmul


def _in_float32(product, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return rounded(product(x.astype(F4), y.astype(F4)), x.dtype)


def mm(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _in_float32(_dot, x, y) if x.dtype in HALF else _dot(x, y)


mv = mm


def bmm(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _in_float32(_by_rows, x, y) if x.dtype in HALF else _by_rows(x, y)


def _by_rows(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The products by rows; NumPy keeps the order of the stacks."""
    result = _matmul(x, y)
    return result if result.ndim < 3 or result.flags.c_contiguous else result.copy()


def matmul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`numpy.matmul`; stacked rows times one matrix are a single product."""
    if y.ndim > 2 or x.ndim < 2:
        return np.asarray(bmm(x, y))
    if x.ndim == 2:
        return mm(x, y)
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    return mm(rows, y).reshape(x.shape[:-1] + y.shape[1:])


def dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(mm(x, y))


def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    dtype = x.dtype
    if dtype in HALF:
        bias = None if bias is None else bias.astype(F4)
        return rounded(linear(x.astype(F4), weight.astype(F4), bias), dtype)
    if x.ndim == 2:
        out = _dot(x, weight.T)
    else:
        out = np.asarray(matmul(x, weight.T))
    if bias is not None:
        out += bias
    return out


def linear_grad_weight(g: np.ndarray, x: np.ndarray) -> np.ndarray:
    if g.ndim != 2:
        g, x = (a.reshape(math.prod(a.shape[:-1]), a.shape[-1]) for a in (g, x))
    return mm(g.T, np.conjugate(x) if x.dtype.kind == "c" else x)


def addmm(input: np.ndarray, x: np.ndarray, y: np.ndarray, beta: float, alpha: float) -> np.ndarray:
    """``beta * input + alpha * (x @ y)``; with ``beta`` 0 not even a NaN of ``input`` counts."""
    dtype = x.dtype
    if dtype in HALF:
        wide = addmm(input.astype(F4), x.astype(F4), y.astype(F4), beta, alpha)
        return rounded(wide, dtype)
    out = _matmul(x, y) if x.ndim > 2 else _dot(x, y)
    if alpha != 1:
        out *= alpha
    if beta == 1:
        out += input
    elif beta != 0:
        out += np.multiply(input, beta)
    return out


baddbmm = addmm
