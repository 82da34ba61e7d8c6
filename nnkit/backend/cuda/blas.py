"""Matrix products by cuBLAS, in the order of C: rows follow each other."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from nnkit.backend.cuda.differences import BF16, address
from nnkit.backend.switches import matmul

# What the elements are, in cudaDataType's numbers.
KINDS = {
    np.dtype(np.float32): 0, np.dtype(np.float64): 1, np.dtype(np.float16): 2, BF16: 14,
}  # fmt: skip
COMPUTE_FLOAT32, COMPUTE_TF32, COMPUTE_FLOAT64 = 68, 77, 70
DEFAULT_ALGORITHM = -1


def gemm(
    m: int, n: int, k: int, batch: int, alpha: float, beta: float,
    x: Any, x_transposed: bool, x_step: int, x_stride: int,
    y: Any, y_transposed: bool, y_step: int, y_stride: int,
    out: Any, out_stride: int,
) -> None:  # fmt: skip
    """``out = alpha x y + beta out`` for a batch of (m, k) and (k, n) matrices.

    ``step`` is how far rows (of what is stored, if transposed) are apart, ``stride`` how far the
    matrices of a batch are. Half precision is added up in float32; float32 uses TF32's shorter
    factors where ``nnkit.backends.cuda.matmul.allow_tf32`` is set.
    """
    from cupy.cuda.device import get_cublas_handle  # type: ignore[attr-defined]
    from cupy_backends.cuda.libs import cublas

    kind = KINDS[out.dtype]
    if out.dtype == np.float64:
        compute, scalar = COMPUTE_FLOAT64, ctypes.c_double
    else:
        fast = out.dtype == np.float32 and matmul.allow_tf32
        compute, scalar = COMPUTE_TF32 if fast else COMPUTE_FLOAT32, ctypes.c_float
    factors = (scalar * 2)(alpha, beta)
    where = ctypes.addressof(factors)
    handle = get_cublas_handle()
    # cuBLAS counts by columns, so it is asked for out' = y' x'.
    cublas.gemmStridedBatchedEx(
        handle, int(y_transposed), int(x_transposed), n, m, k,
        where, address(y), kind, y_step, y_stride, address(x), kind, x_step, x_stride,
        where + ctypes.sizeof(scalar), address(out), kind, n, out_stride, batch,
        compute, DEFAULT_ALGORITHM,
    )  # fmt: skip
