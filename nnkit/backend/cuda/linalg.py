"""Products of vectors, matrices and stacks of matrices, by cuBLAS.

Operands are read where they lie, transposed or not; only strides that cuBLAS cannot express make a
copy. Integers are left to CuPy.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nnkit.backend import switches
from nnkit.backend.cuda.blas import KINDS
from nnkit.backend.cuda.creation import cast, copy_, fill_
from nnkit.backend.cuda.differences import address, array_module, contiguous, empty
from nnkit.backend.cuda.launch import VECTOR_BYTES, Plans
from nnkit.backend.cuda.source import current_machine
from nnkit.backend.cuda.strided import walk_of
from nnkit.backend.dtype import HALF

F4 = np.dtype(np.float32)


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
    walk = walk_of(batch, along)  # of the matrices one after the other, as the result has them
    if walk is not None and walk.dimensions <= 1 and walk.strides[0] >= 0:
        stride = walk.strides[0]  # 0 of no dimension
        if (by_column == 1 or columns == 1) and (by_row >= columns or rows == 1):
            return Reading(False, max(by_row, columns, 1), stride)
        if (by_row == 1 or rows == 1) and (by_column >= rows or columns == 1):
            return Reading(True, max(by_column, rows, 1), stride)
    return COPIED


LARGE = 1 << 30  # multiplications of a product, from which on copies of its operands may pay
COPY = 128  # multiplications in the time of copying an element


def grown_sizes(m: int, n: int, k: int, a: tuple, b: tuple) -> tuple[int, int, int] | None:
    """m, n and k of a product of operands (see `operand`) that tensor cores do sooner with copies
    of them in whole loads, grown to these where they lie along memory; None of other products.

    cuBLAS' fast kernels read 16 bytes at once: with rows of 50257 numbers in half precision, say of
    a vocabulary, a product takes five times as long as with rows of 50264.
    """
    (x, is_x_turned, *x_steps), (y, is_y_turned, *y_steps) = a, b
    on_tensor_cores = x.dtype in HALF or (x.dtype == F4 and switches.matmul.allow_tf32)
    if m * n * k < LARGE or not on_tensor_cores or int(current_machine().capability) < 80:
        return None
    width = VECTOR_BYTES // x.itemsize
    along = {"n", "m" if is_x_turned else "k", "k" if is_y_turned else "n"}
    m_whole, n_whole, k_whole = (
        -(-size // width) * width if name in along else size
        for name, size in (("m", m), ("n", n), ("k", k))
    )
    whole = m_whole, n_whole, k_whole
    places = (address(x) // x.itemsize, address(y) // y.itemsize)
    if whole == (m, n, k) and not any(n % width for n in (x_steps[0], y_steps[0], *places)):
        return None
    return whole if m * n * k > COPY * (m * k + k * n + m * n) else None


def grown(x: Any, rows: int, columns: int) -> Any:
    """A copy of a matrix that begins at a whole load, with rows and columns of zeros at its end."""
    if x.strides[-1] != x.itemsize:
        return grown(x.T, columns, rows).T
    out = empty((rows, columns), x.dtype, x)
    for end in (out[x.shape[0] :], out[:, x.shape[1] :]):
        if end.size:
            fill_(end, 0)
    copy_(out[: x.shape[0], : x.shape[1]], x)
    return out


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
    sizes = None if batch or beta else grown_sizes(m, n, k, a, b)
    if sizes is not None:
        rows, columns, terms = sizes
        x, y = grown(a[0], rows, terms), grown(b[0], terms, columns)
        if (rows, columns) == (m, n):
            return product(x, y, alpha, out=out)
        return copy_(out, product(x, y, alpha)[:m, :n])
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
