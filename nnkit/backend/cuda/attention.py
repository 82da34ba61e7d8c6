"""Scaled dot-product attention in one kernel; kernels/attention.cu and, for half precision on GPUs
with tensor cores that take both half types, kernels/attention_tensor.cu.

What the kernels do not hold (float64, more than 128 columns, a mask of another dtype, GPUs with
little shared memory) is left to the body of backend/reference/attention.py. Where cuDNN is
installed, it does what it can.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np

from nnkit.backend.cpu.attention import batch_of
from nnkit.backend.cuda import cudnn
from nnkit.backend.cuda.creation import zeros
from nnkit.backend.cuda.differences import array_module, contiguous, empty, same_dtype
from nnkit.backend.cuda.launch import blocks_for, shared_limit
from nnkit.backend.cuda.source import current_machine, kernel
from nnkit.backend.cuda.strided import Walk, walk_of
from nnkit.backend.dtype import HALF
from nnkit.backend.reference import attention as body

F4 = np.dtype(np.float32)
WIDTHS = (64, 128)  # columns that a kernel has room for


class Method(NamedTuple):
    """A source of the three kernels, and how it divides the work."""

    source: str
    threads: int
    queries: int  # of a block, forward
    queries_backward: int
    keys: int  # of a block, in the kernel that makes the gradients of keys and values

    def shared(self, width: int, backward: bool) -> int:
        """Bytes of the tiles of a block, as the kernels lay them out."""
        if self is TENSOR:
            return 2 * 192 * (width + 8)
        if backward:
            return 4 * (2 * (32 + 32) * (width + 1) + 2 * 32 * (32 + 1))
        return 4 * ((64 + 32) * (width + 1) + 64 * (32 + 1))


PLAIN = Method("attention", 256, 64, 32, 32)
TENSOR = Method("attention_tensor", 128, 64, 64, 64)


class Operand(ctypes.Structure):
    _fields_ = (
        ("batch", Walk), ("rows", ctypes.c_int64), ("columns", ctypes.c_int64),
        ("step", ctypes.c_int64),
    )  # fmt: skip


class Mask(ctypes.Structure):
    _fields_ = (("batch", Walk), ("row_step", ctypes.c_int64), ("column_step", ctypes.c_int64))


class Attention(ctypes.Structure):
    _fields_ = (
        ("q", Operand), ("k", Operand), ("v", Operand), ("g", Operand), ("mask", Mask),
        ("batch", ctypes.c_int64), ("is_causal", ctypes.c_int64), ("scale", ctypes.c_double),
    )  # fmt: skip


def _width(columns: int) -> int | None:
    return next((w for w in WIDTHS if columns <= w), None)


def method_for(dtype: np.dtype) -> Method:
    return TENSOR if dtype in HALF and int(current_machine().capability) >= 80 else PLAIN


def _is_fused(q: Any, k: Any, v: Any, mask: Any, backward: bool) -> bool:
    width = _width(max(q.shape[-1], v.shape[-1]))
    return (
        width is not None
        and (q.dtype == F4 or q.dtype in HALF)
        and k.dtype == v.dtype == q.dtype
        and (mask is None or mask.dtype == q.dtype)
        and method_for(q.dtype).shared(width, backward)
        <= shared_limit(current_machine().capability)
    )


def _steps(x: Any, batch: tuple) -> tuple[int, ...]:
    """Strides in elements, 0 along the batch axes that are repeated."""
    lead = (0,) * (len(batch) + 2 - x.ndim)
    return lead + tuple(
        0 if n == 1 else s // x.itemsize for n, s in zip(x.shape, x.strides, strict=True)
    )


def _walk(x: Any, batch: tuple) -> Walk:
    found = walk_of(batch, _steps(x, batch)[:-2])
    if found is None:
        raise RuntimeError(f"attention(): at most 8 batch dimensions on CUDA, got {len(batch)}")
    return found


def _readable(x: Any) -> Any:
    """``x``, with the columns of a row side by side."""
    return x if x.shape[-1] == 1 or x.strides[-1] == x.itemsize else contiguous(x)


def _operand(x: Any, batch: tuple) -> Operand:
    return Operand(_walk(x, batch), x.shape[-2], x.shape[-1], x.strides[-2] // x.itemsize)


def _mask(mask: Any, batch: tuple) -> Mask:
    return Mask() if mask is None else Mask(_walk(mask, batch), *_steps(mask, batch)[-2:])


class Call:
    """Operands that a kernel can read, and the kernel's arguments about them."""

    def __init__(self, q: Any, k: Any, v: Any, g: Any, mask: Any, is_causal: Any, scale: Any):
        self.batch = batch = batch_of(q, k, v, mask)
        if g is not None:
            g = array_module(g).broadcast_to(g, (*batch, *g.shape[-2:]))
        arrays = [None if x is None else _readable(x) for x in (q, k, v, g)]
        operands = (Operand() if x is None else _operand(x, batch) for x in arrays)
        self.arrays = [x for x in arrays if x is not None]
        self.count = math.prod(batch)
        self.described = Attention(*operands, _mask(mask, batch), self.count, is_causal, scale)
        self.method = method_for(q.dtype)
        self.width = _width(max(q.shape[-1], v.shape[-1]))
        self.dtype = q.dtype

    def launch(self, name: str, rows: int, of_block: int, *arguments: Any) -> None:
        """A kernel whose blocks work on ``of_block`` of the ``rows`` of each entry of the batch."""
        tiles = self.count * -(-rows // of_block)
        if tiles:
            assert self.width is not None
            blocks = blocks_for(tiles, 1, current_machine().processors)
            shared = self.method.shared(self.width, name != "attention")
            run = kernel(self.method.source, name, self.dtype, self.width)
            given = (*self.arrays, *arguments, self.described)
            run((blocks,), (self.method.threads,), given, shared)


def attention(q, k, v, mask, is_causal, scale):
    found = cudnn.attention(q, k, v, is_causal, scale) if mask is None else None
    if found is not None:
        return found
    if not _is_fused(q, k, v, mask, False):
        from nnkit.backend.cuda import BACKEND as B

        return body.attention(B, q, k, v, mask, is_causal, scale)
    call = Call(q, k, v, None, mask, is_causal, scale)
    rows = q.shape[-2]
    out = empty((*call.batch, rows, v.shape[-1]), v.dtype, v)
    log_total = empty((*call.batch, rows), F4, v)
    call.launch("attention", rows, call.method.queries, mask, out, log_total)
    return out, log_total


def attention_grad(g, q, k, v, mask, log_total, is_causal, scale, needs):
    found = cudnn.attention_grad(g, q, k, v, is_causal, scale) if mask is None else None
    if found is not None:
        return (*found, None)
    if not _is_fused(q, k, v, mask, True):
        from nnkit.backend.cuda import BACKEND as B

        return body.attention_grad(B, g, q, k, v, mask, log_total, is_causal, scale, needs)
    call = Call(q, k, v, g, mask, is_causal, scale)
    method, queries, keys = call.method, q.shape[-2], k.shape[-2]
    log_total = contiguous(same_dtype(log_total, F4))
    delta = empty(log_total.shape, F4, q)
    g_q, g_k, g_v = (empty((*call.batch, *x.shape[-2:]), x.dtype, x) for x in (q, k, v))
    # The kernel leaves out what no query may see.
    g_mask = zeros((*call.batch, queries, keys), q.dtype) if needs[3] else None
    rows = (mask, log_total, delta)
    call.launch("attention_grad_q", queries, method.queries_backward, *rows, g_q, g_mask)
    call.launch("attention_grad_kv", keys, method.keys, *rows, g_k, g_v)
    return g_q, g_k, g_v, g_mask
