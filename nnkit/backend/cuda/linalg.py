"""Products of vectors, matrices and stacks of matrices, by cuBLAS.

Operands are read where they lie, transposed or not; only strides that cuBLAS cannot express make a
copy. Integers are left to CuPy.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nnkit.backend.cuda.blas import KINDS
from nnkit.backend.cuda.creation import cast
from nnkit.backend.cuda.differences import array_module, contiguous, empty
from nnkit.backend.cuda.launch import Plans, fold
from nnkit.backend.cuda.source import current_machine


class Reading(NamedTuple):
    """A stack of matrices in cuBLAS' terms."""

    transposed: bool
    step: int  # elements between rows
    stride: int  # elements between matrices


_readings = Plans()


def operand(x: Any, batch: tuple) -> tuple[Any, bool, int, int]:
    """``x`` (..., rows, columns) broadcast to the batch dimensions, and how it is read; copied if
    need be."""
    key = x.shape, x.strides, x.itemsize, batch
    reading = _readings.get(key) or _readings.keep(key, _reading(x, batch))
    if reading.step:
        return x, *reading
    rows, columns = x.shape[-2:]
    dense = contiguous(array_module(x).broadcast_to(x, (*batch, rows, columns)))
    return dense, False, max(columns, 1), rows * columns


COPIED = Reading(False, 0, 0)  # strides that cuBLAS cannot express


def _reading(x: Any, batch: tuple) -> Reading:
    rows, columns = x.shape[-2:]
    steps = tuple(s // x.itemsize for s in x.strides)
    by_row, by_column = steps[-2:]
    lead = (0,) * (len(batch) + 2 - x.ndim)
    along = lead + tuple(0 if n == 1 else s for n, s in zip(x.shape[:-2], steps[:-2]))
    sizes, (walk,) = fold(batch, [along])
    if len(sizes) <= 1 and all(s >= 0 for s in walk):
        stride = walk[0] if walk else 0
        if (by_column == 1 or columns == 1) and (by_row >= columns or rows == 1):
            return Reading(False, max(by_row, columns, 1), stride)
        if (by_row == 1 or rows == 1) and (by_column >= rows or columns == 1):
            return Reading(True, max(by_column, rows, 1), stride)
    return COPIED


def product(x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0, out: Any = None) -> Any:
    """``alpha x y + beta out`` of (stacks of) matrices of one floating dtype."""
    lead, other = x.shape[:-2], y.shape[:-2]
    batch = lead if lead == other else np.broadcast_shapes(lead, other)
    (m, k), n = x.shape[-2:], y.shape[-1]
    if k != y.shape[-2]:
        raise ValueError(f"matmul: shapes {x.shape} and {y.shape} do not fit")
    if out is None:
        out = empty((*batch, m, n), x.dtype, x)
    if not out.size:
        return out
    if not k:
        from nnkit.backend.cuda import BACKEND as B

        return B.mul_(out, beta) if beta else B.fill_(out, 0)
    a, b = operand(x, batch), operand(y, batch)
    current_machine().gemm(
        m, n, k, math.prod(batch), alpha, beta, *a, *b, out, m * n if batch else 0
    )
    return out


def _matrices(x: Any, y: Any) -> Any:
    if x.dtype in KINDS and x.dtype == y.dtype:
        return product(x, y)
    return array_module(x).matmul(x, y)


def matmul(x: Any, y: Any) -> Any:
    """`numpy.matmul`; stacked rows times one matrix are a single product."""
    if x.ndim == 1 and y.ndim == 1:
        return _matrices(x[None], y[:, None]).reshape(())
    if x.ndim == 1:
        return _matrices(x[None], y).reshape(y.shape[:-2] + y.shape[-1:])
    if y.ndim == 1:
        return matmul(x, y[:, None]).reshape(x.shape[:-1])
    if x.ndim > 2 and y.ndim == 2:
        rows = contiguous(x).reshape(math.prod(x.shape[:-1]), x.shape[-1])
        return _matrices(rows, y).reshape(x.shape[:-1] + y.shape[1:])
    return _matrices(x, y)


mm = mv = bmm = dot = matmul


def mH(x: Any) -> Any:
    t = x.swapaxes(-1, -2)
    return t.conj() if t.dtype.kind == "c" else t


def vdot(x: Any, y: Any) -> Any:
    return matmul(x.conj() if x.dtype.kind == "c" else x, y)


def linear(x: Any, weight: Any, bias: Any) -> Any:
    from nnkit.backend.cuda import BACKEND as B

    out = matmul(x, weight.T)
    return out if bias is None else B.add_(out, bias)


def linear_grad_weight(g: Any, x: Any) -> Any:
    g, x = (contiguous(a).reshape(math.prod(a.shape[:-1]), a.shape[-1]) for a in (g, x))
    return matmul(g.T, x.conj() if x.dtype.kind == "c" else x)


def addmm(input: Any, x: Any, y: Any, beta: float, alpha: float) -> Any:
    """``beta * input + alpha * (x @ y)``; with ``beta`` 0 not even a NaN of ``input`` counts."""
    from nnkit.backend.cuda import BACKEND as B

    if x.dtype not in KINDS:
        out = B.mul(matmul(x, y), alpha)
        return B.add(out, B.mul(input, beta)) if beta else out
    shape = np.broadcast_shapes(x.shape[:-2], y.shape[:-2]) + (x.shape[-2], y.shape[-1])
    if not beta:
        return product(x, y, alpha)
    out = empty(shape, x.dtype, x)
    B.copy_(out, cast(input, x.dtype) if input.dtype != x.dtype else input)
    return product(x, y, alpha, beta, out)


baddbmm = addmm
